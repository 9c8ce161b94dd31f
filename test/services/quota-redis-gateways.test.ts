/** Two gateways on one Redis: one quota, orders of an administrator apply at both, and health reports that Redis is unavailable until it is back. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { importJWK, type JWK, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DevProvider, startDevProvider } from '../../src/identity/dev-provider/dev-provider.ts'
import { SILENT } from '../../src/telemetry/log.ts'
import { post, type ReadResponse, read, shownFaults } from '../fixtures/deployment.ts'
import { type GatewayProcess, startGatewayProcess } from '../fixtures/gateway-process.ts'
import { startOwnTime } from '../fixtures/own-time.ts'
import { RedisServer, SKIPPED_HINT, withoutRedis } from '../fixtures/redis-server.ts'
import { passMidnight } from '../fixtures/same-day.ts'
import { clientToken } from '../fixtures/tokens.ts'

const CALL = { name: 'shop_listProducts', arguments: {} }

describe.skipIf(withoutRedis)(`two gateways on one Redis${SKIPPED_HINT}`, () => {
  let server: RedisServer
  let one: GatewayProcess
  let two: GatewayProcess
  let provider: DevProvider
  let dir: string
  let admin: string
  let caller: string
  let wide: string

  beforeAll(async () => {
    await passMidnight(90_000)
    server = await RedisServer.start()
    dir = mkdtempSync(join(tmpdir(), 'quota-gateways-'))
    writeFileSync(
      join(dir, 'plans.yaml'),
      JSON.stringify({
        plans: { tiny: { perDay: 6, perMonth: 100 }, wide: { perDay: 5000, perSecond: 50 } },
        consumers: { tiny: 'tiny', wide: 'wide' },
      }),
    )
    provider = await startDevProvider({ host: '127.0.0.1', port: 0, dataDir: join(dir, 'idp'), log: SILENT })
    const common = {
      REDIS_URL: server.url,
      PLANS: join(dir, 'plans.yaml'),
      // so long that only an order of an administrator can make a listing fresh
      QUOTA_STATS_TTL: '5m',
      AUTH_ISSUER: provider.issuer,
    }
    ;[one, two] = await Promise.all([
      startGatewayProcess({ ...common, GATEWAY_NAME: 'one' }),
      startGatewayProcess({ ...common, GATEWAY_NAME: 'two' }),
    ])
    const jwks = JSON.parse(readFileSync(join(dir, 'idp', 'dev-identity', 'jwks.json'), 'utf8')) as {
      keys: JWK[]
    }
    admin = await clientToken(provider.issuer, 'demo-admin')
    caller = await token('tiny', jwks.keys[0]!)
    wide = await token('wide', jwks.keys[0]!)
  }, 120_000)
  afterAll(async () => {
    await Promise.all([one?.stop(), two?.stop()])
    await provider?.close()
    await server?.stop()
    if (dir !== undefined) rmSync(dir, { recursive: true, force: true })
  })

  async function token(consumer: string, jwk: JWK): Promise<string> {
    return new SignJWT({ azp: consumer, tenant_id: 'acme', scope: 'platform:read platform:execute' })
      .setProtectedHeader({ alg: 'RS256', kid: jwk.kid! })
      .setIssuer(provider.issuer)
      .setSubject(consumer)
      .setAudience('platform-mcp-gateway')
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(await importJWK(jwk, 'RS256'))
  }

  const call = (gateway: GatewayProcess, bearer = caller): Promise<ReadResponse> =>
    post(`${gateway.url}/mcp/v1/tools/invoke`, CALL, bearer)
  const order = (gateway: GatewayProcess, path: string) => post(`${gateway.url}${path}`, '', admin)
  const listed = async (gateway: GatewayProcess, consumer: string) =>
    (await read(await fetch(`${gateway.url}/admin/quotas/${consumer}`, { headers: bearer(admin) }))).json
  const bearer = (of: string) => ({ authorization: `Bearer ${of}` })
  const health = async (gateway: GatewayProcess) =>
    (await read(await fetch(`${gateway.url}/mcp/health`))).json

  /** A busy machine may keep Redis from responding in time; such a call counts nothing and is asked again. */
  async function decided(gateway: GatewayProcess, of = caller): Promise<ReadResponse> {
    for (let attempt = 0; ; attempt++) {
      const response = await call(gateway, of)
      if (attempt === 20 || !/cannot be counted/.test(response.json.message ?? '')) return response
      await new Promise(resolve => setTimeout(resolve, 100))
    }
  }

  /** The last units may be held by the gateway that is not asked; it gives them back when it is quiet. */
  async function grantedOf(calls: number): Promise<number> {
    let granted = 0
    for (let i = 0; i < calls; i++) {
      if ((await decided(i % 2 === 0 ? one : two)).status === 200) granted++
      else await new Promise(resolve => setTimeout(resolve, 150))
    }
    return granted
  }

  test('a day is one day for both, and a reset at one frees the consumer at the other at once', async () => {
    expect(await grantedOf(12)).toBe(6)
    expect((await decided(one)).json.message).toBe(
      'Daily quota exceeded: 6/6 requests used. It resets at 00:00 UTC.',
    )
    expect(await listed(two, 'tiny')).toMatchObject({ daily_count: 6, daily_limit: 6, daily_remaining: 0 })
    // spent at both, and shown by each
    for (const gateway of [one, two])
      expect((await listed(gateway, 'tiny')).counters).toMatchObject([
        { tenant: 'acme', limits_known: true, minute: null, day: { count: 6, limit: 6 } },
      ])

    const reset = await order(one, '/admin/quotas/tiny/reset')
    expect(reset.json).toMatchObject({ daily_count: 0, monthly_count: 0 })
    // within twenty responses, which the other gateway sends as fast as the machine lets it
    let count = (await listed(two, 'tiny')).daily_count
    for (let looks = 20; count !== 0 && looks > 0; looks--) {
      await new Promise(resolve => setTimeout(resolve, 50))
      count = (await listed(two, 'tiny')).daily_count
    }
    expect(count).toBe(0)
    expect((await decided(two)).status).toBe(200)
    expect(await grantedOf(12)).toBe(5)
  }, 60_000)

  test('caches cleared at one are cleared at the other', async () => {
    await order(two, '/admin/cache/clear')
    expect((await decided(two, wide)).status).toBe(200)
    const { daily_count: before } = await listed(two, 'wide')
    expect(before).toBeGreaterThan(0)
    expect((await decided(two, wide)).status).toBe(200)
    // what was listed is in the cache
    expect((await listed(two, 'wide')).daily_count).toBe(before)
    expect((await order(one, '/admin/cache/clear')).json.status).toBe('ok')
    await expect.poll(async () => (await listed(two, 'wide')).daily_count).toBe(before + 1)
    // asked once, because this clears as well: of two tokens, that of the administrator has come again
    expect((await order(two, '/admin/cache/clear')).json.cleared).toMatchObject({
      tokens: 1,
      quota_statistics: 1,
    })
  }, 60_000)

  test('without Redis calls are still decided, health reports it, and both recover within five seconds', async () => {
    expect(await health(one)).toMatchObject({ status: 'healthy' })
    expect((await call(one, wide)).status).toBe(200)
    await server.kill()
    await expect.poll(async () => (await health(one)).status).toBe('degraded')
    expect((await health(one)).parts).toEqual(['quota'])
    expect(await shownFaults(one.url, admin)).toEqual({
      quota: expect.stringMatching(/quota store \(Redis in REDIS_URL\) is unavailable/),
    })
    await expect.poll(() => one.metrics()).toMatch(/^platform_quota_store_up 0$/m)
    for (let i = 0; i < 3; i++) expect([200, 429]).toContain((await call(two, wide)).status)
    await server.start()
    const sinceBackMs = startOwnTime()
    await expect.poll(async () => (await health(one)).status).toBe('healthy')
    await expect.poll(async () => (await call(two, wide)).status).toBe(200)
    expect(sinceBackMs()).toBeLessThan(5000)
  }, 60_000)
})
