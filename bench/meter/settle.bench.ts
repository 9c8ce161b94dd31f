/** What an event and the metrics cost the request; the encodings of an event side by side; and what the write behind it costs. */
import { mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EventEncoder, MAX_EVENT_BYTES } from '../../src/data-plane/metering/event-encoder.ts'
import { newWriterName } from '../../src/data-plane/metering/event-id.ts'
import type { CallOrigin, Meter, MeteredCall } from '../../src/data-plane/metering/meter.ts'
import { beginFrame, FRAME_HEADER_BYTES, sealFrames } from '../../src/data-plane/metering/spool/frame.ts'
import { Exchange, type ExchangeInit } from '../../src/data-plane/pipeline/exchange.ts'
import { meterCalls } from '../../src/data-plane/stages/6-settle/meter-call.ts'
import { recordMetrics } from '../../src/data-plane/stages/6-settle/record-metrics.ts'
import type { MeteringEvent } from '../../src/link/metering-event.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { aPrincipal, aTool, compiled, exchange } from '../../test/fixtures/exchange.ts'
import { LibraryMetrics } from '../../test/fixtures/library-metrics.ts'
import { aCall, anOrigin } from '../../test/fixtures/metering.ts'
import { encodeWithLibrary } from '../../test/oracles/event-proto.ts'
import type { BenchCase, Suite } from '../suite.ts'

const PER_RUN = 256
const SEGMENT_BYTES = 8 * 1024 * 1024

/** The queue of the spool without the file behind it: a full one begins again. */
class Queue implements Meter {
  readonly ready = true
  readonly buffer = Buffer.alloc(1024 * 1024)
  filled = 0
  #number = 0
  readonly #encoder = new EventEncoder(newWriterName(), 'gateway-1')

