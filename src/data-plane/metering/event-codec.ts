/** Reads metering events back, in protobuf and JSON. It writes none: `event-encoder.ts` and `kafka-producer.ts` do. */
import { Reader } from 'protobufjs/minimal.js'
import { parseTimeMs } from '../../base/calendar-date.ts'
import { ACCESSES, type MeteringEvent, OUTCOMES } from '../../link/metering-event.ts'

type Read = (reader: Reader) => unknown

const text: Read = reader => reader.string()
const flag: Read = reader => reader.bool()
/** Numbers up to 2^53 − 1; protobufjs gives 64-bit numbers as an object of `long` where that package is installed. */
const number: Read = reader => Number(reader.uint64())

function enumOf(names: readonly string[]): Read {
  return reader => names[reader.uint32() - 1] ?? 'unspecified'
}

/** google.protobuf.Timestamp as RFC 3339 with milliseconds. */
function time(reader: Reader): string {
  const end = reader.uint32() + reader.pos
  let seconds = 0
  let nanos = 0
  while (reader.pos < end) {
    const tag = reader.uint32()
    if (tag >>> 3 === 1) seconds = Number(reader.int64())
    else if (tag >>> 3 === 2) nanos = reader.int32()
    else reader.skipType(tag & 7)
  }
  return new Date(seconds * 1000 + Math.trunc(nanos / 1_000_000)).toISOString()
}

const LENGTH_DELIMITED = 2
const VARINT = 0

/** The fields of event.proto in the order of their numbers, from 1: name, reader, wire type, default (undefined: absent). */
const FIELDS: readonly (readonly [keyof MeteringEvent, Read, number, unknown])[] = [
  ['event_id', text, LENGTH_DELIMITED, ''],
  ['occurred_at', time, LENGTH_DELIMITED, ''],
  ['sequence', number, VARINT, 0],
  ['request_id', text, LENGTH_DELIMITED, ''],
  ['tenant_id', text, LENGTH_DELIMITED, ''],
  ['consumer_id', text, LENGTH_DELIMITED, ''],
  ['subscription_id', text, LENGTH_DELIMITED, ''],
  ['api_id', text, LENGTH_DELIMITED, ''],
  ['tool', text, LENGTH_DELIMITED, ''],
  ['toolset', text, LENGTH_DELIMITED, ''],
  ['access', enumOf(ACCESSES), VARINT, 'unspecified'],
  ['outcome', enumOf(OUTCOMES), VARINT, 'unspecified'],
  ['status_code', number, VARINT, 0],
  ['latency_us', number, VARINT, 0],
  ['backend_latency_us', number, VARINT, undefined],
  ['request_bytes', number, VARINT, 0],
  ['response_bytes', number, VARINT, 0],
  ['tokens_saved_bytes', number, VARINT, 0],
  ['cache_hit', flag, VARINT, false],
  ['counted', flag, VARINT, false],
  ['policy_revision', text, LENGTH_DELIMITED, ''],
  ['decision_id', text, LENGTH_DELIMITED, ''],
  ['gateway', text, LENGTH_DELIMITED, ''],
]

/** Unknown fields are skipped (protobuf, "Updating a message type"). @throws Error when the bytes are not a MeteringEvent */
export function decodeEvent(bytes: Uint8Array): MeteringEvent {
  const reader = Reader.create(bytes)
  const values = FIELDS.map(field => field[3])
  while (reader.pos < reader.len) {
    const tag = reader.uint32()
    const field = FIELDS[(tag >>> 3) - 1]
    if (field === undefined || field[2] !== (tag & 7)) reader.skipType(tag & 7)
    else values[(tag >>> 3) - 1] = field[1](reader)
  }
  const event = Object.fromEntries(
    FIELDS.flatMap(([name], index) => (values[index] === undefined ? [] : [[name, values[index]]])),
  ) as unknown as MeteringEvent
  if (event.event_id === '' || event.occurred_at === '') throw new Error('event_id or occurred_at is missing')
  return event
}

/** An event from the topic, in either format. @throws Error when it is in neither */
export function readEvent(bytes: Uint8Array): MeteringEvent {
  // 0x7b is `{`; in protobuf it would begin field 15 as a group, which the event does not have
  if (bytes[0] !== 0x7b) return decodeEvent(bytes)
  const event = JSON.parse(
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(),
  ) as MeteringEvent
  if (typeof event.event_id !== 'string' || parseTimeMs(event.occurred_at) === undefined)
    throw new Error('event_id or occurred_at is missing')
  return event
}
