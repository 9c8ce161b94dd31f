/** Finds text that UTF-8 cannot hold: half of a surrogate pair (RFC 8259 §8.2). */

/** In the source text, only an escape can write one. */
const ESCAPED = /\\u[dD][89a-fA-F]/
const LONE = /\p{Surrogate}/u

/**
 * JSON Pointer of the first string with half of a surrogate pair, or of the object with such a member name; undefined when there is none.
 * @param text the source of `value`
 */
export function loneSurrogateAt(text: string, value: unknown): string | undefined {
  return ESCAPED.test(text) ? search(value, '') : undefined
}

function search(value: unknown, path: string): string | undefined {
  if (typeof value === 'string') return LONE.test(value) ? path : undefined
  if (typeof value !== 'object' || value === null) return undefined
  for (const [name, inner] of Object.entries(value)) {
    if (LONE.test(name)) return path
    const found = search(inner, `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`)
    if (found !== undefined) return found
  }
  return undefined
}
