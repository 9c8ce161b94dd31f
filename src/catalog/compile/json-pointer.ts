/** Escapes and unescapes tokens of JSON Pointers. */

/** A token as key; in a URI fragment it may be percent-encoded as well. */
export function unescapeToken(token: string): string {
  let key = token
  if (key.includes('%')) {
    try {
      key = decodeURIComponent(key)
    } catch {
      // Not percent-encoded: the key is literal.
    }
  }
  return key.includes('~') ? key.replaceAll('~1', '/').replaceAll('~0', '~') : key
}

export function escapeToken(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}
