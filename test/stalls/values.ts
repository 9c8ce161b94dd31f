/** Generates arguments and responses of about a given size that are costly to read, to check and to encode. */
import type { Random } from '../chaos/random.ts'
import type { Schema } from './documents.ts'

export const pick = <T>(random: Random, items: readonly T[]): T => items[random.below(items.length)]!

/** As many as fit. */
function repeated<T>(chars: number, make: (at: number) => T): T[] {
  const items: T[] = []
  const each = JSON.stringify(make(0) ?? null).length + 1
  for (let at = 0; at < chars / each && items.length < 400_000; at++)
    items.push(at === 0 ? make(0) : make(at))
  return items
}

function nested(depth: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = 1
  for (let at = 0; at < depth; at++) value = wrap(value)
  return value
}

const ALPHABETS = [
  'a',
  'ab',
  'ab ',
  'a.',
  'a@',
  '0',
  'é',
  '\u0001',
  '/',
  'a:',
  '😀',
  'abcdefghijklmnopqrstuvwxyz',
  '%41',
  '[',
  '-a',
]

function aText(random: Random, chars: number): string {
  const alphabet = pick(random, ALPHABETS)
  const text = alphabet.repeat(Math.max(1, Math.floor(chars / alphabet.length)))
  return random.below(2) === 0 ? text : `${text}!`
}

/** For no schema: large in one of the ways that cost a parser or a serializer most. */
export function hostileValue(random: Random, chars: number): unknown {
  const n = Math.max(1, Math.floor(chars / 12))
  switch (random.below(11)) {
    case 0:
      return aText(random, chars)
    case 1:
      return repeated(chars, () => ({}))
    case 2:
      return repeated(chars, () => [])
    case 3:
      return repeated(chars, at => at)
    case 4:
      return Object.fromEntries(Array.from({ length: n }, (_, at) => [`k${at}`, 1]))
    case 5:
      return repeated(chars, at => ({ [`k${at}`]: 1 }))
    case 6:
      return repeated(chars, at => ({ id: at, name: `line ${at}`, tags: ['a', 'b'] }))
    case 7:
      return nested(pick(random, [50, 190, 1_000]), inner => (random.below(2) === 0 ? [inner] : { x: inner }))
    case 8:
      return repeated(chars, () => aText(random, 20))
    case 9:
      return repeated(chars, () => nested(20, inner => ({ x: inner, y: inner === 1 ? 2 : 1 })))
    default:
      return repeated(chars, () => 1.234e-300)
  }
}

/** Mostly fits the outer form of a schema, so that the inner one is reached, and is large below. */
export function valueFor(random: Random, schema: Schema, chars: number, depth = 0): unknown {
  if (depth > 6 || random.below(8) === 0) return hostileValue(random, chars)
  const child = (of: unknown, share: number) => valueFor(random, (of ?? {}) as Schema, share, depth + 1)
  if (Array.isArray(schema.enum)) {
    const last = schema.enum.at(-1)
    return last
  }
  if (schema.const !== undefined) return schema.const
  for (const keyword of ['oneOf', 'anyOf', 'allOf'] as const)
    if (Array.isArray(schema[keyword])) return child(schema[keyword].at(-1), chars)
  if (schema.type === 'string') return aText(random, chars)
  if (schema.type === 'integer') return 3
  if (schema.type === 'array') {
    const item = child(schema.items ?? schema.contains, Math.min(chars, pick(random, [10, 100, 10_000])))
    return repeated(chars, () => item)
  }
  if (schema.type !== 'object') return hostileValue(random, chars)
  if (typeof schema.properties === 'object' && schema.properties !== null) {
    const entries = Object.entries(schema.properties)
    const shown = entries.slice(0, 1 + random.below(entries.length))
    return Object.fromEntries(shown.map(([name, of]) => [name, child(of, chars / shown.length)]))
  }
  if (random.below(3) === 0) return { [aText(random, chars / 2)]: 1 }
  const value = child(schema.additionalProperties ?? {}, 20)
  return Object.fromEntries(
    Array.from({ length: Math.min(90_000, chars / 12) }, (_, at) => [`k${at}`, value]),
  )
}

const MAX_RESPONSE = 8_000_000
const JSON_TYPES = ['application/json', 'application/vnd.a+json', 'text/plain']
const TEXT_TYPES = [
  'text/plain',
  'text/plain; charset=shift_jis',
  'application/octet-stream',
  'image/png',
  'text/event-stream',
]

/** What a backend responds with: JSON, text that is escaped in JSON, bytes, many short lines, chunks of a few bytes. */
export function aReply(random: Random): { body: Uint8Array; contentType: string; chunkBytes?: number } {
  const size = pick(random, [100_000, 1_000_000, 4_000_000, MAX_RESPONSE])
  const fill = (text: string) => Buffer.alloc(size, text)
  switch (random.below(5)) {
    case 0:
      return {
        body: fill(pick(random, ['\u0001', '"', 'é', '😀', '\\', 'a', '{"a":'])),
        contentType: pick(random, TEXT_TYPES),
      }
    case 1:
      return {
        body: fill(pick(random, ['\n', '1\n', '{"total":5,"message":"x"}\n', 'data: 1\n\n'])),
        contentType: pick(random, ['application/x-ndjson', 'text/event-stream']),
      }
    case 2:
      return {
        body: fill('a\n').subarray(0, 1_000_000),
        contentType: pick(random, ['application/x-ndjson', 'text/plain']),
        chunkBytes: pick(random, [1, 2, 7]),
      }
    default: {
      const json = JSON.stringify(hostileValue(random, size) ?? null)
      return { body: Buffer.from(json).subarray(0, MAX_RESPONSE), contentType: pick(random, JSON_TYPES) }
    }
  }
}
