/** An identity provider that is unavailable, over the real wire: tokens get 503 with Retry-After on both planes, never 401, and loaded keys continue to serve. */
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy, rpc } from '../fixtures/deployment.ts'
import { makeKeyPair } from '../fixtures/key-pair.ts'

type Fault = 'hang' | 'status 500' | 'garbage' | 'reset'
const FAULTS: readonly Fault[] = ['reset', 'hang', 'status 500', 'garbage']

/** A provider with one key, which can fail in several ways. */
class Provider {
  readonly #server: Server
  readonly #key = makeKeyPair('rsa')
  fault: Fault | undefined

  constructor() {
    this.#server = createServer((request, response) => void this.#respond(request.url!, response))
  }

  async listen(): Promise<void> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve))
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  token(kid: string): Promise<string> {
    return new SignJWT({ azp: 'demo-admin', scope: 'platform:read', realm_access: { roles: ['cpi-admin'] } })
      .setProtectedHeader({ alg: 'RS256', kid })
      .setIssuer(this.issuer)
      .setSubject('demo-admin')
      .setAudience('platform-mcp-gateway')
      .setIssuedAt()
      .setExpirationTime('10m')
      .sign(this.#key.privateKey)
  }

  async #respond(url: string, response: ServerResponse): Promise<void> {
    if (this.fault === 'hang') return
    if (this.fault === 'reset') return void response.destroy()
    if (this.fault === 'status 500') return void response.writeHead(500).end()
    if (this.fault === 'garbage') return void response.writeHead(200).end('<html>oops')
    response.writeHead(200, { 'content-type': 'application/json' })
    if (url.includes('well-known'))
      return void response.end(JSON.stringify({ issuer: this.issuer, jwks_uri: `${this.issuer}/keys` }))
    const jwk = { ...(await exportJWK(this.#key.publicKey)), kid: 'known', alg: 'RS256', use: 'sig' }
    response.end(JSON.stringify({ keys: [jwk] }))
  }
}

async function statuses(deployment: Deployment, token: string) {
  const authorization = `Bearer ${token}`
  const rest = await deployment.post('/mcp/v1/tools', {}, token)
  const mcp = await deployment.post('/mcp', rpc('tools/list'), token)
  const api = await fetch(`${deployment.running.addresses.api_url}/v1/tenants`, {
    headers: { authorization },
  })
  return [rest, mcp, api].map(({ status, headers }) => [status, headers.get('retry-after') !== null])
}
const UNAVAILABLE = [503, true]

/** Status and body of `/ready` of the control plane. */
async function readiness({ running }: Deployment) {
  const response = await fetch(`${running.addresses.api_url}/ready`)
  return [response.status, await response.json()]
}

describe.each(FAULTS)('with a provider that fails by %s', fault => {
  let provider: Provider
  let deployment: Deployment
  beforeAll(async () => {
    provider = new Provider()
    await provider.listen()
  })
  afterAll(async () => {
    await deployment?.stop()
    provider?.close()
  })

  it('at the start, a token gets 503; once the provider is available, it is accepted without a restart', async () => {
    provider.fault = fault
    deployment = await deploy({
      AUTH_ISSUER: provider.issuer,
      EXAMPLE: 'false',
    })
    const token = await provider.token('known')
    expect(await statuses(deployment, token)).toEqual([UNAVAILABLE, UNAVAILABLE, UNAVAILABLE])
    expect((await fetch(`${deployment.url}/mcp/health`)).status).toBe(503)
    await expect
      .poll(() => readiness(deployment), { timeout: 30_000 })
      .toEqual([503, { status: 'not_ready', waiting_for: ['signing_keys'] }])
    provider.fault = undefined
    await expect
      .poll(async () => (await statuses(deployment, token)).map(([status]) => status), {
        timeout: 60_000,
        interval: 100,
      })
      .toEqual([200, 200, 200])
    await expect.poll(() => readiness(deployment), { timeout: 30_000 }).toEqual([200, { status: 'ready' }])
  })

  it('later, loaded keys continue to serve, and a token of an unknown key gets 503', async () => {
    provider.fault = fault
    expect((await statuses(deployment, await provider.token('known'))).map(([status]) => status)).toEqual([
      200, 200, 200,
    ])
    const unknown = await provider.token('rotated')
    for (let time = 0; time < 2; time++)
      expect(await statuses(deployment, unknown)).toEqual([UNAVAILABLE, UNAVAILABLE, UNAVAILABLE])
  })
})
