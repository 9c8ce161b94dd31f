/** Gives the spellings of one resource identifier one form. */

/**
 * @returns an http(s) address with scheme and host in lower case, without a default port and without a slash at the end (RFC 3986 §6.2.2 and
 * §6.2.3); any other text as it is
 */
export function canonicalResource(resource: string): string {
  if (!/^https?:\/\//i.test(resource) || !URL.canParse(resource)) return resource
  const { origin, username, password, pathname, search, hash } = new URL(resource)
  if (username !== '' || password !== '') return resource
  return `${origin}${pathname.replace(/\/$/, '')}${search}${hash}`
}
