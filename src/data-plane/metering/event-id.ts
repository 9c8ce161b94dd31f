/** Ids of metering events as UUIDv7 (RFC 9562 §5.7), and the names of writers that they contain. */
import { randomBytes } from 'node:crypto'

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
/** Both digits of a byte, as character codes: high in the upper byte. */
const DIGITS = Uint16Array.from(HEX, text => (text.charCodeAt(0) << 8) | text.charCodeAt(1))
const MAX_SEQUENCE = 0xfff

/** Length of an id as text. */
export const EVENT_ID_LENGTH = 36

/** 16 hex digits: the last two groups of every id of this writer, variant bits included. */
export function newWriterName(): string {
  const bytes = randomBytes(8)
  bytes[0] = 0x80 | (bytes[0]! & 0x3f)
  return bytes.toString('hex')
}

/** The writer that made an id; undefined when the text is not a UUIDv7. */
export function writerOf(eventId: string): string | undefined {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-([89ab][0-9a-f]{3})-([0-9a-f]{12})$/
    .exec(eventId)
    ?.slice(1)
    .join('')
}

export class EventIds {
  /** The newest id as text; the next one is written over it. */
  readonly text: Uint8Array
  #lastMs = 0
  #sequence = 0

  /**
   * @param writer of `newWriterName()`
   * @param text where ids are written, `EVENT_ID_LENGTH` bytes
   */
  constructor(writer: string, text: Uint8Array = new Uint8Array(EVENT_ID_LENGTH)) {
    this.text = text
    text.set(Buffer.from(`00000000-0000-7000-${writer.slice(0, 4)}-${writer.slice(4)}`, 'latin1'))
  }

  /** Writes the next id. After 4,096 ids in a millisecond it uses the next one; when the clock steps back, it stays at the last one. */
  next(nowMs: number): void {
    if (nowMs > this.#lastMs) {
      this.#lastMs = nowMs
      this.#sequence = 0
      this.#writeTime()
    } else if (++this.#sequence > MAX_SEQUENCE) {
      this.#lastMs++
      this.#sequence = 0
      this.#writeTime()
    }
    byte(this.text, 14, 0x70 | (this.#sequence >>> 8))
    byte(this.text, 16, this.#sequence & 0xff)
  }

  #writeTime(): void {
    const { text } = this
    const high = Math.floor(this.#lastMs / 0x1_0000)
    const low = this.#lastMs % 0x1_0000
    byte(text, 0, (high >>> 24) & 0xff)
    byte(text, 2, (high >>> 16) & 0xff)
    byte(text, 4, (high >>> 8) & 0xff)
    byte(text, 6, high & 0xff)
    byte(text, 9, low >>> 8)
    byte(text, 11, low & 0xff)
  }
}

function byte(into: Uint8Array, at: number, value: number): void {
  const digits = DIGITS[value]!
  into[at] = digits >>> 8
  into[at + 1] = digits & 0xff
}
