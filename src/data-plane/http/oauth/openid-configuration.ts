/** `/.well-known/openid-configuration`: the provider's document with endpoints of the gateway, or an error. `routes.ts` mounts it. */
import { json, NO_STORE, type OAuthResponse } from './oauth-response.ts'
import type { ProviderEndpoints } from './provider-endpoints.ts'

/** Readable by any page and never cached: it repeats what the provider publishes now. */
const OPEN: readonly string[] = ['access-control-allow-origin', '*', ...NO_STORE]

/** 200, 502 when the provider gives no document, 503 when none is configured (docs/reference/http.md, OAuth and discovery). Never rejects. */
export async function openidConfiguration(
  gatewayUrl: string,
  provider: ProviderEndpoints | undefined,
): Promise<OAuthResponse> {
  if (provider === undefined)
    return fault(503, 'temporarily_unavailable', 'No identity provider is configured.')
  const document = await provider.discover()
  if (typeof document === 'string')
    return fault(502, 'server_error', `The identity provider is unavailable: ${document}.`)
  return json(
    200,
    {
      ...document,
      token_endpoint: `${gatewayUrl}/oauth/token`,
      registration_endpoint: `${gatewayUrl}/oauth/register`,
    },
    OPEN,
  )
}

function fault(status: number, error: string, description: string): OAuthResponse {
  return json(status, { error, error_description: description }, OPEN)
}
