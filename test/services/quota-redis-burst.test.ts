/** One to three gateways on a real Redis: the calls in their backend at once never exceed the burst limit. The share they use is printed, not asserted. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { importJWK, type JWK, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DevProvider, startDevProvider } from '../../src/identity/dev-provider/dev-provider.ts'
import { SILENT } from '../../src/telemetry/log.ts'
import { sized } from '../fixtures/check.ts'
import { post } from '../fixtures/deployment.ts'
import { type GatewayProcess, startGatewayProcess } from '../fixtures/gateway-process.ts'
import { RedisServer, SKIPPED_HINT, withoutRedis } from '../fixtures/redis-server.ts'

const BURST = 4
const CALL_MS = 150
const SECONDS = sized(2, 4)

/** A backend whose calls take some time, and the calls that were in it at once. */
class CountingBackend {
  inside = 0
  max = 0
  /** Call milliseconds since the last `begin`. */
  busyMs = 0
  readonly #server: Server
  #changedMs = 0

  constructor() {
    this.#server = createServer(async (request, response) => {
      this.#change(1)
      request.resume()
      await sleep(CALL_MS)
      this.#change(-1)
      response.writeHead(200, { 'content-type': 'application/json' }).end('[]')
    })
  }

  async listen(): Promise<string> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  begin(): void {
    this.max = this.inside
    this.busyMs = 0
    this.#changedMs = performance.now()
  }

  close(): Promise<void> {
    this.#server.closeAllConnections()
    return new Promise(resolve => this.#server.close(() => resolve()))
  }

  #change(by: number): void {
    const now = performance.now()
    this.busyMs += (now - this.#changedMs) * this.inside
    this.#changedMs = now
    this.inside += by
    this.max = Math.max(this.max, this.inside)
  }
}

describe.skipIf(withoutRedis)(`calls in flight over gateways on one Redis${SKIPPED_HINT}`, () => {
  const backend = new CountingBackend()
  const gateways: GatewayProcess[] = []
  let server: RedisServer
  let provider: DevProvider
  let dir: string
  let jwk: JWK

  beforeAll(async () => {
    server = await RedisServer.start()
    dir = mkdtempSync(join(tmpdir(), 'quota-burst-'))
    const url = await backend.listen()
    const toolSets = join(dir, 'toolsets')
    cpSync(join(import.meta.dirname, '../../toolsets'), toolSets, { recursive: true })
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is written so in the file
    const toolSet = readFileSync(join(toolSets, 'shop.yaml'), 'utf8').replaceAll('${EXAMPLE_URL}', url)
    writeFileSync(join(toolSets, 'shop.yaml'), toolSet)
    const consumers = Object.fromEntries([1, 2, 3].map(count => [`of-${count}`, 'narrow']))
    writeFileSync(
      join(dir, 'plans.yaml'),
      JSON.stringify({ plans: { narrow: { burst: BURST, perMinute: 100_000 } }, consumers }),
    )
    provider = await startDevProvider({ host: '127.0.0.1', port: 0, dataDir: join(dir, 'idp'), log: SILENT })
    const jwks = readFileSync(join(dir, 'idp', 'dev-identity', 'jwks.json'), 'utf8')
    jwk = (JSON.parse(jwks) as { keys: JWK[] }).keys[0]!
    const started = ['one', 'two', 'three'].map(name =>
      startGatewayProcess({
        REDIS_URL: server.url,
        PLANS: join(dir, 'plans.yaml'),
        TOOLSETS: toolSets,
        AUTH_ISSUER: provider.issuer,
        GATEWAY_NAME: name,
      }),
    )
    gateways.push(...(await Promise.all(started)))
  }, 120_000)
  afterAll(async () => {
    await Promise.all(gateways.map(gateway => gateway.stop()))
    await Promise.all([backend.close(), provider?.close(), server?.stop()])
    if (dir !== undefined) rmSync(dir, { recursive: true, force: true })
  })

  async function token(consumer: string): Promise<string> {
    return new SignJWT({ azp: consumer, tenant_id: 'acme', scope: 'platform:read platform:execute' })
      .setProtectedHeader({ alg: 'RS256', kid: jwk.kid! })
      .setIssuer(provider.issuer)
      .setSubject(consumer)
      .setAudience('platform-mcp-gateway')
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(await importJWK(jwk, 'RS256'))
  }

  /** Calls one after another; a refused one is repeated shortly after. */
  async function load(gateway: GatewayProcess, bearer: string, endMs: number): Promise<void> {
    while (performance.now() < endMs) {
      const call = { name: 'shop_listProducts', arguments: {} }
      const { status } = await post(`${gateway.url}/mcp/v1/tools/invoke`, call, bearer)
      expect([200, 429]).toContain(status)
      if (status === 429) await sleep(5)
    }
  }

  test.each([1, 2, 3])(
    '%i gateways',
    async count => {
      const bearer = await token(`of-${count}`)
      const used = async (seconds: number, clientsOf: (gateway: number) => number): Promise<number> => {
        backend.begin()
        const endMs = performance.now() + seconds * 1000
        await Promise.all(
          gateways
            .slice(0, count)
            .flatMap((gateway, i) =>
              Array.from({ length: clientsOf(i) }, () => load(gateway, bearer, endMs)),
            ),
        )
        expect(backend.max).toBeLessThanOrEqual(BURST)
        return backend.busyMs / (seconds * 1000 * BURST)
      }
      await used(1, () => 6)
      const even = await used(SECONDS, () => 6)
      const uneven = await used(SECONDS, gateway => (gateway === 0 ? 6 : 1))
      console.log(
        `${count} gateways, burst ${BURST}, ${CALL_MS} ms: ${(even * 100).toFixed(1)} % used under even load, ${(uneven * 100).toFixed(1)} % under uneven load`,
      )
    },
    60_000,
  )
})
