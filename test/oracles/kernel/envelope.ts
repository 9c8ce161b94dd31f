/** The envelope reader in plain JavaScript: it accepts the same bodies and finds the same places as assembly/envelope.ts. */
import {
  CALL_ARGUMENTS,
  CALL_FOREIGN,
  CALL_ID,
  CALL_MEMBERS,
  CALL_META,
  CALL_NAME,
  CALL_TOKEN,
  MAX_BODY_BYTES,
  MAX_MEMBERS,
  MEMBER_NOT_PLAIN,
} from '../../../src/data-plane/kernel/abi.ts'
import type { EnvelopeReader } from '../../../src/data-plane/kernel/envelope.ts'
import { JsonSteps } from './json.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const BRACKET = 0x5b
const BRACE = 0x7b
const CLOSING_BRACE = 0x7d

export class TwinEnvelope implements EnvelopeReader {
  readonly parts = new Int32Array(CALL_MEMBERS / 4 + 1)
  readonly members = new Int32Array(MAX_MEMBERS * 4)
  #nested = false
  #body = Buffer.alloc(0)
  #steps = new JsonSteps(this.#body)

  read(body: Uint8Array, nested: boolean): boolean {
    this.#nested = nested
    if (body.byteLength > MAX_BODY_BYTES) return false
    // a copy, as in the kernel: the caller may reuse its buffer
    this.#body = Buffer.from(body)
    this.#steps = new JsonSteps(this.#body)
    this.parts.fill(0)
    this.parts[CALL_MEMBERS / 4] = -1
    const end = this.#object(
      this.#steps.space(0),
      { jsonrpc: true, id: true, method: true, params: true },
      (name, at) => {
        if (name === 'jsonrpc') return this.#word(at, '2.0')
        if (name === 'method') return this.#word(at, 'tools/call')
        return name === 'id' ? this.#scalar(CALL_ID, at) : this.#params(at)
      },
    )
    if (end < 0 || this.#steps.space(end) !== this.#body.length) return false
    this.parts[CALL_FOREIGN / 4] = this.#steps.foreign ? 1 : 0
    return true
  }

  latin1(from: number, to: number): string {
    return this.#body.toString('latin1', from, to)
  }

  utf8(from: number, to: number): string {
    return this.#body.toString('utf8', from, to)
  }

  /** An object of these members alone, each at most once, the `true` ones at least once. */
  #object(
    at: number,
    members: { readonly [name: string]: boolean },
    value: (name: string, at: number) => number,
  ): number {
    const steps = this.#steps
    const seen = new Set<string>()
    if (steps.byte(at) !== BRACE) return -1
    do {
      const key = steps.space(at + 1)
      if (steps.byte(key) !== QUOTE) return -1
      at = steps.plainString(key + 1)
      if (at < 0) return -1
      const name = this.latin1(key + 1, at - 1)
      if (!Object.hasOwn(members, name) || seen.has(name)) return -1
      seen.add(name)
      at = steps.colon(at)
      if (at >= 0) at = value(name, at)
      if (at < 0) return -1
      at = steps.space(at)
    } while (steps.byte(at) === COMMA)
    const complete = Object.entries(members).every(([name, needed]) => !needed || seen.has(name))
    return complete && steps.byte(at) === CLOSING_BRACE ? at + 1 : -1
  }

  #params(at: number): number {
    const steps = this.#steps
    return this.#object(at, { name: true, arguments: false, _meta: false }, (name, from) => {
      if (name === 'name') {
        const end = steps.byte(from) === QUOTE ? steps.plainString(from + 1) : -1
        return this.#keep(CALL_NAME, from + 1, end < 0 ? -1 : end - 1) < 0 ? -1 : end
      }
      if (steps.byte(from) !== BRACE) return -1
      if (name === 'arguments') return this.#keep(CALL_ARGUMENTS, from, this.#arguments(from))
      return this.#keep(CALL_META, from, this.#meta(from))
    })
  }

  /** Steps over the object first: a malformed object has no members. */
  #arguments(from: number): number {
    const steps = this.#steps
    const end = steps.value(from)
    if (end < 0) return -1
    let count = 0
    let marked = false
    let at = steps.space(from + 1)
    while (steps.byte(at) !== CLOSING_BRACE) {
      if (steps.byte(at) === COMMA) at = steps.space(at + 1)
      const nameEnd = steps.string(at + 1) - 1
      const value = steps.colon(nameEnd + 1)
      const first = steps.byte(value)
      if (!this.#nested && (first === BRACE || first === BRACKET)) return -1
      const plain = steps.plainString(at + 1) >= 0 && this.latin1(at + 1, nameEnd) !== '__proto__'
      if (!plain || count === MAX_MEMBERS) return end
      let valueEnd = this.#plain(value)
      let mark = 0
      if (valueEnd < 0) {
        if (marked) return end
        marked = true
        mark = MEMBER_NOT_PLAIN
        valueEnd = steps.value(value)
      }
      this.members.set([at + 1, nameEnd, value | mark, valueEnd], count * 4)
      count++
      at = steps.space(valueEnd)
    }
    this.parts[CALL_MEMBERS / 4] = count
    return end
  }

  #plain(at: number): number {
    const steps = this.#steps
    const first = steps.byte(at)
    if (first === BRACE || first === BRACKET) return -1
    return first === QUOTE ? steps.plainString(at + 1) : steps.value(at)
  }

  #meta(from: number): number {
    const end = this.#object(from, { progressToken: true }, (_, at) => this.#scalar(CALL_TOKEN, at))
    if (end >= 0) return end
    this.#keep(CALL_TOKEN, 0, 0)
    return this.#steps.value(from)
  }

  #scalar(part: number, at: number): number {
    const steps = this.#steps
    return this.#keep(part, at, steps.byte(at) === QUOTE ? steps.plainString(at + 1) : steps.number(at))
  }

  #word(at: number, word: string): number {
    return this.#steps.literal(at, Buffer.from(`"${word}"`))
  }

  #keep(part: number, from: number, to: number): number {
    if (to < 0) return -1
    this.parts[part / 4] = from
    this.parts[part / 4 + 1] = to
    return to
  }
}
