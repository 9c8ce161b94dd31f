/** Arguments made from an input schema as an agent would: what is required, some of the rest, the same for the same seed. */
import fc from 'fast-check'

type Schema = { readonly [keyword: string]: unknown }

/** Deeper than this only what is required is given. */
const FULL_DEPTH = 3
const MAX_DEPTH = 14

export class ArgumentGenerator {
  readonly #root: Schema
  #state: number

  constructor(root: Schema, seed: number) {
    this.#root = root
    this.#state = seed >>> 0 || 1
  }

  generate(): unknown {
    return this.#value(this.#root, 0)
  }

  /** Mulberry32. */
  #random(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }

  #value(given: unknown, depth: number): unknown {
    const schema = this.#resolve(given)
    if (depth > MAX_DEPTH) return null
    if (schema.const !== undefined) return schema.const
    if (Array.isArray(schema.enum)) return schema.enum[Math.floor(this.#random() * schema.enum.length)]
    for (const keyword of ['oneOf', 'anyOf'] as const) {
      const branches = schema[keyword]
      if (!Array.isArray(branches) || branches.length === 0) continue
      const { [keyword]: _, ...rest } = schema
      const branch = branches[depth > FULL_DEPTH ? 0 : Math.floor(this.#random() * branches.length)]
      return this.#value(
        merged([rest, this.#resolve(branch)], child => this.#resolve(child)),
        depth,
      )
    }
    if (Array.isArray(schema.allOf)) {
      const { allOf, ...rest } = schema
      const members = (allOf as unknown[]).map(member => this.#resolve(member))
      return this.#value(
        merged([rest, ...members], child => this.#resolve(child)),
        depth,
      )
    }
    return this.#ofType(schema, depth)
  }

  #ofType(schema: Schema, depth: number): unknown {
    const types = Array.isArray(schema.type) ? schema.type : [schema.type]
    const type = types.find(candidate => candidate !== 'null') ?? types[0] ?? this.#impliedType(schema)
    if (type === 'object') return this.#object(schema, depth)
    if (type === 'array') return this.#array(schema, depth)
    if (type === 'integer' || type === 'number') return this.#number(schema, type === 'integer')
    if (type === 'boolean') return this.#random() < 0.5
    if (type === 'null') return null
    return this.#text(schema)
  }

  #impliedType(schema: Schema): string {
    if (schema.properties !== undefined || schema.required !== undefined) return 'object'
    if (schema.minimum !== undefined || schema.maximum !== undefined) return 'number'
    return 'string'
  }

  #object(schema: Schema, depth: number): Record<string, unknown> {
    const properties = (schema.properties ?? {}) as Schema
    const required = new Set((schema.required ?? []) as string[])
    const out: Record<string, unknown> = {}
    const least = Number(schema.minProperties ?? 0)
    for (const name of Object.keys(properties)) {
      const wanted =
        required.has(name) || Object.keys(out).length < least || (depth < FULL_DEPTH && this.#random() < 0.5)
      if (wanted && name !== '__proto__') out[name] = this.#value(properties[name], depth + 1)
    }
    for (const name of required)
      if (!Object.hasOwn(out, name)) out[name] = this.#value(this.#additional(schema), depth + 1)
    const dependents = (schema.dependentRequired ?? {}) as { readonly [name: string]: readonly string[] }
    const given = Object.keys(out)
    // grows while it is read: a dependent may have dependents
    for (const name of given) {
      for (const needed of dependents[name] ?? []) {
        if (Object.hasOwn(out, needed)) continue
        out[needed] = this.#value(properties[needed] ?? this.#additional(schema), depth + 1)
        given.push(needed)
      }
    }
    for (let n = 1; Object.keys(out).length < least; n++)
      out[`key${n}`] = this.#value(this.#additional(schema), depth + 1)
    return out
  }

  #additional(schema: Schema): unknown {
    return typeof schema.additionalProperties === 'object' ? schema.additionalProperties : { type: 'string' }
  }

  #array(schema: Schema, depth: number): unknown[] {
    const prefix = Array.isArray(schema.prefixItems) ? schema.prefixItems : []
    const least = Math.max(Number(schema.minItems ?? 0), prefix.length)
    const max = Number(schema.maxItems ?? least + 2)
    const count = Math.min(max, Math.max(least, depth < FULL_DEPTH ? 1 : 0))
    const out: unknown[] = []
    for (let n = 0; n < count * 20 && out.length < count; n++) {
      const item = this.#value(prefix[out.length] ?? schema.items ?? {}, depth + 1)
      const repeated =
        schema.uniqueItems === true && out.some(other => JSON.stringify(other) === JSON.stringify(item))
      if (!repeated) out.push(item)
    }
    return out
  }

  #number(schema: Schema, integer: boolean): number {
    const step = Number(schema.multipleOf ?? (integer ? 1 : 0.5))
    const exclusiveLow =
      schema.exclusiveMinimum === undefined
        ? Number.NEGATIVE_INFINITY
        : Number(schema.exclusiveMinimum) + step
    const exclusiveHigh =
      schema.exclusiveMaximum === undefined
        ? Number.POSITIVE_INFINITY
        : Number(schema.exclusiveMaximum) - step
    let low = Math.max(Number(schema.minimum ?? Number.NEGATIVE_INFINITY), exclusiveLow)
    const high = Math.min(Number(schema.maximum ?? Number.POSITIVE_INFINITY), exclusiveHigh)
    if (low === Number.NEGATIVE_INFINITY) low = high === Number.POSITIVE_INFINITY ? 0 : Math.min(0, high)
    const span = Math.min(high - low, 1000)
    const value = Math.ceil(low / step) * step + Math.floor((this.#random() * span) / step) * step
    return Math.min(Math.max(integer ? Math.round(value) : value, low), high)
  }

  #text(schema: Schema): string {
    if (schema.contentEncoding === 'base64' || schema.format === 'byte')
      return Buffer.from('some bytes').toString('base64')
    const format = FORMATS[String(schema.format)]
    if (format !== undefined) return format
    const least = Number(schema.minLength ?? 0)
    const max = Number(schema.maxLength ?? Math.max(least, 12))
    if (typeof schema.pattern === 'string') {
      const matching = this.#matching(schema.pattern, least, max)
      if (matching !== undefined) return matching
    }
    const word = ['north', 'a b', 'x/y', 'é&=?', '100%', 'q'][Math.floor(this.#random() * 6)]!
    const text = word.length > max ? word.slice(0, max) : word
    return text.padEnd(least, 'n')
  }

  #matching(pattern: string, least: number, max: number): string | undefined {
    try {
      const arbitrary = new RegExp(`^(?:${pattern})$`, 'u')
      let first: string | undefined
      for (const size of ['xsmall', 'small', 'medium'] as const) {
        const seed = Math.floor(this.#random() * 2 ** 31)
        const texts = fc.sample(fc.stringMatching(arbitrary, { size }), { seed, numRuns: 20 })
        first ??= texts[0]
        const fits = texts.find(
          text => [...text].length >= least && [...text].length <= max && !/^\.{0,2}$/.test(text),
        )
        if (fits !== undefined) return fits
      }
      return first
    } catch {
      // A construct the sampler does not know: the plain text is tried, and the validator judges it.
      return undefined
    }
  }

  #resolve(given: unknown): Schema {
    let schema: unknown = given
    for (let hops = 0; hops < 20; hops++) {
      if (schema === null || typeof schema !== 'object') return {}
      const reference = (schema as Schema).$ref
      if (typeof reference !== 'string') return schema as Schema
      const target = ((this.#root.$defs ?? {}) as Schema)[reference.slice('#/$defs/'.length)]
      const { $ref: _, ...siblings } = schema as Schema
      schema =
        Object.keys(siblings).length === 0
          ? target
          : merged([siblings, (target ?? {}) as Schema], child => child as Schema)
    }
    return {}
  }
}

/** One schema that holds what all hold, as far as a generator needs it. */
function merged(schemas: readonly Schema[], resolve: (child: unknown) => Schema): Schema {
  const out: Record<string, unknown> = {}
  for (const schema of schemas) {
    for (const key of Object.keys(schema)) {
      const value = schema[key]
      if (key === 'properties')
        out.properties = mergeProperties((out.properties ?? {}) as Schema, value as Schema, resolve)
      else if (key === 'required')
        out.required = [...new Set([...((out.required ?? []) as string[]), ...(value as string[])])]
      else if (key === 'allOf') out.allOf = [...((out.allOf ?? []) as unknown[]), ...(value as unknown[])]
      else if (out[key] === undefined || key === 'const') out[key] = value
    }
  }
  return out
}

function mergeProperties(a: Schema, b: Schema, resolve: (child: unknown) => Schema): Schema {
  const out: Record<string, unknown> = { ...a }
  for (const name of Object.keys(b)) {
    out[name] = Object.hasOwn(a, name) ? merged([resolve(b[name]), resolve(a[name])], resolve) : b[name]
  }
  return out
}

const FORMATS: { readonly [format: string]: string } = {
  date: '2026-11-21',
  'date-time': '2026-11-21T10:00:00Z',
  time: '10:00:00Z',
  duration: 'PT1H',
  email: 'a@example.test',
  uuid: '123e4567-e89b-42d3-a456-426614174000',
  uri: 'https://example.test/x',
  url: 'https://example.test/x',
  'uri-reference': '/x',
  hostname: 'example.test',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  binary: 'bytes',
  regex: '^a$',
  'json-pointer': '/a',
  'uri-template': '/a/{b}',
}
