/** Reads the token of an `Authorization` header. */

/** RFC 9110 §11.1: the scheme is case-insensitive; RFC 6750 §2.1: a token follows. @returns undefined for anything else */
export function bearerToken(authorization: string): string | undefined {
  if (authorization.length < 8 || authorization.slice(0, 7).toLowerCase() !== 'bearer ') return undefined
  const token = authorization.slice(7).trim()
  return token === '' ? undefined : token
}
