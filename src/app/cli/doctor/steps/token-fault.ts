/** Suggests a fix for a rejected token, from its claims and the challenge. */
import { isObject } from '../../../../base/json/is-object.ts'

/** @param challenge the WWW-Authenticate header of the 401 */
export function fixOfToken(token: string, challenge: string): string {
  const description = /error_description="([^"]*)"/.exec(challenge)?.[1]
  const claims = claimsOf(token)
  if (claims === undefined)
    return 'The token is not a JWT: pass the complete access_token from the identity provider, without "Bearer".'
  const nowSecs = Date.now() / 1000
  if (typeof claims.exp === 'number' && claims.exp < nowSecs)
    return `The token expired ${Math.ceil((nowSecs - claims.exp) / 60)} min ago: get a new token.`
  const audience = JSON.stringify(claims.aud ?? null)
  return (
    `${description === undefined ? '' : `The error_description in the response from the gateway is "${description}". `}` +
    `The token has the issuer ${JSON.stringify(claims.iss ?? null)} and the audience ${audience}. The issuer must be the URL in AUTH_ISSUER; ` +
    'the audience must contain a value of ALLOWED_AUDIENCES or the URL of the gateway.'
  )
}

function claimsOf(
  token: string,
): { readonly exp?: unknown; readonly aud?: unknown; readonly iss?: unknown } | undefined {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'))
    return isObject(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}
