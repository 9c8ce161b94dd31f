/** A link to Redis is reset, refused, delayed or hangs: the gateway serves meanwhile and gets signals again, and sessions end at both gateways. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type DevProvider, startDevProvider } from '../../src/identity/dev-provider/dev-provider.ts'
import { SILENT } from '../../src/telemetry/log.ts'
import { post, rpc } from '../fixtures/deployment.ts'
import { EventReader } from '../fixtures/event-stream.ts'
import { type FaultyLink, startFaultyLink } from '../fixtures/faulty-link.ts'
import { freePort } from '../fixtures/free-ports.ts'
import { type GatewayProcess, startGatewayProcess } from '../fixtures/gateway-process.ts'
import { hasRedis, REDIS_HINT, RedisServer } from '../fixtures/redis-server.ts'
import { clientToken } from '../fixtures/tokens.ts'

const CHANNELS = ['toolgate:session-signals', 'toolgate:quota:reset'] as const
const TENANT = { 'x-tenant-id': 'acme' }

describe.skipIf(!hasRedis())(`a link to Redis that fails and comes back (${REDIS_HINT})`, () => {
  const root = mkdtempSync(join(tmpdir(), 'outage-'))
  let redis: RedisServer
  let admin: Redis
  let provider: DevProvider
  let env: Record<string, string>
  let other: GatewayProcess
  let token: string

  beforeAll(async () => {
    const plans = join(root, 'plans.yaml')
    writeFileSync(plans, 'plans: { free: { name: Free } }\nconsumers: { demo-admin: free }\n')
    redis = await RedisServer.start()
    admin = new Redis(redis.url)
    provider = await startDevProvider({ host: '127.0.0.1', port: 0, dataDir: join(root, 'idp'), log: SILENT })
    env = {
      AUTH_ISSUER: provider.issuer,
      GATEWAY_URL: 'http://gateway.test',
      PLANS: plans,
      SSE_LIMITER_ENABLED: 'false',
    }
    other = await startGatewayProcess({
      ...env,
      REDIS_URL: redis.url,
      GATEWAY_NAME: 'other',
      GATEWAY_PORT: String(await freePort()),
    })
    token = await clientToken(provider.issuer, 'demo-admin')
  }, 300_000)
  afterAll(async () => {
    await other?.stop()
    await provider?.close()
    admin?.disconnect()
    await redis?.stop()
    rmSync(root, { recursive: true, force: true })
  })

  /** How many connections are subscribed to each channel, as Redis counts them. */
  const subscribed = async (): Promise<[number, number]> => {
    const counts = (await admin.pubsub('NUMSUB', ...CHANNELS)) as (string | number)[]
    return [Number(counts[1]), Number(counts[3])]
  }

  const listTools = (gateway: GatewayProcess) =>
    post(`${gateway.listenerUrl}/mcp`, rpc('tools/list'), token, TENANT)

  /** An HTTP+SSE stream at `gateway`; what it receives is collected. */
  async function openStream(gateway: GatewayProcess) {
    const response = await fetch(`${gateway.listenerUrl}/mcp`, {
      headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream', ...TENANT },
    })
    expect(response.status).toBe(200)
    const events = new EventReader(response)
    const address = (await events.message())!.data
    const received: unknown[] = []
    let ended = false
    const reading = (async () => {
      for (;;) {
        const event = await events.message(120_000)
        if (event === undefined) break
        received.push((JSON.parse(event.data) as { id?: unknown }).id)
      }
    })()
      .catch(() => {})
      .finally(() => {
        ended = true
      })
    return {
      address,
      session: new URL(address, 'http://gateway.test').searchParams.get('sessionId')!,
      received,
      ended: () => ended,
      async close() {
        await events.close()
        await reading
      },
    }
  }

  describe.each([1, 2])('with WORKERS=%i', workers => {
    let allSubscribed: [number, number]
    let link: FaultyLink
    let one: GatewayProcess

    beforeAll(async () => {
      const [sessions, quota] = await subscribed()
      // every thread has its own sessions; the quota store is held by the first one
      allSubscribed = [sessions + workers, quota + 1]
      link = await startFaultyLink(`redis://127.0.0.1:${redis.port}`)
      one = await startGatewayProcess({
        ...env,
        REDIS_URL: `redis://127.0.0.1:${link.port}`,
        WORKERS: String(workers),
        GATEWAY_NAME: `one-${workers}`,
        GATEWAY_PORT: String(await freePort()),
      })
    }, 300_000)
    afterAll(async () => {
      await one?.stop()
      await link?.close()
    })

    /** A request to the other gateway has its response on a stream of this one: the signal crossed over. */
    async function expectSignals(stream: Awaited<ReturnType<typeof openStream>>): Promise<void> {
      let asked = 0
      const before = stream.received.length
      await expect
        .poll(
          async () => {
            const body = { jsonrpc: '2.0', id: `ping-${asked++}`, method: 'ping' }
            await post(`${other.listenerUrl}${stream.address}`, body, token, TENANT)
            return stream.received.length
          },
          { timeout: 30_000, interval: 250 },
        )
        .toBeGreaterThan(before)
    }

    const faults: [string, () => void | Promise<void>, () => void | Promise<void>][] = [
      ['is reset', () => link.reset(), () => {}],
      ['is refused', () => link.refuse(), () => link.recover()],
      [
        'is reset, and the subscription is confirmed 200 ms late',
        () => {
          link.delay(200, 'subscribe')
          link.reset()
        },
        () => link.recover(),
      ],
      [
        'is reset, and the subscription is confirmed too late',
        () => {
          link.delay(4000, 'subscribe')
          link.reset()
        },
        () => link.recover(),
      ],
      ['delays every response by 200 ms', () => link.delay(200), () => link.recover()],
      [
        'is reset, and every response is delayed by 200 ms',
        () => {
          link.delay(200)
          link.reset()
        },
        () => link.recover(),
      ],
      ['hangs half-open', () => link.hang(), () => link.recover()],
    ]

    it.each(faults)(
      'the link %s',
      async (_, fail, recover) => {
        await expect.poll(subscribed, { timeout: 30_000 }).toEqual(allSubscribed)
        const stream = await openStream(one)
        await expectSignals(stream)

        await fail()
        for (let round = 0; round < 10; round++) {
          expect((await listTools(one)).status).toBe(200)
          await sleep(300)
        }
        expect(one.exited()).toBe(false)

        await recover()
        await expect.poll(subscribed, { timeout: 30_000 }).toEqual(allSubscribed)
        await expectSignals(stream)
        expect((await listTools(one)).status).toBe(200)
        expect(one.exited()).toBe(false)
        await stream.close()
      },
      120_000,
    )

    it('a session that the other gateway ended meanwhile ends here too', async () => {
      const stream = await openStream(one)
      await expectSignals(stream)
      await link.refuse()
      const end = async (): Promise<number> => {
        await fetch(`${other.listenerUrl}/mcp`, {
          method: 'DELETE',
          headers: { authorization: `Bearer ${token}`, 'mcp-session-id': stream.session, ...TENANT },
        })
        return admin.hexists(`toolgate:{s:${stream.session}}`, 'ended')
      }
      // the other gateway may time out on a machine with much else to do
      await expect.poll(end, { timeout: 30_000 }).toBe(1)
      await sleep(500)
      expect(stream.ended()).toBe(false)
      await link.recover()
      await expect.poll(stream.ended, { timeout: 30_000 }).toBe(true)
    }, 60_000)

    it('a session whose end cannot be stored lives on, and is ended by the next attempt', async () => {
      await expect.poll(subscribed, { timeout: 30_000 }).toEqual(allSubscribed)
      const created = await post(
        `${one.listenerUrl}/mcp`,
        rpc('initialize', {
          protocolVersion: '2025-06-18',
          capabilities: {},
          clientInfo: { name: 'test', version: '1' },
        }),
        token,
        TENANT,
      )
      const session = created.headers.get('mcp-session-id')!
      const headers = { authorization: `Bearer ${token}`, 'mcp-session-id': session, ...TENANT }
      const end = (): Promise<Response> => fetch(`${one.listenerUrl}/mcp`, { method: 'DELETE', headers })
      for (const fail of [() => link.refuse(), () => link.hang()]) {
        await fail()
        const refused = await end()
        expect(refused.status).toBe(503)
        expect(refused.headers.get('retry-after')).toBe('1')
        expect(await refused.text()).toContain('sessions_unavailable')
        await link.recover()
        await expect.poll(subscribed, { timeout: 30_000 }).toEqual(allSubscribed)
      }
      // on a machine with much else to do, a response of Redis may be late, also to the command that ended the session
      const statuses: number[] = []
      const ended = async (): Promise<number> => {
        const { status } = await end()
        statuses.push(status)
        return status
      }
      await expect.poll(ended, { timeout: 10_000 }).toBe(404)
      const confirmed = statuses.slice(0, -1).filter(status => status !== 503)
      expect([[200], []]).toContainEqual(confirmed)
    }, 120_000)
  })
})
