/** Finds the address of the provider's keys in its discovery document. It loads no key. */
import { isObject } from '../../model/is-object.ts'
import type { FetchJson } from './fetch-json.ts'

/** Where OpenID Connect Discovery 1.0 §4 puts the document of an issuer. */
export function discoveryUrl(issuer: string): string {
  return `${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`
}

/** `issuer` of the document must be exactly ours (§4.3), else another tenant of the provider could stand in for it. */
export async function discoverJwksUri(
  issuer: string,
  fetchJson: FetchJson,
): Promise<
  { readonly ok: true; readonly jwksUri: string } | { readonly ok: false; readonly reason: string }
> {
  const fetched = await fetchJson(discoveryUrl(issuer))
  if (!fetched.ok) return fetched
  const document = fetched.json
  if (!isObject(document) || document.issuer !== issuer)
    return {
      ok: false,
      reason: 'the discovery document names another issuer; set AUTH_ISSUER to exactly that one',
    }
  const uri = document.jwks_uri
  if (typeof uri !== 'string' || !/^https?:\/\//.test(uri))
    return { ok: false, reason: 'the discovery document has no jwks_uri' }
  return { ok: true, jwksUri: uri }
}
