/** Adds the definitions that a schema refers to, inline or under `$defs`, and loosens those beyond its bounds. `schema.ts` converts them. */
import { isObject } from '../../base/json/is-object.ts'
import { put } from './dict.ts'
import type { Converted, SchemaConverter } from './schema.ts'
import type { Draft } from './schema-keywords.ts'

/** A schema that is at most this long with all definitions inline needs no `$defs`. */
const INLINE_CHARS = 6_000
/** In a larger or recursive schema, definitions up to this length are still inlined. */
const SMALL_CHARS = 400
/** Definitions beyond this total are replaced by ones that allow anything: an agent cannot use a schema of megabytes. */
const MAX_SCHEMA_CHARS = 40_000
/** A validator compiles definitions recursively: a longer chain overflows its stack. */
const MAX_DEFINITIONS = 100

const DEFINITION = '#/$defs/'
/** Siblings of a reference that do not affect validation. */
const ANNOTATIONS = new Set(['title', 'description', 'deprecated', 'default'])

/** A definition in which small definitions are inlined. All tools of a document share it. */
interface Prepared {
  readonly schema: Draft
  readonly chars: number
  readonly names: ReadonlySet<string>
}

/** Bundles schemas of one converter, and caches definitions for the next tool. */
export class Bundler {
  readonly #converter: SchemaConverter
  readonly #notice: (message: string) => void
  /** Length of a definition with everything inlined; Infinity when it leads to a cycle. */
  readonly #lengths = new Map<string, number>()
  readonly #inlined = new Map<string, Draft>()
  readonly #prepared = new Map<string, Prepared>()

  constructor(converter: SchemaConverter, notice: (message: string) => void) {
    this.#converter = converter
    this.#notice = notice
  }

  /** The schema with its definitions. Parts may be shared with other tools and must not be changed. */
  bundle(root: Converted): Draft {
    if (root.references.size === 0) return root.schema
    let total = JSON.stringify(root.schema).length
    for (const [name, times] of root.references) total += times * this.#length(name)
    const schema = this.#rewrite(root.schema, total <= INLINE_CHARS) as Draft
    const definitions = this.#collect(schema)
    return definitions === undefined ? schema : { ...schema, $defs: definitions }
  }

  /** The definitions that are still referred to, breadth first, until the budget is used; the others allow anything. */
  #collect(root: Draft): Draft | undefined {
    const queue = [...namesIn(root)]
    if (queue.length === 0) return undefined
    const definitions: Draft = {}
    const seen = new Set(queue)
    let budget = MAX_SCHEMA_CHARS - JSON.stringify(root).length
    let left = 0
    for (let i = 0; i < queue.length; i++) {
      const name = queue[i]!
      const definition = this.#prepare(name)
      if (definition.chars > budget || i >= MAX_DEFINITIONS) {
        definitions[name] = openSchema(definition.schema)
        left++
        continue
      }
      budget -= definition.chars
      definitions[name] = definition.schema
      for (const next of definition.names) {
        if (seen.has(next)) continue
        seen.add(next)
        queue.push(next)
      }
    }
    if (left > 0) {
      this.#notice(
        `the schema is too large, so some of its definitions restrict only the type of a value (number of these definitions: ${left})`,
      )
    }
    return definitions
  }

  #prepare(name: string): Prepared {
    let prepared = this.#prepared.get(name)
    if (prepared === undefined) {
      const schema = this.#rewrite(this.#converter.definition(name).schema, false) as Draft
      prepared = { schema, chars: JSON.stringify(schema).length, names: namesIn(schema) }
      this.#prepared.set(name, prepared)
    }
    return prepared
  }

  /** The node with its small definitions (all of them, when `inlineAll`) written in place. */
  #rewrite(node: unknown, inlineAll: boolean): unknown {
    if (Array.isArray(node)) return node.map(child => this.#rewrite(child, inlineAll))
    if (!isObject(node)) return node
    const name = definitionName(node)
    if (name === undefined || !(inlineAll || this.#length(name) <= SMALL_CHARS)) {
      return this.#rewriteKeys(node, inlineAll)
    }
    // A definition refers only to definitions that are not longer, so all of them can be inlined too.
    let inner = this.#inlined.get(name)
    if (inner === undefined) {
      inner = this.#rewrite(this.#converter.definition(name).schema, true) as Draft
      this.#inlined.set(name, inner)
    }
    const { $ref: _, ...siblings } = node
    return joinSchemas(this.#rewriteKeys(siblings, inlineAll), inner)
  }

  #rewriteKeys(node: { readonly [key: string]: unknown }, inlineAll: boolean): Draft {
    const out: Draft = {}
    for (const key of Object.keys(node)) put(out, key, this.#rewrite(node[key], inlineAll))
    return out
  }

  #length(name: string): number {
    const known = this.#lengths.get(name)
    if (known !== undefined) return known
    // A definition that is reached again while its length is computed is part of a cycle.
    this.#lengths.set(name, Number.POSITIVE_INFINITY)
    const converted = this.#converter.definition(name)
    let length = JSON.stringify(converted.schema).length
    for (const [next, times] of converted.references) length += times * this.#length(next)
    this.#lengths.set(name, length)
    return length
  }
}

/** Merges siblings into an inlined target: annotations replace those of the target, assertions are added. */
function joinSchemas(siblings: Draft, target: Draft): Draft {
  if (Object.keys(siblings).every(key => ANNOTATIONS.has(key))) return { ...target, ...siblings }
  return { ...siblings, allOf: [...((siblings.allOf as Draft[] | undefined) ?? []), target] }
}

function definitionName(node: { readonly [key: string]: unknown }): string | undefined {
  const reference = node.$ref
  return typeof reference === 'string' && reference.startsWith(DEFINITION)
    ? reference.slice(DEFINITION.length)
    : undefined
}

function namesIn(node: unknown, into = new Set<string>()): Set<string> {
  if (Array.isArray(node)) for (const child of node) namesIn(child, into)
  else if (isObject(node)) {
    const name = definitionName(node)
    if (name !== undefined) into.add(name)
    for (const key of Object.keys(node)) namesIn(node[key], into)
  }
  return into
}

/** The remainder of a definition that is too large: type, title and description. */
function openSchema(definition: Draft): Draft {
  const out: Draft = {}
  for (const key of ['type', 'title', 'description']) {
    if (definition[key] !== undefined) out[key] = definition[key]
  }
  return out
}
