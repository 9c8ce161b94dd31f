/** What an authorization server publishes about itself (RFC 8414), and the check of the issuer that a return from it names (RFC 9207). */
import type { OAuthClient } from '../../../model/tool.ts'
import type { Egress } from '../egress.ts'
import { fault, jsonOf, type TokenFault } from './token-endpoint.ts'

interface ServerMetadata {
  readonly namesIssuer: boolean
  readonly revocationUrl: string | undefined
}

const TIMEOUT_MS = 5_000
const MAX_DOCUMENT_BYTES = 256 * 1024

/** undefined: no document of this issuer can be read. Never rejects. */
export async function readMetadata(egress: Egress, issuer: string): Promise<ServerMetadata | undefined> {
  for (const url of documentUrls(issuer)) {
    const response = await egress.request({
      method: 'GET',
      url,
      headers: ['accept', 'application/json'],
      timeoutMs: TIMEOUT_MS,
      maxResponseBytes: MAX_DOCUMENT_BYTES,
    })
    if (response.kind === 'failure' || response.status !== 200) continue
    const document = jsonOf(response)
    // RFC 8414 §3.3: else another tenant of the host could stand in for it
    if (document.issuer !== issuer) continue
    const { revocation_endpoint: revocation } = document
    return {
      namesIssuer: document.authorization_response_iss_parameter_supported === true,
      revocationUrl:
        typeof revocation === 'string' && /^https?:/.test(revocation) && URL.canParse(revocation)
          ? revocation
          : undefined,
    }
  }
  return undefined
}

/**
 * Whether the return with a code may be from the server of this client. Never rejects.
 * @param named `iss` of the return
 * @returns why not
 */
export async function issuerFault(
  egress: Egress,
  { issuer, authorizationUrl = '' }: OAuthClient,
  named: string | undefined,
): Promise<TokenFault | undefined> {
  if (issuer === undefined) {
    // the server has not been named: only one of the same origin can be meant
    if (named === undefined || originOf(named) === originOf(authorizationUrl)) return undefined
    return fault(
      'refused',
      'The return names another authorization server as its issuer than the host of authorizationUrl. If that is its issuer, write that issuer in the field issuer of the authentication.',
    )
  }
  if (named !== undefined)
    return named === issuer
      ? undefined
      : fault('refused', 'The return names another authorization server as its issuer than the field issuer.')
  const metadata = await readMetadata(egress, issuer)
  if (metadata === undefined)
    return fault(
      'unavailable',
      'The metadata of the authorization server cannot be read at the address in the field issuer. Retry later.',
    )
  return metadata.namesIssuer
    ? fault('refused', 'The return does not name its issuer, as the authorization server announces.')
    : undefined
}

/** RFC 8414 §3.1 puts the well-known part before the path of the issuer, OpenID Connect Discovery 1.0 §4 behind it. */
function documentUrls(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  return [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ]
}

function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined
}
