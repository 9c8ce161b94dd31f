/** Encodes metering events as protobuf into a buffer that it is given, with new ids. */
import { MAX_REQUEST_ID } from '../../base/request-id.ts'
import { ACCESSES, type MeteredOutcome, OUTCOMES } from '../../link/metering-event.ts'
import { EVENT_ID_LENGTH, EventIds } from './event-id.ts'
import type { CallOrigin, MeteredCall } from './meter.ts'

/** No event is longer: eight texts common to many calls and two of the call, four bytes for each character, and the numbers. */
export const MAX_EVENT_BYTES = 40_000
const MAX_TEXT = 1024

/** Field number and wire type (protobuf encoding, "Message structure"): 0 = varint, 2 = length-delimited. */
const tag = (field: number, wireType: 0 | 2): number => (field << 3) | wireType
const OUTCOME_VALUES = new Map<MeteredOutcome, number>(OUTCOMES.map((outcome, index) => [outcome, index + 1]))
const SUCCESS = OUTCOME_VALUES.get('success')!

/** Id and timestamp, with their tags and lengths. */
const MAX_HEAD_BYTES = 2 + EVENT_ID_LENGTH + 16

export class EventEncoder {
  readonly #ids: EventIds
  readonly #gateway: string
  /** The beginning of every event; all but the sequence digits of the id stay the same for a millisecond. */
  readonly #begin = Buffer.alloc(MAX_HEAD_BYTES)
  /** The part of it that is filled. */
  #head: Uint8Array = this.#begin
  /** Views by their length: creating one costs more than the rest of the beginning. */
  readonly #heads: Uint8Array[] = []
  #headMs = -1

  /** @param writer of `newWriterName()` */
  constructor(writer: string, gateway: string) {
    this.#begin[0] = tag(1, 2)
    this.#begin[1] = EVENT_ID_LENGTH
    this.#ids = new EventIds(writer, this.#begin.subarray(2, 2 + EVENT_ID_LENGTH))
    this.#gateway = gateway
  }

  /**
   * @param into has at least `MAX_EVENT_BYTES` left
   * @returns position after the event
   */
  write(into: Buffer, at: number, sequence: number, origin: CallOrigin, call: MeteredCall): number {
    const { occurredAtMs, requestId } = call
    this.#ids.next(occurredAtMs)
    if (occurredAtMs !== this.#headMs) this.#stamp(occurredAtMs)
    const head = this.#head
    into.set(head, at)
    at = number(into, at + head.byteLength, tag(3, 0), sequence)
    at = text(
      into,
      at,
      tag(4, 2),
      requestId.length > MAX_REQUEST_ID ? requestId.slice(0, MAX_REQUEST_ID) : requestId,
    )
    into[at++] = tag(12, 0)
    // nearly all events; a comparison costs less than a lookup
    into[at++] = call.outcome === 'success' ? SUCCESS : OUTCOME_VALUES.get(call.outcome)!
    at = number(into, at, tag(13, 0), call.statusCode)
    at = number(into, at, tag(14, 0), call.latencyUs)
    if (call.backendLatencyUs >= 0) {
      into[at++] = tag(15, 0)
      at = varint(into, at, call.backendLatencyUs)
    }
    at = number(into, at, tag(16, 0), call.requestBytes)
    at = number(into, at, tag(17, 0), call.responseBytes)
    at = number(into, at, tag(18, 0), call.tokensSavedBytes)
    if (call.cacheHit) at = number(into, at, tag(19, 0), 1)
    if (call.counted) at = number(into, at, tag(20, 0), 1)
    if (call.decisionId !== '') at = text(into, at, tag(22, 2), call.decisionId.slice(0, MAX_REQUEST_ID))
    origin.encoded ??= encodeOrigin(origin, this.#gateway)
    const shared = origin.encoded
    into.set(shared, at)
    return at + shared.byteLength
  }

  #stamp(ms: number): void {
    const end = timestamp(this.#begin, 2 + EVENT_ID_LENGTH, ms)
    this.#heads[end] ??= this.#begin.subarray(0, end)
    this.#head = this.#heads[end]
    this.#headMs = ms
  }
}

/** One for all origins of the thread: the encoded form is copied out of it. */
const ORIGIN_SCRATCH = Buffer.alloc(MAX_EVENT_BYTES)

/** Fields may stand in any order (protobuf encoding, "Field order"): those of the origin come last. */
function encodeOrigin(origin: CallOrigin, gateway: string): Uint8Array {
  const into = ORIGIN_SCRATCH
  let at = 0
  const field = (tagOfField: number, value: string): void => {
    at = text(into, at, tagOfField, value.slice(0, MAX_TEXT))
  }
  field(tag(5, 2), origin.tenantId)
  field(tag(6, 2), origin.consumerId)
  field(tag(7, 2), origin.subscriptionId)
  field(tag(8, 2), origin.apiId)
  field(tag(9, 2), origin.tool)
  field(tag(10, 2), origin.toolset)
  at = number(into, at, tag(11, 0), ACCESSES.indexOf(origin.access) + 1)
  field(tag(21, 2), origin.policyRevision)
  field(tag(23, 2), gateway)
  return new Uint8Array(into.subarray(0, at))
}

/** google.protobuf.Timestamp. */
function timestamp(into: Buffer, at: number, ms: number): number {
  into[at] = tag(2, 2)
  const lengthAt = at + 1
  const seconds = Math.floor(ms / 1000)
  let end = number(into, lengthAt + 1, tag(1, 0), seconds)
  end = number(into, end, tag(2, 0), (ms - seconds * 1000) * 1_000_000)
  into[lengthAt] = end - lengthAt - 1
  return end
}

/** A whole number that is left out when it is 0, as proto3 does. */
function number(into: Buffer, at: number, key: number, value: number): number {
  if (value === 0) return at
  at = varint(into, at, key)
  return varint(into, at, value)
}

/** @param value 0 … 2^53 − 1 */
function varint(into: Buffer, at: number, value: number): number {
  while (value > 0x7fff_ffff) {
    into[at++] = (value & 0x7f) | 0x80
    value = Math.floor(value / 128)
  }
  while (value > 0x7f) {
    into[at++] = (value & 0x7f) | 0x80
    value >>>= 7
  }
  into[at++] = value
  return at
}

/** Short texts of ASCII, which these nearly always are, are copied character by character: a call into the runtime costs more. */
function text(into: Buffer, at: number, key: number, value: string): number {
  if (value === '') return at
  at = varint(into, at, key)
  const { length } = value
  const start = at + (length > 0x7f ? 2 : 1)
  let index = 0
  for (; index + 4 <= length; index += 4) {
    const first = value.charCodeAt(index)
    const second = value.charCodeAt(index + 1)
    const third = value.charCodeAt(index + 2)
    const fourth = value.charCodeAt(index + 3)
    if ((first | second | third | fourth) > 0x7f) return wideText(into, at, value)
    const to = start + index
    into[to] = first
    into[to + 1] = second
    into[to + 2] = third
    into[to + 3] = fourth
  }
  for (; index < length; index++) {
    const code = value.charCodeAt(index)
    if (code > 0x7f) return wideText(into, at, value)
    into[start + index] = code
  }
  varint(into, at, length)
  return start + length
}

function wideText(into: Buffer, at: number, value: string): number {
  at = varint(into, at, Buffer.byteLength(value))
  return at + into.write(value, at)
}