  record(origin: CallOrigin, call: MeteredCall): undefined {
    if (this.buffer.length - this.filled < MAX_EVENT_BYTES + FRAME_HEADER_BYTES) this.filled = 0
    const at = this.filled
    const end = this.#encoder.write(this.buffer, at + FRAME_HEADER_BYTES, ++this.#number, origin, call)
    beginFrame(this.buffer, at, end - at - FRAME_HEADER_BYTES, this.#number)
    this.filled = end
    return undefined
  }
}

/** As the spool has it; gone with the process. */
function openSegment(): number {
  const directory = mkdtempSync(join(tmpdir(), 'bench-spool-'))
  const file = openSync(join(directory, 'segment'), 'w')
  rmSync(directory, { recursive: true })
  return file
}

/** Request ids as they come from the wire: never the same text twice. */
const freshId = (index: number): string => Buffer.from(`${index}-`.padEnd(32, '7c9e')).toString('latin1')

async function cases(): Promise<readonly BenchCase[]> {
  const queue = new Queue()
  const origin = anOrigin()
  const fixed = aCall()
  const written = openSync('/dev/null', 'w')
  const segment = openSegment()
  let segmentAt = 0
  let calls: MeteredCall[] = []
  let nowMs = fixed.occurredAtMs
  let exchanges: Exchange[] = []
  /** 8,000 calls a second. */
  const freshMs = (index: number): number => (index % 8 === 0 ? ++nowMs : nowMs)
  const freshCalls = (): void => {
    calls = Array.from({ length: PER_RUN }, (_, index) => ({
      ...fixed,
      requestId: freshId(index),
      occurredAtMs: freshMs(index),
    }))
  }
  const caller = aPrincipal()
  const tool = compiled(aTool())
  const base = exchange({ operation: { action: 'tools.call', tool: 'get_order', arguments: {} } })
  const freshExchanges = (): void => {
    exchanges = Array.from({ length: PER_RUN }, (_, index) => {
      const one = new Exchange({
        ...(base as unknown as ExchangeInit),
        requestId: freshId(index),
        receivedAtMs: freshMs(index),
      })
      Object.assign(one, { principal: caller, tenant: 'acme', tool, backendMs: 1.5, responseBytes: 2048 })
      one.entitlement = one.snapshot.entitlementOf(caller, undefined, one.receivedAtMs)
      one.final = { kind: 'reply', result: { content: [], isError: false } }
      return one
    })
  }
  const metering = meterCalls(queue).settle
  const counted = new Metrics(1000)
  const countedByLibrary = new LibraryMetrics()
  const metrics = recordMetrics(counted)
  const library = recordMetrics(countedByLibrary)
  freshExchanges()
  for (const one of exchanges) {
    void metrics.run(one)
    void library.run(one)
  }
  for (const { registry } of [counted, countedByLibrary])
    if (!(await registry.metrics()).includes(`{consumer="${caller.consumer}",status="200"} ${PER_RUN}`))
      throw new Error('calls were not counted')

  function check(bytes: number): void {
    if (bytes < PER_RUN * 100) throw new Error(`${bytes} bytes cannot be ${PER_RUN} events`)
  }
  const whole = ({ requestId, occurredAtMs }: MeteredCall): MeteringEvent => ({
    event_id: '01930000-0000-7001-9234-56789abcdef0',
    occurred_at: new Date(occurredAtMs).toISOString(),
    sequence: 1,
    request_id: requestId,
    tenant_id: origin.tenantId,
    consumer_id: origin.consumerId,
    subscription_id: origin.subscriptionId,
    api_id: origin.apiId,
    tool: origin.tool,
    toolset: origin.toolset,
    access: origin.access,
    outcome: 'success',
    status_code: 200,
    latency_us: 1234,
    backend_latency_us: 1000,
    request_bytes: 99,
    response_bytes: 2048,
    tokens_saved_bytes: 0,
    cache_hit: false,
    counted: true,
    policy_revision: origin.policyRevision,
    decision_id: '',
    gateway: 'gateway-1',
  })

  return [
    {
      id: 'event/queued',
      perRun: PER_RUN,
      prepare: freshCalls,
      run() {
        queue.filled = 0
        for (const call of calls) queue.record(origin, call)
        check(queue.filled)
      },
    },
    {
      id: 'event/protobufjs',
      perRun: PER_RUN,
      prepare: freshCalls,
      run() {
        let bytes = 0
        for (const call of calls) bytes += encodeWithLibrary(whole(call)).byteLength
        check(bytes)
      },
    },
    {
      id: 'event/json',
      perRun: PER_RUN,
      prepare: freshCalls,
      run() {
        let bytes = 0
        for (const call of calls) bytes += Buffer.from(JSON.stringify(whole(call))).byteLength
        check(bytes)
      },
    },
    {
      id: 'settle/metered',
      perRun: PER_RUN,
      prepare: freshExchanges,
      run() {
        queue.filled = 0
        for (const one of exchanges) void metering.run(one)
        check(queue.filled)
      },
    },
    {
      id: 'settle/metered-and-counted',
      perRun: PER_RUN,
      prepare: freshExchanges,
      run() {
        queue.filled = 0
        for (const one of exchanges) {
          void metering.run(one)
          void metrics.run(one)
        }
        check(queue.filled)
      },
    },
    {
      id: 'settle/counted',
      perRun: PER_RUN,
      prepare: freshExchanges,
      run() {
        for (const one of exchanges) void metrics.run(one)
      },
    },
    {
      id: 'settle/counted/prom-client as it comes',
      perRun: PER_RUN,
      prepare: freshExchanges,
      run() {
        for (const one of exchanges) void library.run(one)
      },
    },
    {
      id: 'behind/sealed-and-written',
      perRun: PER_RUN,
      prepare() {
        freshCalls()
        queue.filled = 0
        for (const call of calls) queue.record(origin, call)
      },
      run() {
        sealFrames(queue.buffer, 0, queue.filled)
        check(writeSync(written, queue.buffer, 0, queue.filled))
      },
    },
    {
      id: 'behind/sealed-and-written, each by itself to a file',
      perRun: PER_RUN,
      prepare() {
        freshCalls()
        queue.filled = 0
        for (const call of calls) queue.record(origin, call)
      },
      run() {
        if (segmentAt > SEGMENT_BYTES) segmentAt = 0
        let at = 0
        while (at < queue.filled) {
          const end = at + FRAME_HEADER_BYTES + queue.buffer.readUInt32LE(at + 4)
          sealFrames(queue.buffer, at, end)
          segmentAt += writeSync(segment, queue.buffer, at, end - at, segmentAt)
          at = end
        }
        check(at)
      },
    },
  ]
}

const suite: Suite = {
  id: 'meter/settle',
  title:
    'One metering event: made, encoded, framed and queued; then written (checksum and system call), with `sync` in groups, with `batch` each by itself.',
  cases,
}
export default suite
