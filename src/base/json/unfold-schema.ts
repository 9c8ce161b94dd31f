/** Inserts the `$defs` of a schema in place of references to them, up to bounds, for clients that follow no references. */
import { ExactNumber } from './exact-number.ts'
import type { JsonSchema } from './json-schema.ts'

const DEFINITION = '#/$defs/'
/** Keywords that say nothing about which values are valid: the one beside the reference wins. */
const ANNOTATIONS = new Set(['title', 'description', 'deprecated', 'default', 'examples'])

type Node = { readonly [key: string]: unknown }

/**
 * Every `oneOf` without an `anyOf` beside it becomes an `anyOf`, because branches that were left open would match together.
 * @param levels how many times one definition is inserted on a path; below that, any value of its type is valid
 * @param maxChars the total length of the definitions that are inserted; a definition that no longer fits is left open
 * @returns the same object when it has no `$defs`
 */
export function unfoldSchema<T extends JsonSchema>(schema: T, levels = 2, maxChars = 20_000): T {
  const definitions = schema.$defs
  if (definitions === null || typeof definitions !== 'object') return schema
  const unfolder = new Unfolder(definitions as Node, levels, maxChars)
  const { $defs: _, ...rest } = schema
  return unfolder.unfold(rest, new Map()) as T
}

type Depths = ReadonlyMap<string, number>

class Unfolder {
  readonly #definitions: Node
  readonly #levels: number
  #budget: number

  constructor(definitions: Node, levels: number, maxChars: number) {
    this.#definitions = definitions
    this.#levels = levels
    this.#budget = maxChars
  }

  unfold(node: unknown, depths: Depths): unknown {
    if (Array.isArray(node)) return node.map(child => this.unfold(child, depths))
    if (node === null || typeof node !== 'object' || node instanceof ExactNumber) return node
    const given = node as Node
    const reference = given.$ref
    if (typeof reference !== 'string' || !reference.startsWith(DEFINITION)) return this.#each(given, depths)
    const { $ref: _, ...others } = given
    const target = this.#target(reference.slice(DEFINITION.length), depths) as Node
    const siblings = this.#each(others, depths) as Node
    const clash = Object.keys(siblings).some(key => Object.hasOwn(target, key) && !ANNOTATIONS.has(key))
    if (!clash) return { ...target, ...siblings }
    return { ...siblings, allOf: [target, ...((siblings.allOf as readonly unknown[] | undefined) ?? [])] }
  }

  #each(node: Node, depths: Depths): object {
    // Branches that were left open would match together.
    const isLoose = Array.isArray(node.oneOf) && node.anyOf === undefined
    return Object.fromEntries(
      Object.entries(node).map(([key, value]) => [
        isLoose && key === 'oneOf' ? 'anyOf' : key,
        this.unfold(value, depths),
      ]),
    )
  }

  #target(name: string, depths: Depths): unknown {
    const definition = Object.hasOwn(this.#definitions, name) ? this.#definitions[name] : undefined
    if (definition === null || typeof definition !== 'object') return {}
    const depth = depths.get(name) ?? 0
    const chars = JSON.stringify(definition).length
    if (depth >= this.#levels || chars > this.#budget) return open(definition)
    this.#budget -= chars
    return this.unfold(definition, new Map(depths).set(name, depth + 1))
  }
}

/** What is left of a definition where unfolding ends. */
function open(definition: object): object {
  const { type, title, description } = definition as Node
  const kept = { type, title, description }
  return Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined))
}
