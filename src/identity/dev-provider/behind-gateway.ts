/** Adapts responses of the development provider to clients that discovered it through the gateway, and to public clients. */
import type { KoaContextWithOIDC } from 'oidc-provider'

/**
 * Takes `iss` (RFC 9207) out of redirects to the client and out of the discovery document: such clients recorded the gateway as
 * issuer and would refuse the provider's; Keycloak has the client attribute `exclude.issuer.from.auth.response` for it.
 * And drops the secret that the library makes for a registered client although it is public.
 */
export async function asBehindGateway(ctx: KoaContextWithOIDC, next: () => Promise<unknown>): Promise<void> {
  await next()
  const location = ctx.response.get('location')
  if (URL.canParse(location)) {
    const target = new URL(location)
    if (target.searchParams.has('iss')) {
      target.searchParams.delete('iss')
      ctx.set('location', target.href)
    }
  }
  if (typeof ctx.body !== 'object' || ctx.body === null || Buffer.isBuffer(ctx.body)) return
  const body = ctx.body as Record<string, unknown>
  if ('authorization_response_iss_parameter_supported' in body) {
    ctx.body = { ...body, authorization_response_iss_parameter_supported: false }
  } else if (body.token_endpoint_auth_method === 'none' && 'client_secret' in body) {
    const { client_secret: _, client_secret_expires_at: __, ...rest } = body
    ctx.body = rest
  }
}
