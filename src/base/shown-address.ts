/** An address as messages, logs and audit records show it: without the parts that may hold a credential. */

/** User info (RFC 3986 §3.2.1). WHATWG ends the authority at a backslash as well, and needs no slashes after `http:`. */
const USER_INFO = /^(\s*(?:[a-z][a-z0-9+.-]*:[/\\]*|[/\\]{2}))[^/\\?#]*@/i
const MAX_CHARACTERS = 200

/** Scheme, host, port and path: user info, query and fragment may hold a credential. The text need not be a valid address. */
export function shownAddress(address: string, maxCharacters = MAX_CHARACTERS): string {
  const end = address.search(/[?#]/)
  const start = end < 0 ? address : address.slice(0, end)
  return (start.includes('@') ? start.replace(USER_INFO, '$1') : start).slice(0, maxCharacters)
}

/** The same of a `$ref`, whose fragment names a place in the file. */
export function shownReference(reference: string): string {
  const cut = reference.indexOf('#')
  return cut < 0 ? shownAddress(reference) : shownAddress(reference.slice(0, cut)) + reference.slice(cut)
}
