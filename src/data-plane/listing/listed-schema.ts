/** Shortens input schemas and descriptions of tools for lists. */
import type { JsonSchema } from '../../base/json/json-schema.ts'
import { linearMatcher } from '../../base/json-schema/pattern.ts'

type Node = { readonly [keyword: string]: unknown }

/** For arguments, and of what is nested in them; longer texts end after a sentence. */
const MAX_DESCRIPTION = 160
const MAX_NESTED_DESCRIPTION = 80
/** In compact lists, of tools and arguments; nested descriptions are left out. */
const MAX_COMPACT_TOOL = 200
const MAX_COMPACT_ARGUMENT = 80
/** A `maxLength` of this or more is left out: the check enforces it, and models do not reach it by accident. */
const LONG_TEXT = 1_000
const NUMBER_FORMATS = new Set(['int32', 'int64', 'float', 'double'])
const SCHEMA_MAPS = new Set(['properties', 'patternProperties', '$defs', 'dependentSchemas'])
/** Keywords whose values are data. */
const DATA = new Set(['enum', 'const', 'default', 'required', 'dependentRequired', 'examples'])

/** A shorter schema repeats no part often enough for `$defs` to help. */
const MIN_SHARING_CHARS = 4_000
/** For a part that occurs more than once; a reference takes about 30 characters. */
const MIN_SHARED_CHARS = 100

/** With and without shared parts, in full and compact. */
const made = Array.from({ length: 4 }, () => new WeakMap<object, object>())

/**
 * @param shares equal parts of a large schema are written once, under `$defs`: for clients that follow references
 * @param compact descriptions of arguments end after their first sentences, without examples
 * @returns the same object for the same schema; it allows what the schema allows, and may allow more
 */
export function listedSchema<T extends JsonSchema>(schema: T, shares: boolean, compact = false): T {
  // a schema that names its dialect was written by hand, and clients may rely on its keywords
  if ('$schema' in schema) return schema
  const known = made[(shares ? 1 : 0) + (compact ? 2 : 0)]!
  let listed = known.get(schema)
  if (listed === undefined) {
    const node = listedNode(schema, 0, compact) as Node
    listed = shares && JSON.stringify(node).length > MIN_SHARING_CHARS ? withSharedParts(node) : node
    known.set(schema, listed)
  }
  return listed as T
}

/** Every schema of at least MIN_SHARED_CHARS characters below the root that occurs more than once becomes a definition, the largest first. */
function withSharedParts(root: Node): Node {
  const counts = new Map<string, number>()
  eachPart(root, part => {
    const text = JSON.stringify(part)
    if (text.length < MIN_SHARED_CHARS) return false
    const count = (counts.get(text) ?? 0) + 1
    counts.set(text, count)
    // the parts of a repeated part repeat with it
    return count === 1
  })
  const given = (root.$defs ?? {}) as Node
  const definitions: { [name: string]: unknown } = {}
  const names = new Map<string, string>()
  const rewritten = replaceParts(root, true)
  return Object.keys(definitions).length === 0
    ? root
    : { ...rewritten, $defs: { ...(rewritten.$defs as Node), ...definitions } }

  function replaceParts(node: Node, isRoot = false): Node {
    const text = isRoot ? '' : JSON.stringify(node)
    if ((counts.get(text) ?? 0) > 1) {
      let name = names.get(text)
      if (name === undefined) {
        for (let n = names.size + 1; name === undefined || Object.hasOwn(given, name); n++) name = `s${n}`
        names.set(text, name)
        definitions[name] = mapParts(node, replaceParts)
      }
      return { $ref: `#/$defs/${name}` }
    }
    return mapParts(node, replaceParts)
  }
}

/** Calls `visit` for each schema below the node; it returns whether to go on below. */
function eachPart(node: Node, visit: (part: Node) => boolean): void {
  mapParts(node, part => {
    if (visit(part)) eachPart(part, visit)
    return part
  })
}

function mapParts(node: Node, change: (part: Node) => Node): Node {
  const isPart = (value: unknown): value is Node =>
    value !== null && typeof value === 'object' && !Array.isArray(value)
  const out: { [keyword: string]: unknown } = {}
  for (const [keyword, value] of Object.entries(node)) {
    if (DATA.has(keyword)) out[keyword] = value
    else if (Array.isArray(value))
      out[keyword] = value.map(member => (isPart(member) ? change(member) : member))
    else if (!isPart(value)) out[keyword] = value
    else if (SCHEMA_MAPS.has(keyword)) {
      out[keyword] = Object.fromEntries(
        Object.entries(value).map(([name, part]) => [name, isPart(part) ? change(part) : part]),
      )
    } else out[keyword] = change(value)
  }
  return out
}

