/** Reading the envelope of a `tools/call`: the interface, and the call made of its parts. It scans nothing: `wasm-envelope.ts` and `twin-envelope.ts` do. */
import { CALL_ARGUMENTS, CALL_FOREIGN, CALL_ID, CALL_META, CALL_NAME, CALL_TOKEN } from './abi.ts'

/** One per thread. What it found stands until the next `read`: take it before anything else runs. */
export interface EnvelopeReader {
  readonly engine: 'wasm' | 'twin'
  /**
   * True when the body is sound JSON in UTF-8, no byte order mark before it, and plainly a JSON-RPC request of `tools/call`
   * (assembly/envelope.ts says which). False for everything else, sound or not, and for more than MAX_BODY_BYTES.
   */
  read(body: Uint8Array): boolean
  /** The parts of the call, by CALL_… / 4. */
  readonly parts: Int32Array
  /** Bytes `from` to `to` of the body as ISO 8859-1. */
  latin1(from: number, to: number): string
  /** Bytes `from` to `to` of the body as UTF-8; nothing is dropped from their beginning. */
  utf8(from: number, to: number): string
}

/** What a body says, value by value as `JSON.parse` would have made it. */
export interface CallEnvelope {
  /** Finite when it is a number. */
  readonly id: string | number
  readonly params: {
    readonly name: string
    readonly arguments?: { readonly [name: string]: unknown }
    readonly _meta?: { readonly [name: string]: unknown }
  }
}

type Members = { readonly [name: string]: unknown }

const QUOTE = 0x22
const ID = CALL_ID / 4
const NAME = CALL_NAME / 4
const ARGUMENTS = CALL_ARGUMENTS / 4
const META = CALL_META / 4
const TOKEN = CALL_TOKEN / 4
const FOREIGN = CALL_FOREIGN / 4

/** Makes calls of bodies. It remembers the names of tools, whose strings come again with every call. */
export class CallReader {
  readonly #reader: EnvelopeReader
  readonly #names = new NameMemory()

  constructor(reader: EnvelopeReader) {
    this.#reader = reader
  }

  /** undefined: not a call, or nothing that this can read. `JSON.parse` has the word then. */
  read(body: Uint8Array): CallEnvelope | undefined {
    const reader = this.#reader
    if (!reader.read(body)) return undefined
    const { parts } = reader
    // one string for all: cutting a part out costs a sixth of making it from bytes. Characters are bytes in it, so that
    // places agree; what is not ASCII can only be in the objects.
    const text = reader.latin1(0, body.byteLength)
    const id = scalar(text, parts[ID]!, parts[ID + 1]!)
    if (id === undefined) return undefined
    const name = this.#names.recall(text, parts[NAME]!, parts[NAME + 1]!)
    const argumentsEnd = parts[ARGUMENTS + 1]!
    const metaEnd = parts[META + 1]!
    if (metaEnd === 0) {
      return {
        id,
        params: argumentsEnd === 0 ? { name } : { name, arguments: this.#members(text, ARGUMENTS) },
      }
    }
    const meta = this.#meta(text)
    if (meta === undefined) return undefined
    return {
      id,
      params:
        argumentsEnd === 0
          ? { name, _meta: meta }
          : { name, arguments: this.#members(text, ARGUMENTS), _meta: meta },
    }
  }

  #meta(text: string): Members | undefined {
    const { parts } = this.#reader
    const end = parts[TOKEN + 1]!
    if (end === 0) return this.#members(text, META)
    const progressToken = scalar(text, parts[TOKEN]!, end)
    return progressToken === undefined ? undefined : { progressToken }
  }

  #members(text: string, part: number): Members {
    const { parts } = this.#reader
    const from = parts[part]!
    const to = parts[part + 1]!
    return JSON.parse(parts[FOREIGN] === 0 ? text.slice(from, to) : this.#reader.utf8(from, to)) as Members
  }
}

/** A string in its quotes, or a number; undefined for one beyond what a double holds. */
function scalar(text: string, from: number, to: number): string | number | undefined {
  if (text.charCodeAt(from) === QUOTE) return text.slice(from + 1, to - 1)
  // up to nine digits: what nearly every number is
  if (to - from < 10) {
    let value = 0
    for (let at = from; ; at++) {
      if (at === to) return value
      const digit = text.charCodeAt(at) - 0x30
      if (digit < 0 || digit > 9) break
      value = value * 10 + digit
    }
  }
  const value = Number(text.slice(from, to))
  return Number.isFinite(value) ? value : undefined
}

/** Strings that are short and few. A cut out of a body would keep the whole body for as long as the name lives. */
class NameMemory {
  readonly #names: string[] = Array.from({ length: 256 }, () => '')

  recall(text: string, from: number, to: number): string {
    const length = to - from
    if (length === 0) return ''
    const place =
      (length +
        31 * text.charCodeAt(to - 1) +
        7 * text.charCodeAt(from + (length >> 1)) +
        text.charCodeAt(from)) &
      255
    const known = this.#names[place]!
    if (known.length === length && text.startsWith(known, from)) return known
    const name = Buffer.from(text.slice(from, to), 'latin1').toString('latin1')
    if (length <= 128) this.#names[place] = name
    return name
  }
}
