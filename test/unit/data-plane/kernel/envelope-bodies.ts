/** Bodies for the envelope reader, sound ones and damaged ones, the same for the same seed. It judges none of them. */

import { randomFrom } from '../../../fixtures/fuzz-cases.ts'

/** Bits of bodies that readers disagree about. */
const PIECES: readonly (string | readonly number[])[] = [
  '"id":7,',
  '"id":"x",',
  '"name":"other",',
  '"arguments":{"z":1},',
  '"method":"tools/list",',
  '"params":{"name":"late"},',
  '"_meta":{},',
  '"progressToken":3,',
  '"__proto__":{"name":"p"},',
  '"constructor":null,',
  '"\\u006eame":"escaped",',
  '"\\u0069d":9,',
  '\\u0000',
  '\\ud800',
  '\\udc00\\ud800',
  '\\uD83D\\uDE00',
  '\\u12',
  '\\x',
  '\\/',
  '-0',
  '-',
  '00',
  '01',
  '1.',
  '.5',
  '1e5',
  '1E+',
  '1e999',
  '-1e-999',
  '12345678901234567890',
  '0.1e-7',
  'true',
  'nul',
  'NaN',
  'tru',
  '[[[[[[[[[[[[[[[[[[[[',
  ']]]]]]]]]]]]]]]]]]]]',
  '{"a":',
  '}',
  '{',
  ']',
  ',',
  ':',
  '"',
  '\\',
  '\\"',
  ' ',
  '\t',
  '\r\n',
  '\f',
  '/**/',
  "'",
  'é',
  '漢字',
  '😀',
  '\u2028',
  [0],
  [1],
  [0x1f],
  [0x7f],
  [0x80],
  [0xff],
  [0xef, 0xbb, 0xbf],
  [0xc0, 0x80],
  [0xc1, 0xbf],
  [0xc2],
  [0xe0, 0x80, 0x80],
  [0xe0, 0xa0],
  [0xed, 0xa0, 0x80],
  [0xed, 0x9f, 0xbf],
  [0xef, 0xbf, 0xbf],
  [0xf0, 0x80, 0x80, 0x80],
  [0xf0, 0x90, 0x80, 0x80],
  [0xf4, 0x8f, 0xbf, 0xbf],
  [0xf4, 0x90, 0x80, 0x80],
  [0xf5, 0x80, 0x80, 0x80],
]
const BYTES = PIECES.map(piece => (typeof piece === 'string' ? Buffer.from(piece) : Buffer.from(piece)))
/** Those that are whole members. */
const MEMBERS = BYTES.slice(0, 12)
const SPACES = [' ', '\t', '\n', '\r\n  ', '\f', '\u00a0', '\ufeff'].map(space => Buffer.from(space))
const TEXTS = [
  '',
  'a',
  'open',
  'a plain sentence of some length',
  'Zürich',
  '漢字かな',
  '😀',
  'a"b\\c/',
  '\n\t',
  '\u0000',
]
const NUMBERS = [0, 1, -1, 7, 42, 123_456_789, 1_234_567_890, -5.25, 1e21, 1.5e-9, 2 ** 49]
const NAMES = ['a', 'customer', 'limit', '__proto__', 'constructor', 'name', 'id', 'größe', 'x"y']

export class Bodies {
  readonly #random: () => number

  constructor(seed: number) {
    this.#random = randomFrom(seed)
  }

  /** A call as a client writes it; every one of them can be read. */
  call(): Buffer {
    const params = this.#shuffled([
      ['name', this.#pick(['search_orders', 'x', 'a-tool.of_some.length', 'get'])],
      ...(this.#below(5) === 0 ? [] : [['arguments', this.#members(3)] as const]),
      ...(this.#below(3) === 0 ? [['_meta', this.#meta()] as const] : []),
    ])
    const message = this.#shuffled([
      ['jsonrpc', '2.0'],
      ['id', this.#below(3) === 0 ? this.#pick(['a', '', 'c0ffee-1234']) : this.#pick(NUMBERS)],
      ['method', 'tools/call'],
      ['params', Object.fromEntries(params)],
    ])
    const indent = this.#below(6) === 0 ? this.#pick([1, 2, '\t', '\r\n']) : undefined
    return Buffer.from(JSON.stringify(Object.fromEntries(message), null, indent))
  }

  /** The same, damaged in one to four places. */
  damaged(): Buffer {
    let body = this.call()
    for (let times = 1 + this.#below(4) * this.#below(2); times > 0; times--) body = this.#damage(body)
    return body
  }

  #damage(body: Buffer): Buffer {
    const at = this.#below(body.length + 1)
    const to = Math.min(body.length, at + this.#below(12))
    switch (this.#below(10)) {
      case 0:
        return Buffer.concat([body.subarray(0, at), body.subarray(to)])
      case 1:
        return Buffer.concat([body.subarray(0, to), body.subarray(at)])
      case 2: {
        const changed = Buffer.from(body)
        if (at < changed.length) changed[at] = this.#below(256)
        return changed
      }
      case 3: {
        const changed = Buffer.from(body)
        if (at < changed.length) changed[at]! ^= 1 << this.#below(8)
        return changed
      }
      case 4:
        return this.#below(4) === 0 ? body.subarray(0, at) : this.#behind(body, '{,', MEMBERS)
      case 5:
        return this.#behind(body, '{,', MEMBERS)
      case 6:
        return this.#behind(body, '{}[],:', SPACES)
      case 7:
      case 8:
        return this.#behind(body, '"aeo', BYTES)
      default:
        return Buffer.concat([body.subarray(0, at), this.#pick(BYTES), body.subarray(at)])
    }
  }

  /** A piece behind one of these characters, where it may leave the body sound. */
  #behind(body: Buffer, characters: string, pieces: readonly Buffer[]): Buffer {
    const codes = [...characters].map(character => character.charCodeAt(0))
    const places = [...body.keys()].filter(place => codes.includes(body[place]!))
    if (places.length === 0) return body
    const place = this.#pick(places) + 1
    return Buffer.concat([body.subarray(0, place), this.#pick(pieces), body.subarray(place)])
  }

  #meta(): Record<string, unknown> {
    switch (this.#below(4)) {
      case 0:
        return { progressToken: this.#pick(NUMBERS) }
      case 1:
        return { progressToken: this.#pick(['t', 'token-1']) }
      case 2:
        return { progressToken: 1, 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
      default:
        return this.#members(2)
    }
  }

  #members(depth: number): Record<string, unknown> {
    const entries: [string, unknown][] = []
    for (let count = this.#below(4); count > 0; count--) entries.push([this.#pick(NAMES), this.#value(depth)])
    return Object.fromEntries(entries)
  }

  #value(depth: number): unknown {
    switch (this.#below(depth > 0 ? 7 : 5)) {
      case 0:
        return this.#pick([true, false, null])
      case 1:
      case 2:
        return this.#pick(NUMBERS)
      case 5:
        return this.#members(depth - 1)
      case 6:
        return Array.from({ length: this.#below(4) }, () => this.#value(depth - 1))
      default:
        return this.#pick(TEXTS)
    }
  }

  #shuffled<T>(items: readonly T[]): T[] {
    return this.#below(2) === 0 ? [...items] : [...items].sort(() => this.#below(3) - 1)
  }

  #pick<T>(items: readonly T[]): T {
    return items[this.#below(items.length)]!
  }

  #below(bound: number): number {
    return Math.floor(this.#random() * bound)
  }
}
