/** Events in protobuf and JSON, for readers of the topic and the spool. It is not used on the hot path: `event-encoder.ts` writes protobuf, and tests compare the two. */

import { ACCESSES, type MeteringEvent, OUTCOMES } from '../../link/metering-event.ts'
import { MeteringEvent as Message } from './event.generated.ts'

/** What the generated code reads: 64-bit numbers as objects of `long`, absent fields as defaults of the prototype. */
type Wide = number | { toNumber(): number }
type Decoded = Omit<MeteringEvent, 'occurred_at' | 'access' | 'outcome'> & {
  readonly occurred_at: { readonly seconds: Wide; readonly nanos: number } | null
  readonly access: number
  readonly outcome: number
}

/** @throws Error when the bytes are not a MeteringEvent */
export function decodeEvent(bytes: Uint8Array): MeteringEvent {
  const raw = Message.decode(bytes) as Decoded
  if (raw.event_id === '' || raw.occurred_at === null) throw new Error('not a metering event')
  const ms = wide(raw.occurred_at.seconds) * 1000 + Math.trunc(raw.occurred_at.nanos / 1_000_000)
  const backend = (raw as { backend_latency_us: Wide | null }).backend_latency_us
  return {
    event_id: raw.event_id,
    occurred_at: new Date(ms).toISOString(),
    sequence: wide(raw.sequence),
    request_id: raw.request_id,
    tenant_id: raw.tenant_id,
    consumer_id: raw.consumer_id,
    subscription_id: raw.subscription_id,
    api_id: raw.api_id,
    tool: raw.tool,
    toolset: raw.toolset,
    access: ACCESSES[raw.access - 1] ?? 'unspecified',
    outcome: OUTCOMES[raw.outcome - 1] ?? 'unspecified',
    status_code: raw.status_code,
    latency_us: wide(raw.latency_us),
    ...(backend === null ? undefined : { backend_latency_us: wide(backend) }),
    request_bytes: wide(raw.request_bytes),
    response_bytes: wide(raw.response_bytes),
    tokens_saved_bytes: wide(raw.tokens_saved_bytes),
    cache_hit: raw.cache_hit,
    counted: raw.counted,
    policy_revision: raw.policy_revision,
    decision_id: raw.decision_id,
    gateway: raw.gateway,
  }
}

/** Encodes with the generated code: for tests, and as the reference of the hand-written encoder. */
export function encodeEvent(event: MeteringEvent): Uint8Array {
  const ms = Date.parse(event.occurred_at)
  return Message.encode({
    ...event,
    occurred_at: { seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1_000_000 },
    access: ACCESSES.indexOf(event.access as never) + 1,
    outcome: OUTCOMES.indexOf(event.outcome as never) + 1,
  }).finish()
}

/** Decodes an event of the topic in either format. @throws Error when it is in neither */
export function readEvent(bytes: Uint8Array): MeteringEvent {
  // 0x7b is `{`; in protobuf it would begin field 15 as a group, which the event does not have
  if (bytes[0] !== 0x7b) return decodeEvent(bytes)
  const event = JSON.parse(
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(),
  ) as MeteringEvent
  if (typeof event.event_id !== 'string' || Number.isNaN(Date.parse(event.occurred_at)))
    throw new Error('not a metering event')
  return event
}

function wide(value: Wide): number {
  return typeof value === 'number' ? value : value.toNumber()
}
