/** What recording a call for the admin API costs, beside an object per call in an array of the same length. */
import { CallDetails } from '../../src/data-plane/calls/call-details.ts'
import { CallRing } from '../../src/data-plane/calls/call-ring.ts'
import { RecordedCalls } from '../../src/data-plane/calls/recorded-calls.ts'
import { Exchange, type ExchangeInit } from '../../src/data-plane/pipeline/exchange.ts'
import { recordCall } from '../../src/data-plane/stages/6-settle/record-call.ts'
import { outcomeOf, statusOf } from '../../src/data-plane/stages/6-settle/record-metrics.ts'
import { aPrincipal, aTool, compiled, exchange, peerAddressOf } from '../../test/fixtures/exchange.ts'
import type { BenchCase, Suite } from '../suite.ts'

const PER_RUN = 256
const KEPT = 10_000
const MADE = 40 * PER_RUN

/** Ids as they come from the wire: never the same text twice. */
const freshId = (index: number): string => Buffer.from(`${index}-`.padEnd(32, '7c9e')).toString('latin1')

function cases(): readonly BenchCase[] {
  const calls = new RecordedCalls(
    new CallRing(1, name => name, KEPT),
    new CallDetails('masked', peerAddressOf),
  )
  const stage = recordCall(calls)
  const caller = aPrincipal()
  const tool = compiled(aTool())
  const base = exchange({ operation: { action: 'tools.call', tool: 'get_order', arguments: {} } })
  let nowMs = Date.now()
  const made = Array.from({ length: MADE }, (_, index) => {
    const one = new Exchange({
      ...(base as unknown as ExchangeInit),
      requestId: freshId(index),
      traceId: freshId(index),
      receivedAtMs: index % 8 === 0 ? ++nowMs : nowMs,
    })
    Object.assign(one, { principal: caller, tenant: 'acme', tool, backendMs: 1.5 })
    one.final = { kind: 'reply', result: { content: [], isError: false } }
    // other stages have read it before
    if (!(one.durationMs >= 0)) throw new Error('no duration')
    return one
  })
  // made once: collections of what is made between the runs would be counted in some rounds and not in others
  const runs = Array.from({ length: MADE / PER_RUN }, (_, at) => made.slice(at * PER_RUN, (at + 1) * PER_RUN))
  let run = 0
  const exchanges = (): readonly Exchange[] => runs[run++ % runs.length]!
  const objects: object[] = new Array<object>(KEPT)
  let next = 0
  return [
    {
      id: 'ring',
      perRun: PER_RUN,
      run() {
        const before = calls.ring.recorded
        for (const one of exchanges()) void stage.run(one)
        if (calls.ring.recorded !== before + PER_RUN) throw new Error('calls were not recorded')
      },
    },
    {
      id: 'object',
      perRun: PER_RUN,
      run() {
        for (const one of exchanges()) {
          objects[next] = {
            requestId: one.requestId,
            traceId: one.traceId,
            atMs: one.receivedAtMs,
            durationMs: one.durationMs,
            backendMs: one.backendMs,
            requestBytes: one.requestBytes,
            action: one.operation.action,
            access: one.access,
            tenant: one.tenant,
            principal: one.principal,
            tool: one.tool?.tool.name,
            toolSet: one.tool?.tool.toolSet,
            outcome: outcomeOf(one),
            status: statusOf(one),
            snapshot: one.snapshot.version,
            revision: one.decision?.revision,
          }
          next = (next + 1) % KEPT
        }
      },
    },
  ]
}

export default {
  id: 'stages/record-call',
  title: 'Record a call for the admin API, 10,000 kept',
  reference: 'object',
  cases,
} satisfies Suite
