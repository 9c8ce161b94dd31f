/** Brings the definitions a schema refers to: written in place where they are small, under `$defs` where they recur. It converts nothing. */
import { isObject } from '../../model/is-object.ts'
import { put } from './dict.ts'
import type { Converted, SchemaConverter } from './schema.ts'
import type { Draft } from './schema-keywords.ts'

/** A schema whose text with everything written in place is at most this long needs no `$defs`. */
const INLINE_CHARS = 6_000
/** In a larger or recursive schema, definitions up to this length are still written in place. */
const SMALL_CHARS = 400
/** Definitions beyond this sum are replaced by open ones: an agent cannot use a schema of megabytes. */
const MAX_SCHEMA_CHARS = 40_000
/** A validator compiles definitions inside one another: more of them in one chain overflow its stack. */
const MAX_DEFINITIONS = 100

const DEFINITION = '#/$defs/'
/** Siblings of a reference that say nothing about which values are valid. */
const ANNOTATIONS = new Set(['title', 'description', 'deprecated', 'default'])

/** A definition as tools hold it: references to small definitions are gone. Shared by all tools of a document. */
interface Prepared {
  readonly schema: Draft
  readonly chars: number
  readonly names: ReadonlySet<string>
}

/** Bundles schemas of one converter; what it works out about a definition is kept for the next tool. */
export class Bundler {
  readonly #converter: SchemaConverter
  readonly #notice: (message: string) => void
  /** Length of a definition's text with everything written in place; Infinity when it leads into a cycle. */
  readonly #lengths = new Map<string, number>()
  readonly #inPlace = new Map<string, Draft>()
  readonly #prepared = new Map<string, Prepared>()

  constructor(converter: SchemaConverter, notice: (message: string) => void) {
    this.#converter = converter
    this.#notice = notice
  }

  /** The schema with all it refers to. Parts may be shared with other tools: nobody may change them. */
  bundle(root: Converted): Draft {
    if (root.references.size === 0) return root.schema
    let total = JSON.stringify(root.schema).length
    for (const [name, times] of root.references) total += times * this.#length(name)
    const schema = this.#rewrite(root.schema, total <= INLINE_CHARS) as Draft
    const definitions = this.#collect(schema)
    return definitions === undefined ? schema : { ...schema, $defs: definitions }
  }

  /** The definitions still referred to, breadth first, until the budget is spent; the rest allow anything. */
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
        definitions[name] = opened(definition.schema)
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
        `the schema is too large: ${left} of its definitions were replaced by ones that allow anything`,
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

  /** The node with its small definitions (all of them, when `everything`) written in place. */
  #rewrite(node: unknown, everything: boolean): unknown {
    if (Array.isArray(node)) return node.map(child => this.#rewrite(child, everything))
    if (!isObject(node)) return node
    const name = definitionName(node)
    if (name === undefined || !(everything || this.#length(name) <= SMALL_CHARS)) {
      return this.#rewriteKeys(node, everything)
    }
    // Whatever a definition written in place refers to is no longer than itself, so it is in place there too.
    let inner = this.#inPlace.get(name)
    if (inner === undefined) {
      inner = this.#rewrite(this.#converter.definition(name).schema, true) as Draft
      this.#inPlace.set(name, inner)
    }
    const { $ref: _, ...siblings } = node
    return joined(this.#rewriteKeys(siblings, everything), inner)
  }

  #rewriteKeys(node: { readonly [key: string]: unknown }, everything: boolean): Draft {
    const out: Draft = {}
    for (const key of Object.keys(node)) put(out, key, this.#rewrite(node[key], everything))
    return out
  }

  #length(name: string): number {
    const known = this.#lengths.get(name)
    if (known !== undefined) return known
    // What is met again while its length is being worked out is in a cycle, and so is all that leads there.
    this.#lengths.set(name, Number.POSITIVE_INFINITY)
    const converted = this.#converter.definition(name)
    let length = JSON.stringify(converted.schema).length
    for (const [next, times] of converted.references) length += times * this.#length(next)
    this.#lengths.set(name, length)
    return length
  }
}

/** Siblings of a reference written in place: annotations replace those of the target, assertions are added to it. */
function joined(siblings: Draft, target: Draft): Draft {
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

/** What is left of a definition that is too large: its type and what it is. */
function opened(definition: Draft): Draft {
  const out: Draft = {}
  for (const key of ['type', 'title', 'description']) {
    if (definition[key] !== undefined) out[key] = definition[key]
  }
  return out
}
