/** The interface of the scanner of `tools/call` bodies, and a reader that builds calls from the parts found. `wasm-envelope.ts` implements the scanner. */
import {
  CALL_ARGUMENTS,
  CALL_FOREIGN,
  CALL_ID,
  CALL_MEMBERS,
  CALL_META,
  CALL_NAME,
  CALL_TOKEN,
  MEMBER_NOT_PLAIN,
} from './abi.ts'

/** One per thread. Its results are valid until the next `read`: use them before other code runs. */
export interface EnvelopeReader {
  /**
   * True when the body is valid JSON in UTF-8 without byte order mark, and a JSON-RPC request of `tools/call` in one of the
   * forms of assembly/envelope.ts. False for everything else, valid or not, and for more than MAX_BODY_BYTES.
   * @param nested false: also, as early as possible, for a call with an object or a list among its arguments
   */
  read(body: Uint8Array, nested: boolean): boolean
  /** The parts of the call, by CALL_… / 4. */
  readonly parts: Int32Array
  /** The arguments one by one, their number in `parts`: four numbers each, as at ARENA_MEMBERS. */
  readonly members: Int32Array
  /** Bytes `from` to `to` of the body as ISO 8859-1. */
  latin1(from: number, to: number): string
  /** Bytes `from` to `to` of the body as UTF-8; nothing is dropped from their beginning. */
  utf8(from: number, to: number): string
}

/** The values of a body, as `JSON.parse` returns them. */
export interface CallEnvelope {
  readonly id: string | number
  readonly params: {
    readonly name: string
    readonly arguments?: { readonly [name: string]: unknown }
    readonly _meta?: { readonly [name: string]: unknown }
  }
}

type Members = { readonly [name: string]: unknown }

const QUOTE = 0x22
/** Characters; longer names are not cached. */
const MAX_NAME = 128
const MAX_META = 1024
/** Bytes. In a longer body objects and lists among the arguments are left to `JSON.parse`: scanning them twice costs more than it saves. */
const MAX_NESTED = 512
const ID = CALL_ID / 4
const NAME = CALL_NAME / 4
const ARGUMENTS = CALL_ARGUMENTS / 4
const META = CALL_META / 4
const TOKEN = CALL_TOKEN / 4
const FOREIGN = CALL_FOREIGN / 4
const MEMBERS = CALL_MEMBERS / 4

/** Reads calls from bodies. It caches the names of tools and arguments, which repeat with every call. */
export class CallReader {
  readonly #reader: EnvelopeReader
  readonly #names = new NameMemory()
  readonly #metas = new MetaMemory()

  constructor(reader: EnvelopeReader) {
    this.#reader = reader
  }

