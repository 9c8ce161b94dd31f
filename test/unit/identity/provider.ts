/** A small identity provider on loopback: a discovery document and a key set over HTTP, tokens signed with its keys, and a verifier of them. No mocks. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose'
import { fetchJsonOver } from '../../../src/identity/fetch-json.ts'
import { createTokenVerifier, type TokenVerifierOptions } from '../../../src/identity/jwks.ts'
import { createEgress } from '../../../src/net/egress/client.ts'
import { SILENT } from '../../../src/telemetry/log.ts'

export type PrivateKey = Awaited<ReturnType<typeof generateKeyPair>>['privateKey']

export interface TestKey {
  readonly kid: string
  readonly alg: string
  readonly privateKey: PrivateKey
  readonly jwk: JWK
}

type KeyPair = Awaited<ReturnType<typeof generateKeyPair>>

/** An RSA pair takes long to make: a thread that runs a file many times (mutation testing) uses the last ones again. */
const MAX_PAIRS = 4
const pairs = new Map<string, Promise<KeyPair>[]>()

/** Any four of one algorithm in a row differ. */
function makePair(alg: string): Promise<KeyPair> {
  const made = pairs.get(alg) ?? []
  pairs.set(alg, made)
  const pair = made.length < MAX_PAIRS ? generateKeyPair(alg, { extractable: true }) : made.shift()!
  made.push(pair)
  return pair
}

export async function makeKey(alg: string, kid = `${alg}-1`): Promise<TestKey> {
  const { privateKey, publicKey } = await makePair(alg)
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

export interface TestProvider {
  readonly issuer: string
  /** What the key set responds with; changed by tests. */
  keys: JWK[]
  /** Status of every response, 200 unless a test breaks it. */
  status: number
  /** Raw body instead of the key set; the discovery document stays. */
  body: string | undefined
  /** Milliseconds before each response. */
  delayMs: number
  /** Requests for the key set. */
  fetches: number
  /** All requests, discovery included. */
  requests: number
  close(): Promise<void>
}

export async function startProvider(keys: readonly TestKey[]): Promise<TestProvider> {
  const server = createServer((request, response) => {
    const respond = (): void => {
      response.writeHead(provider.status, { 'content-type': 'application/json' })
      if (request.url === '/realm/.well-known/openid-configuration')
        response.end(JSON.stringify({ issuer: provider.issuer, jwks_uri: `${provider.issuer}/certs` }))
      else response.end(provider.body ?? JSON.stringify({ keys: provider.keys }))
    }
    provider.requests++
    if (request.url === '/realm/certs') provider.fetches++
    if (provider.delayMs === 0) respond()
    else setTimeout(respond, provider.delayMs)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const provider: TestProvider = {
    issuer: `http://127.0.0.1:${port}/realm`,
    keys: keys.map(key => key.jwk),
    status: 200,
    body: undefined,
    delayMs: 0,
    fetches: 0,
    requests: 0,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return provider
}

export const AUDIENCE = 'platform-mcp-gateway'
export const nowSecs = (): number => Math.floor(Date.now() / 1000)

/** The claims of a token that is good in every respect. */
export function goodClaims(provider: TestProvider): JWTPayload {
  return {
    iss: provider.issuer,
    aud: AUDIENCE,
    sub: 'user-1',
    azp: 'demo-agent',
    scope: 'openid platform:read platform:execute',
    tenant_id: 'acme',
    iat: nowSecs(),
    exp: nowSecs() + 300,
  }
}

export function sign(key: TestKey, claims: JWTPayload, header: object = {}): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: key.alg, kid: key.kid, ...header })
    .sign(key.privateKey)
}

/** A verifier over real HTTP. Close it, and its egress, with `close`. */
export function verifierFor(
  provider: Pick<TestProvider, 'issuer'>,
  more: Partial<TokenVerifierOptions> = {},
) {
  const egress = createEgress({ allow: [], allowLoopback: true })
  const verifier = createTokenVerifier({
    issuer: provider.issuer,
    audiences: [AUDIENCE],
    resourceUris: ['https://gw.example/mcp'],
    fetchJson: fetchJsonOver(egress, 1000),
    log: SILENT,
    firstRetryMs: 20,
    ...more,
  })
  return {
    ...verifier,
    get ready() {
      return verifier.ready
    },
    async close() {
      verifier.close()
      await egress.close()
    },
  }
}
