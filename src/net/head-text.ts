/** Builds the head of an HTTP message in one buffer, and checks the values of its fields. */
import { copyBytes } from '../base/copy-bytes.ts'

const KEPT_BYTES = 16 * 1024
const TAB = 0x09
/** Names whose bytes are cached; emptied when full. */
const MAX_NAMES = 256
const MAX_CACHED_VALUE = 256
/** For one name, one after the other: from then on one value in so many is cached, in case values repeat again. */
const MAX_MISSES = 16
const MISSES_PER_TRIAL = 64
/** Fields of a head whose places are kept. */
const MAX_PLACES = 64

/** The bytes of a field that many heads have. */
interface CachedField {
  /** Line break, name, colon and space. */
  readonly start: Uint8Array
  /** Last value that was cached. */
  value: string | undefined
  /** The whole field with that value. */
  whole: Uint8Array
  isAscii: boolean
  misses: number
}

/** Place of a field in the buffer. */
interface Place {
  /** For its line break. */
  start: number
  end: number
  name: string
  value: string
  isAscii: boolean
}

/**
 * One per use: a head is built in one go, and no other one meanwhile. Joining the pieces as strings takes 1 KB of short-lived objects for ten
 * fields, and one more copy when the string leaves the runtime; going through them character by character takes 2 ns for each. Heads of one
 * use resemble one another: a field that begins where one with the same name and value stood in the head before is not written again.
 */
export class HeadText {
  #bytes = Buffer.allocUnsafeSlow(KEPT_BYTES)
  #end = 0
  readonly #fields = new Map<string, CachedField>()
  /** Places of this head and, beyond, of heads before; the bytes of the first `#kept` are in the buffer. */
  readonly #places: Place[] = []
  #kept = 0
  /** Fields of this head so far. */
  #count = 0
  /** For the kept buffer, by their length: making one costs more than a field. */
  readonly #views: Uint8Array[] = []

  /** @param line ASCII, first line of the head */
  begin(line: string): void {
    if (this.#bytes.length > KEPT_BYTES) {
      this.#bytes = Buffer.allocUnsafeSlow(KEPT_BYTES)
      this.#views.length = 0
      this.#kept = 0
    }
    this.#end = 0
    this.#count = 0
    this.add(line)
  }

  /** @param text ASCII; it is not checked */
  add(text: string): void {
    const { length } = text
    const bytes = this.#reserve(length)
    for (let at = 0, to = this.#end; at < length; at++) bytes[to++] = text.charCodeAt(at)
    this.#end += length
    // what it has overwritten
    if (this.#count > 0) this.#kept = Math.min(this.#kept, this.#count)
    else if (this.#kept > 0 && this.#end > this.#places[0]!.start) this.#kept = 0
  }

  /** Whether the next field would begin where one with this name stood in the head before. */
  repeats(name: string): boolean {
    if (this.#count >= this.#kept) return false
    const place = this.#places[this.#count]!
    return place.start === this.#end && place.name === name
  }

  /**
   * Adds a line break, the name and the value (RFC 9110 §5.5: visible characters, space, tab and obs-text).
   * @param name a token; it is not checked
   * @returns whether the value is ASCII; undefined when no field may have it, and the head is of no use then
   */
  addField(name: string, value: string): boolean | undefined {
    if (this.repeats(name)) {
      const place = this.#places[this.#count]!
      if (place.value === value) {
        this.#count++
        this.#end = place.end
        return place.isAscii
      }
      if (place.value.length === value.length) return this.#replaceValue(place, value)
    }
    const start = this.#end
    this.#kept = Math.min(this.#kept, this.#count++)
    const isAscii = this.#appendField(name, value)
    if (isAscii !== undefined) this.#keepPlace(start, name, value, isAscii)
    return isAscii
  }

  /** The head so far, one Latin-1 character per byte. */
  text(): string {
    return this.#bytes.toString('latin1', 0, this.#end)
  }

  /** The same as bytes, a copy. */
  bytes(): Uint8Array {
    return Buffer.from(this.#bytes.subarray(0, this.#end))
  }

  /** The same as bytes that are valid until the next head begins. */
  view(): Uint8Array {
    if (this.#bytes.length > KEPT_BYTES) return this.bytes()
    this.#views[this.#end] ??= this.#bytes.subarray(0, this.#end)
    return this.#views[this.#end]!
  }

  /** With one of the same length: what stands behind it stays. */
  #replaceValue(place: Place, value: string): boolean | undefined {
    const at = this.#count++
    this.#end = place.end - value.length
    const isAscii = this.#addValue(value)
    if (isAscii === undefined) this.#kept = at
    else {
      place.value = value
      place.isAscii = isAscii
    }
    return isAscii
  }

  #keepPlace(start: number, name: string, value: string, isAscii: boolean): void {
    const at = this.#count - 1
    if (at !== this.#kept || at === MAX_PLACES) return
    const place = this.#places[at]
    if (place === undefined) this.#places.push({ start, end: this.#end, name, value, isAscii })
    else {
      place.start = start
      place.end = this.#end
      place.name = name
      place.value = value
      place.isAscii = isAscii
    }
    this.#kept = at + 1
  }

  #appendField(name: string, value: string): boolean | undefined {
    const field = this.#fields.get(name) ?? this.#cache(name)
    if (field.value === value) {
      field.misses = 0
      this.#copy(field.whole)
      return field.isAscii
    }
    const from = this.#end
    this.#copy(field.start)
    const isAscii = this.#addValue(value)
    if (isAscii !== undefined && isTrial(++field.misses)) this.#cacheValue(field, value, isAscii, from)
    return isAscii
  }

  #cache(name: string): CachedField {
    if (this.#fields.size >= MAX_NAMES) this.#fields.clear()
    const start = Uint8Array.from(Buffer.from(`\r\n${name}: `, 'latin1'))
    const field = { start, value: undefined, whole: start, isAscii: true, misses: 0 }
    this.#fields.set(name, field)
    return field
  }

  /** @param from where the field begins */
  #cacheValue(field: CachedField, value: string, isAscii: boolean, from: number): void {
    if (value.length > MAX_CACHED_VALUE) return
    field.value = value
    field.isAscii = isAscii
    field.whole = Uint8Array.prototype.slice.call(this.#bytes, from, this.#end)
  }

  #copy(from: Uint8Array): void {
    this.#end = copyBytes(from, this.#reserve(from.length), this.#end)
  }

  #addValue(value: string): boolean | undefined {
    const { length } = value
    const bytes = this.#reserve(length)
    let all = 0
    for (let at = 0, to = this.#end; at < length; at++) {
      const code = value.charCodeAt(at)
      if ((code < 0x20 && code !== TAB) || code === 0x7f || code > 0xff) return undefined
      all |= code
      bytes[to++] = code
    }
    this.#end += length
    return all < 0x80
  }

  #reserve(length: number): Buffer {
    const needed = this.#end + length
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(2 * needed)
      larger.set(this.#bytes.subarray(0, this.#end))
      this.#bytes = larger
      this.#views.length = 0
      // what stood behind is not copied
      this.#kept = Math.min(this.#kept, this.#count)
    }
    return this.#bytes
  }
}

/** @param misses of one name, one after the other */
function isTrial(misses: number): boolean {
  return misses <= MAX_MISSES || misses % MISSES_PER_TRIAL === 0
}
