/** A gateway loses its disk, and Redis its data. QUOTA_EMPTY_STORE=wait admits no call while earlier ones may count; `trust` begins again. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DevProvider, startDevProvider } from '../../src/identity/dev-provider/dev-provider.ts'
import { SILENT } from '../../src/telemetry/log.ts'
import { IS_LONG_CHECK } from '../fixtures/check.ts'
import { post } from '../fixtures/deployment.ts'
import { type GatewayProcess, startGatewayProcess } from '../fixtures/gateway-process.ts'
import { RedisServer, SKIPPED_HINT, withoutRedis } from '../fixtures/redis-server.ts'
import { signedToken } from '../fixtures/tokens.ts'

const LIMIT = 30
const CALL = { name: 'shop_listProducts', arguments: {} }
/** Longer than the longest lease and the rolling minute together. */
const CLOSED_MS = 72_000
/** `CHECK=long` also waits for the end of that time, and runs the test of `trust`. */

describe.skipIf(withoutRedis)(`a gateway with a Redis that lost its data${SKIPPED_HINT}`, () => {
  let server: RedisServer
  let provider: DevProvider
  let dir: string
  let token: string
  let gateway: GatewayProcess | undefined
  beforeAll(async () => {
    server = await RedisServer.start()
    dir = mkdtempSync(join(tmpdir(), 'quota-empty-'))
    writeFileSync(
      join(dir, 'plans.yaml'),
      JSON.stringify({ plans: { tiny: { perMinute: LIMIT } }, consumers: { tiny: 'tiny' } }),
    )
    const dataDir = join(dir, 'dev-provider')
    provider = await startDevProvider({ host: '127.0.0.1', port: 0, dataDir, log: SILENT })
    token = await signedToken(dir, provider.issuer, { id: 'tiny', tenant: 'acme' })
  }, 120_000)
  afterAll(async () => {
    await gateway?.stop()
    await provider?.close()
    await server?.stop()
    if (dir !== undefined) rmSync(dir, { recursive: true, force: true })
  })

  /** A gateway whose directory is empty, as after the loss of its disk. */
  async function start(emptyStore: 'trust' | 'wait'): Promise<void> {
    gateway = await startGatewayProcess({
      REDIS_URL: server.url,
      PLANS: join(dir, 'plans.yaml'),
      AUTH_ISSUER: provider.issuer,
      QUOTA_EMPTY_STORE: emptyStore,
    })
  }
  /** Ends the process, removes its directory, and restarts Redis without data. */
  async function loseAll(): Promise<void> {
    await gateway!.kill()
    await server.kill()
    await server.start()
  }
  const call = () => post(`${gateway!.url}/mcp/v1/tools/invoke`, CALL, token)

  /** @returns how many calls were admitted */
  async function callUntil(endMs: number): Promise<number> {
    let admitted = 0
    for (; performance.now() < endMs; await sleep(10)) if ((await call()).status === 200) admitted++
    return admitted
  }

  /** Spends the limit of a deployment that is new. @returns when the last call was admitted, in ms of `performance.now` */
  async function spend(): Promise<number> {
    let admitted = 0
    let lastMs = 0
    await expect
      .poll(
        async () => {
          const { status } = await call()
          if (status === 200) {
            admitted++
            lastMs = performance.now()
          }
          return admitted
        },
        { timeout: 30_000, interval: 5 },
      )
      .toBe(LIMIT)
    return lastMs
  }

  test('and lost its own disk admits nothing while the calls of before may count', async () => {
    await start('trust')
    const spentMs = await spend()
    await loseAll()
    await start('wait')
    const response = await call()
    expect(response.status).toBe(429)
    expect(response.json.message).toMatch(/cannot be counted/)
    const endMs = IS_LONG_CHECK ? spentMs + 60_000 : performance.now() + 3_000
    expect(await callUntil(endMs)).toBe(0)
    if (!IS_LONG_CHECK) return
    await expect.poll(async () => (await call()).status, { timeout: CLOSED_MS, interval: 100 }).toBe(200)
  }, 240_000)

  test.runIf(IS_LONG_CHECK)(
    'admits the limit again where an empty Redis is trusted',
    async () => {
      await loseAll()
      await start('trust')
      await spend()
    },
    120_000,
  )
})