  /**
   * undefined: not a call, or one that this cannot read; `JSON.parse` is used then.
   * Strings of more than twelve characters keep the text of the whole body alive.
   */
  read(body: Uint8Array): CallEnvelope | undefined {
    const reader = this.#reader
    if (!reader.read(body, body.byteLength <= MAX_NESTED)) return undefined
    const { parts } = reader
    // one string for all: cutting a part out costs a sixth of making it from bytes. Characters are bytes in it, so that
    // places agree; what is not ASCII can only be in the objects.
    const text = reader.latin1(0, body.byteLength)
    const id = scalar(text, parts[ID]!, parts[ID + 1]!)
    const name = this.#names.recall(text, parts[NAME]!, parts[NAME + 1]!)
    const hasArguments = parts[ARGUMENTS + 1] !== 0
    if (parts[META + 1] === 0)
      return { id, params: hasArguments ? { name, arguments: this.#arguments(text) } : { name } }
    const _meta =
      parts[TOKEN + 1] === 0
        ? this.#meta(text)
        : { progressToken: scalar(text, parts[TOKEN]!, parts[TOKEN + 1]!) }
    return { id, params: hasArguments ? { name, arguments: this.#arguments(text), _meta } : { name, _meta } }
  }

  /** Few plain members are read here, in half the time. */
  #arguments(text: string): Members {
    const { parts, members } = this.#reader
    const end = parts[MEMBERS]! * 4
    if (end < 0) return this.#object(text, ARGUMENTS)
    const made: { [name: string]: unknown } = {}
    for (let at = 0; at < end; at += 4) {
      const name = this.#names.recall(text, members[at]!, members[at + 1]!)
      const from = members[at + 2]!
      const to = members[at + 3]!
      made[name] =
        (from & MEMBER_NOT_PLAIN) === 0
          ? value(text, from, to)
          : this.#parse(text, from & ~MEMBER_NOT_PLAIN, to)
    }
    return made
  }

  #meta(text: string): Members {
    const { parts } = this.#reader
    const from = parts[META]!
    const to = parts[META + 1]!
    if (parts[FOREIGN] !== 0 || to - from > MAX_META) return this.#object(text, META)
    return this.#metas.recall(text, from, to)
  }

  #object(text: string, part: number): Members {
    const { parts } = this.#reader
    return this.#parse(text, parts[part]!, parts[part + 1]!) as Members
  }

  #parse(text: string, from: number, to: number): unknown {
    const { parts } = this.#reader
    return JSON.parse(parts[FOREIGN] === 0 ? text.slice(from, to) : this.#reader.utf8(from, to))
  }
}

/** Of a string in its quotes, a number, `true`, `false` or `null`. */
function value(text: string, from: number, to: number): string | number | boolean | null {
  const first = text.charCodeAt(from)
  if (first === 0x74) return true
  if (first === 0x66) return false
  if (first === 0x6e) return null
  return scalar(text, from, to)
}

/** Of a string in its quotes or a number. */
function scalar(text: string, from: number, to: number): string | number {
  if (text.charCodeAt(from) === QUOTE) return text.slice(from + 1, to - 1)
  // up to nine digits, as nearly every number
  if (to - from < 10) {
    let number = 0
    for (let at = from; ; at++) {
      if (at === to) return number
      const digit = text.charCodeAt(at) - 0x30
      if (digit < 0 || digit > 9) break
      number = number * 10 + digit
    }
  }
  return Number(text.slice(from, to))
}

/**
 * Cache of strings that repeat. A slice of a body would keep the whole body alive, so a copy is cached.
 */
class NameMemory {
  readonly #names: string[] = Array.from({ length: 256 }, () => '')

  recall(text: string, from: number, to: number): string {
    const length = to - from
    if (length === 0) return ''
    const place = placeOf(text, from, to)
    const known = this.#names[place]!
    if (known.length === length && text.startsWith(known, from)) return known
    const name = copyOf(text, from, to)
    if (length <= MAX_NAME) this.#names[place] = name
    return name
  }
}

/** Cache of the `_meta` that clients send with each call: version, name, capabilities. Frozen, because calls share it. */
class MetaMemory {
  readonly #jsons: string[] = Array.from({ length: 64 }, () => '')
  readonly #metas: Members[] = Array.from({ length: 64 }, () => ({}))

  recall(text: string, from: number, to: number): Members {
    const place = placeOf(text, from, to) & 63
    const known = this.#jsons[place]!
    if (known.length === to - from && text.startsWith(known, from)) return this.#metas[place]!
    const json = copyOf(text, from, to)
    const meta = freeze(JSON.parse(json) as Members)
    this.#jsons[place] = json
    this.#metas[place] = meta
    return meta
  }
}

function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const inner of Object.values(value)) freeze(inner)
  return Object.freeze(value)
}

function copyOf(text: string, from: number, to: number): string {
  return Buffer.from(text.slice(from, to), 'latin1').toString('latin1')
}

/** 0 to 255, by length and some of the characters. */
function placeOf(text: string, from: number, to: number): number {
  const length = to - from
  const first = text.charCodeAt(from)
  const middle = text.charCodeAt(from + (length >> 1))
  return (length + 31 * text.charCodeAt(to - 1) + 7 * middle + first) & 255
}
