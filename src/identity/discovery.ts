/** The address and the issuer check of a provider's discovery document, and the endpoints in it. */
import { isObject } from '../base/json/is-object.ts'
import type { FetchJson } from './fetch-json.ts'

/** Where OpenID Connect Discovery 1.0 §4 puts the document of an issuer. */
export function discoveryUrl(issuer: string): string {
  return `${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`
}

/** Characters of an issuer that a reason repeats. */
const MAX_SHOWN_ISSUER = 256

/** Why a discovery document is not that of the issuer, as the end of a sentence about the document. */
export function issuerFault(found: unknown, issuer: string): string {
  if (typeof found !== 'string') return 'has no issuer'
  const shown = JSON.stringify(found.slice(0, MAX_SHOWN_ISSUER))
  return `has the issuer ${shown}, not "${issuer}"; if ${shown} is correct, set AUTH_ISSUER to exactly this value`
}

/** `issuer` of the document must be exactly ours (§4.3), else another tenant of the provider could stand in for it. */
export async function discoverEndpoints(
  issuer: string,
  fetchJson: FetchJson,
): Promise<
  | { readonly ok: true; readonly jwksUri: string; readonly tokenEndpoint: string | undefined }
  | { readonly ok: false; readonly reason: string }
> {
  const fetched = await fetchJson(discoveryUrl(issuer))
  if (!fetched.ok) return fetched
  const document = fetched.json
  if (!isObject(document)) return { ok: false, reason: 'the OpenID discovery document is not a JSON object' }
  if (document.issuer !== issuer)
    return { ok: false, reason: `the OpenID discovery document ${issuerFault(document.issuer, issuer)}` }
  const { jwks_uri: uri, token_endpoint: token } = document
  if (typeof uri !== 'string' || !/^https?:\/\//.test(uri))
    return { ok: false, reason: 'the OpenID discovery document has no jwks_uri' }
  return { ok: true, jwksUri: uri, tokenEndpoint: typeof token === 'string' ? token : undefined }
}
