/** Response headers in the form of `EgressHeaders`, and headers without the encoding of a decoded body. */
import type { EgressHeaders } from './egress.ts'

export class ReceivedHeaders implements EgressHeaders {
  readonly #wire: readonly Buffer[]
  #raw: readonly string[] | undefined

  /** @param wire name, value, name, value … in Latin-1. */
  constructor(wire: readonly Buffer[]) {
    this.#wire = wire
  }

  get raw(): readonly string[] {
    if (this.#raw === undefined) {
      this.#raw = this.#wire.map((bytes, at) =>
        at % 2 === 0 ? bytes.toString('latin1').toLowerCase() : bytes.toString('latin1'),
      )
    }
    return this.#raw
  }

  get(name: string): string {
    let found: string | undefined
    for (let at = 0; at + 1 < this.#wire.length; at += 2) {
      const field = this.#wire[at]!
      if (field.length !== name.length || field.toString('latin1').toLowerCase() !== name) continue
      const value = this.#wire[at + 1]!.toString('latin1')
      found = found === undefined ? value : `${found}, ${value}`
    }
    return found ?? ''
  }
}

/** The same for every HTTP client. */
export function toHeaders(wire: EgressHeaders | Buffer[]): EgressHeaders {
  return Array.isArray(wire) ? new ReceivedHeaders(wire) : wire
}

/** Headers without those that described the encoded form of a body which has been decoded since. */
export class DecodedHeaders implements EgressHeaders {
  readonly raw: readonly string[]
  readonly #headers: EgressHeaders

  constructor(headers: EgressHeaders) {
    this.#headers = headers
    const raw: string[] = []
    for (let at = 0; at + 1 < headers.raw.length; at += 2) {
      if (!ENCODED_FORM.has(headers.raw[at]!)) raw.push(headers.raw[at]!, headers.raw[at + 1]!)
    }
    this.raw = raw
  }

  get(name: string): string {
    return ENCODED_FORM.has(name) ? '' : this.#headers.get(name)
  }
}

const ENCODED_FORM = new Set(['content-encoding', 'content-length'])
