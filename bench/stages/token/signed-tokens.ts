/** Really signed tokens of about 1 KB, as Keycloak makes them, and their verifier, for benches. */
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { createTokenVerifier, type StartedTokenVerifier } from '../../../src/identity/jwks.ts'
import { SILENT } from '../../../src/telemetry/log.ts'

export const ISSUER = 'https://idp.example/realms/platform'
export const AUDIENCE = 'platform-mcp-gateway'

export interface SignedTokens {
  /** The public key. */
  readonly jwk: JWK
  readonly tokens: readonly string[]
}

export async function signTokens(alg: string, count: number): Promise<SignedTokens> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  const jwk = { ...(await exportJWK(publicKey)), kid: alg, alg, use: 'sig' }
  const tokens: string[] = []
  for (let at = 0; at < count; at++) {
    const claims = {
      azp: `client-${at}`,
      scope: 'openid profile email platform:read platform:execute',
      tenant_id: 'acme',
      realm_access: { roles: ['offline_access', 'uma_authorization', 'default-roles-platform', 'devops'] },
      session_state: '4f1cc4a2-7c69-4a0c-9d11-2f2e7a2a9e55',
      allowed_origins: ['https://console.acme.example', 'https://portal.acme.example'],
      name: 'Someone With A Name',
      email: 'somebody@acme.example',
    }
    tokens.push(
      await new SignJWT(claims)
        .setProtectedHeader({ alg, kid: alg, typ: 'JWT' })
        .setIssuer(ISSUER)
        .setAudience([AUDIENCE, 'account'])
        .setSubject(`f:${at}:4f1cc4a2-7c69-4a0c-9d11`)
        .setIssuedAt()
        .setExpirationTime('1h')
        .sign(privateKey),
    )
  }
  return { jwk, tokens }
}

/** New strings as a listener makes them: slices of a header, whose hash no one has computed yet. */
export function freshStrings(texts: readonly string[]): string[] {
  return texts.map(text => Buffer.from(`Bearer ${text}`, 'latin1').toString('latin1').slice(7))
}

/** The gateway's own verifier, its keys loaded. */
export async function verifierOf({ jwk }: SignedTokens): Promise<StartedTokenVerifier> {
  const verifier = createTokenVerifier({
    issuer: ISSUER,
    jwksUri: `${ISSUER}/certs`,
    audiences: [AUDIENCE],
    resourceUris: [],
    fetchJson: async () => ({ ok: true, json: { keys: [jwk] } }),
    log: SILENT,
  })
  verifier.start()
  while (!verifier.ready) await new Promise(resolve => setTimeout(resolve, 1))
  return verifier
}
