/** Finds the part of a schema that a `$ref` names by JSON Pointer, and recognizes schemas with other references. */
import { isObject } from '../json/is-object.ts'
import type { JsonSchema } from '../json/json-schema.ts'

/**
 * The pointers that every reader resolves alike. Not among them: empty names, an escaped `/` or `#`, halves of characters, control characters
 * and line separators, which Ajv cuts off or replaces.
 */
const PLAIN = /^#(?:\/(?:[^#/%\\\p{Cc}\p{Cs}\u2028\u2029]|%(?!2f|23)[\da-f]{2})+)*$/iu

/** @returns undefined when the reference is not such a pointer, or leads nowhere */
export function referenceTarget(root: object, reference: string): unknown {
  if (!PLAIN.test(reference)) return undefined
  let at: unknown = root
  for (const part of reference.split('/').slice(1)) {
    const name = decode(part)
    if (name === undefined || typeof at !== 'object' || at === null || !Object.hasOwn(at, name))
      return undefined
    at = (at as JsonSchema)[name]
  }
  return at
}

/** RFC 6901 §6, then §4. @returns undefined when the escapes are not UTF-8 */
function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return undefined
  }
}

/** References that depend on the calls before, or on ids: what they lead to is not in one place. */
const DYNAMIC = ['$dynamicRef', '$recursiveRef'] as const

/** Whether `referenceTarget` finds what each reference of the schema leads to; constants and examples count as schemas. */
export function hasPlainReferences(root: JsonSchema): boolean {
  const pending: object[] = [root]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { $ref, $id } = next as JsonSchema
    if (DYNAMIC.some(keyword => typeof (next as JsonSchema)[keyword] === 'string')) return false
    // references below an inner id begin at that schema, not at the root
    if (next !== root && typeof $id === 'string') return false
    if (typeof $ref === 'string' && !isSchema(referenceTarget(root, $ref))) return false
    for (const child of Object.values(next))
      if (typeof child === 'object' && child !== null) pending.push(child)
  }
  return true
}

function isSchema(value: unknown): boolean {
  return typeof value === 'boolean' || isObject(value)
}
