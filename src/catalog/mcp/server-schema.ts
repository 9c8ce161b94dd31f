/** Makes a schema of an MCP server fit for clients, and finds the arguments that the server wants in headers. Pure. */
import { isObject } from '../../base/json/is-object.ts'
import { put } from '../compile/dict.ts'
import { cleanText, MAX_TOOL_DESCRIPTION } from '../compile/words.ts'

type Node = { readonly [keyword: string]: unknown }

/** Keywords whose values are data, not schemas. */
const DATA = new Set(['enum', 'const', 'default', 'examples', 'required', 'dependentRequired'])
/** Keywords whose members are schemas with names that the author chose. */
const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

/** A copy for JSON Schema 2020-12: no invisible characters in titles and descriptions, and no `x-…` keywords; `x-sensitive` becomes `writeOnly`. */
export function cleanSchema(node: Node): Node {
  const out: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(node)) {
    // logs mask such values
    if (keyword === 'x-sensitive' && value === true) out.writeOnly = true
    // the dialect is always that of the gateway; `x-…` could oblige clients to send headers
    if (keyword === '$schema' || keyword.startsWith('x-')) continue
    put(out, keyword, cleanValue(keyword, value))
  }
  return Array.isArray(out.items) ? asPrefixItems(out) : out
}

function cleanValue(keyword: string, value: unknown): unknown {
  if (keyword === 'description' || keyword === 'title') return cleanText(value, MAX_TOOL_DESCRIPTION)
  if (DATA.has(keyword)) return value
  if (Array.isArray(value)) return value.map(member => (isObject(member) ? cleanSchema(member) : member))
  if (!isObject(value)) return value
  if (!MAPS.has(keyword)) return cleanSchema(value)
  const out: Record<string, unknown> = {}
  for (const [name, schema] of Object.entries(value))
    put(out, name, isObject(schema) ? cleanSchema(schema) : schema)
  return out
}

/** A list of schemas in `items` is `prefixItems` since 2020-12. */
function asPrefixItems({ items, additionalItems, ...rest }: Record<string, unknown>): Node {
  return { ...rest, prefixItems: items, ...(additionalItems === undefined ? {} : { items: additionalItems }) }
}

/** Arguments deeper than this are not mirrored; clients do not look for them either. */
const MAX_DEPTH = 8

/** The arguments that the server wants in headers too (MCP 2026-07-28, `x-mcp-header`): only those that `properties` alone lead to. */
export function mirroredArguments(
  schema: Node,
  path: readonly string[] = [],
): { readonly path: readonly string[]; readonly header: string }[] {
  if (!isObject(schema.properties) || path.length >= MAX_DEPTH) return []
  return Object.entries(schema.properties).flatMap(([name, property]) => {
    if (!isObject(property)) return []
    const inner = [...path, name]
    const header = property['x-mcp-header']
    const own = typeof header === 'string' ? [{ path: inner, header }] : []
    return [...own, ...mirroredArguments(property, inner)]
  })
}
