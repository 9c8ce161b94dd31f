/** Which calls become events and with which outcome, responses that wait for their event, and calls refused while no event can be stored. */
import { describe, expect, it } from 'vitest'
import { isPending } from '../../../../../src/base/and-then.ts'
import type { CallOrigin, Meter, MeteredCall } from '../../../../../src/data-plane/metering/meter.ts'
import { compose } from '../../../../../src/data-plane/pipeline/compose.ts'
import type { Exchange } from '../../../../../src/data-plane/pipeline/exchange.ts'
import type { Operation } from '../../../../../src/data-plane/pipeline/operation.ts'
import type { Final } from '../../../../../src/data-plane/pipeline/outcome.ts'
import type { CompiledApi } from '../../../../../src/data-plane/snapshot/snapshot.ts'
import { meterCalls } from '../../../../../src/data-plane/stages/6-settle/meter-call.ts'
import { REFUSALS, type RefusalReason, refuse } from '../../../../../src/model/refusal.ts'
import { aPrincipal, aTool, compiled, exchange } from '../../../../fixtures/exchange.ts'

class Recorder implements Meter {
  ready = true
  readonly events: { readonly origin: CallOrigin; readonly call: MeteredCall }[] = []
  held: Promise<undefined> | undefined
  record(origin: CallOrigin, call: MeteredCall): undefined | Promise<undefined> {
    this.events.push({ origin, call })
    return this.held
  }
}

const invocation = { action: 'tools.call', tool: 'get_order', arguments: {} } as const
const reply = { kind: 'reply', result: { content: [], isError: false } } as const

function ended(final: Final, fields: Partial<Exchange> = {}): Exchange {
  const one = exchange({ operation: invocation })
  return Object.assign(one, {
    principal: aPrincipal(),
    tenant: 'acme',
    tool: compiled(aTool()),
    final,
    ...fields,
  })
}

function eventOf(one: Exchange) {
  const recorder = new Recorder()
  void meterCalls(recorder).settle.run(one)
  return recorder.events[0]
}

describe('the meter stage', () => {
  it('makes an event of each authenticated call, and of nothing else', () => {
    expect(eventOf(ended(reply))).toMatchObject({
      origin: {
        consumerId: 'demo-agent',
        tool: 'get_order',
        toolset: 'shop',
        access: 'rest',
        policyRevision: 'test',
      },
      call: { requestId: 'req-1', outcome: 'success', statusCode: 200, counted: false, backendLatencyUs: -1 },
    })
    expect(eventOf(ended(refuse('token_missing'), { principal: undefined }))).toBeUndefined()
    expect(eventOf(Object.assign(exchange(), { principal: aPrincipal() }))).toBeUndefined()
  })

  it('records the tenant of the token where the control plane does not know it', () => {
    expect(eventOf(ended(reply))!.origin.tenantId).toBe('acme')
    expect(eventOf(ended(reply, { tenant: undefined }))!.origin.tenantId).toBe('')
  })

  it('gives refusals and failures their outcomes', () => {
    const outcomes: Partial<Record<RefusalReason, string>> = {}
    for (const reason of Object.keys(REFUSALS) as RefusalReason[])
      outcomes[reason] = eventOf(ended(refuse(reason)))!.call.outcome
    expect(outcomes).toMatchObject({
      quota_exceeded: 'rate_limited',
      policy_denied: 'denied',
      insufficient_scope: 'denied',
      subscription_required: 'denied',
      tool_not_found: 'not_found',
      invalid_arguments: 'invalid',
      backend_timeout: 'timeout',
      backend_unreachable: 'backend_unreachable',
    })
    expect(eventOf(ended({ ...reply, failure: 'tool_execution_failed' }))!.call.outcome).toBe('backend_error')
  })

  it('writes no name that only the caller knows', () => {
    expect(eventOf(ended(refuse('tool_not_found'), { tool: undefined }))!.origin.tool).toBe('')
  })

  it('says what token optimization saved, and which decision denied', () => {
    expect(
      eventOf(ended(reply, { optimized: { result: reply.result, savedBytes: 77 } }))!.call.tokensSavedBytes,
    ).toBe(77)
    expect(eventOf(ended(refuse('policy_denied', { decisionId: 'd-1' })))!.call.decisionId).toBe('d-1')
  })

  it('gives calls of one caller to one tool one origin', () => {
    const recorder = new Recorder()
    const { settle } = meterCalls(recorder)
    const first = ended(reply)
    const shared = { principal: first.principal, tool: first.tool, snapshot: first.snapshot }
    for (const one of [first, ended(reply, shared), ended(reply)]) void settle.run(one)
    const [a, b, c] = recorder.events.map(event => event.origin)
    expect(b).toBe(a)
    expect(c).not.toBe(a)
  })

  it('holds the response until the event is stored, and admits no call that could not be counted', async () => {
    const recorder = new Recorder()
    let release = (): void => undefined
    recorder.held = new Promise(resolve => {
      release = () => resolve(undefined)
    })
    const { admit, settle } = meterCalls(recorder)
    const run = compose([admit, settle], error => {
      throw error
    })
    const response = run(ended(undefined))
    expect(isPending(response)).toBe(true)
    let left = false
    const sent = Promise.resolve(response).then(() => {
      left = true
    })
    await new Promise(resolve => setTimeout(resolve, 20))
    expect(left).toBe(false)
    release()
    await sent
    recorder.held = undefined
    recorder.ready = false
    expect(await run(ended(undefined))).toMatchObject({ kind: 'refusal', reason: 'overloaded' })
  })

  it('refuses only calls that become events while these cannot be stored', () => {
    const recorder = new Recorder()
    recorder.ready = false
    const { admit, settle } = meterCalls(recorder)
    const operations: readonly Operation[] = [
      invocation,
      { action: 'resources.read', tool: 'resource:file:///a', arguments: {} },
      { action: 'prompts.get', tool: 'prompt:greet', arguments: {} },
      { action: 'proxy', api: { id: 'api_1', tenant: 'acme' } as CompiledApi, method: 'GET' },
      { action: 'tools.list' },
      { action: 'resources.list' },
      { action: 'prompts.list' },
      { action: 'session' },
      { action: 'admin', resource: 'overview' },
    ]
    const refused: string[] = []
    const metered: string[] = []
    for (const operation of operations) {
      const one = Object.assign(exchange({ operation }), { principal: aPrincipal() })
      if (admit.run(one) !== undefined) refused.push(operation.action)
      const before = recorder.events.length
      void settle.run(one)
      if (recorder.events.length > before) metered.push(operation.action)
    }
    expect(refused).toEqual(['tools.call', 'resources.read', 'prompts.get', 'proxy'])
    expect(metered).toEqual(refused)
  })
})
