/** Where tokens of callers may be exchanged: at the token endpoint of the issuer, and at addresses that the operator lists. */

/** `unknown`: the discovery document of the issuer has not been read yet. */
export type MayExchangeAt = (tokenUrl: string) => 'permitted' | 'refused' | 'unknown'

/** What is wrong with an address that is refused, as the end of a sentence about it. */
export const EXCHANGE_REFUSED =
  'must be the token endpoint of the identity provider, or an address that the operator lists in TOKEN_EXCHANGE_URLS, because the gateway sends the tokens of callers there.'

/** The form in which addresses are compared, and in which a request is sent; undefined: not http(s), or with user info or a fragment. */
export function exchangeUrl(text: string): string | undefined {
  if (!URL.canParse(text) || text.includes('#')) return undefined
  const { protocol, username, password, href } = new URL(text)
  return /^https?:$/.test(protocol) && username === '' && password === '' ? href : undefined
}

/** What is known of the issuer; a `TokenVerifier` has it. */
interface Issuer {
  /** The discovery document has been read. */
  readonly ready: boolean
  readonly tokenEndpoint?: string | undefined
}

/** @param listed TOKEN_EXCHANGE_URLS */
export function exchangeEndpoints(listed: readonly string[], issuer: Issuer): MayExchangeAt {
  const known = new Set(listed.map(exchangeUrl))
  return tokenUrl => {
    const url = exchangeUrl(tokenUrl)
    if (url === undefined) return 'refused'
    const { tokenEndpoint, ready } = issuer
    if (known.has(url) || (tokenEndpoint !== undefined && exchangeUrl(tokenEndpoint) === url))
      return 'permitted'
    return tokenEndpoint === undefined && !ready ? 'unknown' : 'refused'
  }
}