/** @param depth 0 for the root, 1 for an argument */
function listedNode(given: unknown, depth: number, compact: boolean): unknown {
  if (Array.isArray(given)) return given.map(member => listedNode(member, depth, compact))
  if (given === null || typeof given !== 'object') return given
  const node = given as Node
  const out: { [keyword: string]: unknown } = {}
  for (const keyword of Object.keys(node)) {
    const value = node[keyword]
    if (compact ? addsNothingInShort(keyword, value, node, depth) : addsNothing(keyword, value, node))
      continue
    if (keyword === 'description' && typeof value === 'string')
      out.description = compact
        ? shortArgument(value, node)
        : shorten(value, depth > 1 ? MAX_NESTED_DESCRIPTION : MAX_DESCRIPTION)
    else if (SCHEMA_MAPS.has(keyword)) out[keyword] = listedMap(value, depth + 1, compact)
    else out[keyword] = DATA.has(keyword) ? value : listedNode(value, depth, compact)
  }
  return out
}

function listedMap(schemas: unknown, depth: number, compact: boolean): unknown {
  return Object.fromEntries(
    Object.entries(schemas as Node).map(([name, schema]) => [name, listedNode(schema, depth, compact)]),
  )
}

function addsNothing(keyword: string, value: unknown, node: Node): boolean {
  switch (keyword) {
    case 'additionalProperties':
      // an argument that is not listed is refused by its name; without any, the list says that there are none
      return value === true || (value === false && !isEmpty(node.properties))
    case 'title':
      return node.description !== undefined || node.properties !== undefined
    case 'pattern':
      return isShown(value, node.description)
    case 'format':
      return NUMBER_FORMATS.has(value as string)
    case 'minLength':
      return (value as number) <= 1
    case 'minItems':
    case 'minProperties':
      return value === 0
    case 'maxLength':
      return (value as number) >= LONG_TEXT
    case 'default':
      return value === null || value === false || value === '' || isEmpty(value)
    default:
      return false
  }
}

function addsNothingInShort(keyword: string, value: unknown, node: Node, depth: number): boolean {
  if (keyword === 'examples') return true
  // one that shows a pattern stays in its place
  if (keyword === 'description' && typeof value === 'string')
    return depth > 1 && !isShown(node.pattern, value)
  return addsNothing(keyword, value, node)
}

/** The first sentences; an example stays where it is in place of a pattern. */
function shortArgument(text: string, { pattern }: Node): string {
  const short = firstSentences(text, MAX_COMPACT_ARGUMENT)
  return isShown(pattern, text) && !isShown(pattern, short) ? text : short
}

/** An example in the description shows the form that the pattern checks. */
function isShown(pattern: unknown, description: unknown): boolean {
  if (typeof pattern !== 'string' || typeof description !== 'string') return false
  const example = /(?:\nExample: |^Example: | such as )(\S{1,100}?)[.,;]?(?=\s|$)/.exec(description)?.[1]
  return example !== undefined && linearMatcher(pattern)?.test(example) === true
}

function isEmpty(value: unknown): boolean {
  return (
    value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0)
  )
}

/** Ends after the last sentence that fits, or after a word. An example at its end stays. */
function shorten(text: string, max: number): string {
  if (text.length <= max) return text
  const at = text.lastIndexOf('\nExample: ')
  const example = at < 0 ? '' : text.slice(at)
  const start = text.slice(0, Math.min(max, at < 0 ? text.length : at))
  const end = Math.max(start.lastIndexOf('. '), start.lastIndexOf('.\n'))
  const kept = end > max / 3 ? start.slice(0, end + 1) : `${start.slice(0, start.lastIndexOf(' '))}…`
  return `${kept}${example}`
}

/** For a tool, for compact lists. */
export function shortDescription(text: string): string {
  return firstSentences(text, MAX_COMPACT_TOOL)
}

/** Whole sentences, the first of them however long it is; a line ends a sentence, too. */
function firstSentences(text: string, max: number): string {
  const [whole = text] = text.split('\nExample: ')
  const ends = [...whole.matchAll(/[.!?](?=\s)|\s*\n|$/g)].map(
    end => end.index + (/^[.!?]/.test(end[0]) ? 1 : 0),
  )
  const last = ends.filter(end => end > 0 && end <= max).at(-1) ?? ends.find(end => end > 0)
  return whole.slice(0, last).trim()
}
