/** Metering events through the reflection of protobufjs on event.proto: the oracle of the hand-written encoder and decoder. */
import protobuf from 'protobufjs'
import { ACCESSES, type MeteringEvent, OUTCOMES } from '../../src/link/metering-event.ts'

const PROTO = new URL('../../src/data-plane/metering/event.proto', import.meta.url).pathname
const message = new protobuf.Root()
  .loadSync(PROTO, { keepCase: true })
  .lookupType('toolgate.metering.v1.MeteringEvent')

/** Names of the fields by their numbers, as event.proto declares them. */
export const FIELD_NAMES: ReadonlyMap<number, string> = new Map(
  message.fieldsArray.map(field => [field.id, field.name]),
)

export function encodeWithLibrary(event: MeteringEvent): Uint8Array {
  const ms = Date.parse(event.occurred_at)
  return message
    .encode({
      ...event,
      occurred_at: { seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1_000_000 },
      access: ACCESSES.indexOf(event.access as never) + 1,
      outcome: OUTCOMES.indexOf(event.outcome as never) + 1,
    })
    .finish()
}

/** 64-bit numbers as numbers, absent fields absent, enums as numbers. */
export function decodeWithLibrary(bytes: Uint8Array): Record<string, unknown> {
  return message.toObject(message.decode(bytes), { longs: Number, defaults: false })
}
