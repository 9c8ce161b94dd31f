/** Checks the `x-mcp-header` annotations of a schema. */
import { isObject } from '../../base/json/is-object.ts'

/** RFC 9110 §5.6.2, token; `Mcp-Param-` is the prefix of the header. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/
const MIRRORED_TYPES = ['string', 'integer', 'boolean']
const KEYWORD = 'x-mcp-header'

/** @returns a description of the first fault; undefined when every annotation is valid. */
export function mirroredHeaderFault(schema: unknown): string | undefined {
  return faultIn(schema, true, '', new Set())
}

/** @param reachable the path to the node consists of `properties` only */
function faultIn(node: unknown, reachable: boolean, path: string, names: Set<string>): string | undefined {
  if (Array.isArray(node)) {
    for (const [at, item] of node.entries()) {
      const fault = faultIn(item, false, `${path}/${at}`, names)
      if (fault !== undefined) return fault
    }
    return undefined
  }
  if (!isObject(node)) return undefined
  if (KEYWORD in node) {
    const fault = annotationFault(node, reachable && path !== '', names)
    if (fault !== undefined) return `${KEYWORD} at ${path === '' ? 'the root' : path} ${fault}`
  }
  for (const [keyword, inner] of Object.entries(node)) {
    // These contain data, not schemas.
    if (keyword === 'enum' || keyword === 'const' || keyword === 'default' || keyword === 'examples') continue
    const holdsSchemas = keyword === 'properties' && isObject(inner)
    const parts = holdsSchemas ? Object.entries(inner) : [['', inner] as const]
    for (const [name, part] of parts) {
      const at = `${path}/${keyword}${name === '' ? '' : `/${name}`}`
      const fault = faultIn(part, reachable && holdsSchemas, at, names)
      if (fault !== undefined) return fault
    }
  }
  return undefined
}

function annotationFault(
  { [KEYWORD]: name, type }: { readonly [key: string]: unknown },
  reachable: boolean,
  names: Set<string>,
): string | undefined {
  if (typeof name !== 'string' || !TOKEN.test(name)) return 'is not a header name'
  if (!reachable) return 'is not on a property, or is inside another keyword such as items or oneOf'
  if (typeof type !== 'string' || !MIRRORED_TYPES.includes(type))
    return 'is not on a property of type string, integer or boolean'
  if (names.has(name.toLowerCase())) return `repeats the header name ${name}`
  names.add(name.toLowerCase())
  return undefined
}
