/**
 * Rolling restarts of 3 gateways and 2 control planes under load through load balancers that follow the health address, while PostgreSQL and
 * Redis fail over: no call of a gateway fails, a change may get 503 while PostgreSQL fails over, and no process exits by itself.
 * `ROLLING_ROUNDS=20` runs the long form.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type DevProvider, startDevProvider } from '../../src/identity/dev-provider/dev-provider.ts'
import { SILENT } from '../../src/telemetry/log.ts'
import { POSTGRES_HINT, run, WITHOUT_POSTGRES } from '../contract/store/postgres-cluster.ts'
import { sized } from '../fixtures/check.ts'
import { read } from '../fixtures/deployment.ts'
import { type FixedBackend, startFixedBackend } from '../fixtures/fixed-backend.ts'
import { freePorts } from '../fixtures/free-ports.ts'
import { controlPlaneEnv, gatewayEnv, type Published, publishApi, ServeProcess } from '../fixtures/planes.ts'
import { type PostgresPair, startPostgresPair } from '../fixtures/postgres-pair.ts'
import { hasRedis, REDIS_HINT } from '../fixtures/redis-server.ts'
import { clientToken } from '../fixtures/tokens.ts'
import { startWatchedBalancer, type WatchedBalancer } from '../fixtures/watched-balancer.ts'
import { startSentinels, type Topology } from '../services/redis/topologies.ts'

const ROUNDS = Number(process.env.ROLLING_ROUNDS ?? sized(1, 5))
const CALLS_PER_SECOND = sized(150, 300)
const MAX_IN_FLIGHT = 32
const TICK_MS = 10
/** More than the time in which the load balancer notices a failed probe, also on a busy machine. */
const SHUTDOWN_DELAY = '5s'
const SOON = { timeout: 180_000, interval: 50 }
/** One round takes about 20 s on a quiet machine with two processors. */
const ROUND_TIMEOUT_MS = 420_000

describe.skipIf(WITHOUT_POSTGRES || !hasRedis())(`rolling restarts${POSTGRES_HINT} (${REDIS_HINT})`, () => {
  let dataDir: string
  let postgres: PostgresPair
  let redis: Topology
  let provider: DevProvider
  let backend: FixedBackend
  let gateways: readonly ServeProcess[] = []
  let controls: readonly ServeProcess[] = []
  let calls: WatchedBalancer
  let api: WatchedBalancer
  let published: Published
  let admin: string

  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'toolgate-rolling-'))
    ;[postgres, redis, backend, provider] = await Promise.all([
      startPostgresPair('rolling'),
      startSentinels(join(dataDir, 'redis')),
      startFixedBackend('served'),
      startDevProvider({ host: '127.0.0.1', port: 0, dataDir: join(dataDir, 'provider'), log: SILENT }),
    ])
    const ports = await freePorts(5)
    const [apiPorts, gatewayPorts] = [ports.slice(0, 2), ports.slice(2)]
    const urls = (each: readonly number[]) => each.map(port => `http://127.0.0.1:${port}`)
    api = await startWatchedBalancer(urls(apiPorts), '/ready')
    calls = await startWatchedBalancer(urls(gatewayPorts), '/mcp/health')
    const common = {
      AUTH_ISSUER: provider.issuer,
      METRICS_PORT: '0',
      GATEWAY_URL: calls.url,
      ...redis.env,
      SHUTDOWN_DELAY,
      WORKERS: '1',
    }
    controls = apiPorts.map(
      port => new ServeProcess({ ...common, ...controlPlaneEnv(port, postgres.url, dataDir) }),
    )
    gateways = gatewayPorts.map(
      port => new ServeProcess({ ...common, ...gatewayEnv(port, api.url, dataDir) }),
    )
    await Promise.all([...controls, ...gateways].map(each => each.start()))
    admin = await clientToken(provider.issuer, 'demo-admin')
    await vi.waitFor(() => expect([api.healthy.length, calls.healthy.length]).toEqual([2, 3]), SOON)
    published = await publishApi({ api: callApi }, 'rolling', backend.url)
    await vi.waitFor(async () => {
      // every gateway serves it
      for (const { addresses } of gateways) expect(addresses.gateway_url).toBe(calls.url)
      for (const port of gatewayPorts) expect(await call(`http://127.0.0.1:${port}`)).toBe(200)
    }, SOON)
  }, 300_000)

  afterAll(async () => {
    await Promise.all([...gateways, ...controls].map(each => each.end('SIGKILL')))
    await Promise.all([calls?.close(), api?.close(), provider?.close(), redis?.stop(), postgres?.stop()])
    backend?.close()
    rmSync(dataDir, { recursive: true, force: true })
  })

  async function call(gateway: string): Promise<number> {
    const response = await fetch(`${gateway}/t/rolling/echo`, { headers: { 'x-api-key': published.key } })
    await response.arrayBuffer()
    return response.status
  }

  /** In the first step of a round PostgreSQL fails, in the second one Redis, each way in turn. */
  async function failOver(round: number, step: number): Promise<void> {
    const isEven = round % 2 === 0
    if (step === 0) await postgres.failOver(isEven ? 'killed' : 'lost')
    if (step === 1) await redis.failOver!(isEven ? 'killed' : 'hung')
  }

  async function callApi(method: string, path: string, body?: unknown) {
    const response = await fetch(`${api.url}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return read(response)
  }

  it(
    `${ROUNDS} rounds with failovers at ${CALLS_PER_SECOND} calls/s: no call fails`,
    async () => {
      let isOver = false
      let isDatabaseFailing = false
      const failed: { readonly of: string; readonly status: number; readonly body: string }[] = []
      let served = 0
      async function load(): Promise<void> {
        const inFlight = new Set<Promise<void>>()
        const startedAt = performance.now()
        for (let due = 0; !isOver; await sleep(TICK_MS)) {
          for (; due < ((performance.now() - startedAt) / 1_000) * CALLS_PER_SECOND; due++) {
            // a machine that is too busy for the rate gets a lower one, not a queue
            if (inFlight.size >= MAX_IN_FLIGHT) continue
            const calling = call(calls.url).then(
              status => {
                served++
                if (status !== 200) failed.push({ of: 'gateway', status, body: '' })
              },
              (error: Error) => {
                failed.push({ of: 'gateway', status: 0, body: String(error.cause ?? error) })
              },
            )
            inFlight.add(calling)
            void calling.then(() => inFlight.delete(calling))
          }
        }
        await Promise.all(inFlight)
      }
      let acknowledged = -1
      let refused = 0
      async function changes(): Promise<void> {
        for (let at = 0; !isOver; at++) {
          const isExpected = isDatabaseFailing
          const changed = await callApi('PATCH', `/tenants/${published.tenantId}`, {
            admin_email: `change-${at}@example.com`,
          }).catch((error: Error) => ({ status: 0, text: String(error.cause ?? error) }))
          if (changed.status === 200) acknowledged = at
          else if (changed.status === 503 && (isExpected || isDatabaseFailing)) refused++
          else failed.push({ of: 'control plane', status: changed.status, body: changed.text })
          await sleep(200)
        }
      }
      const running = Promise.all([load(), changes()])
      try {
        for (let round = 0; round < ROUNDS; round++) {
          // a gateway and a control plane at a time
          for (const [at, gateway] of gateways.entries()) {
            const restarted = [gateway, ...controls.slice(at, at + 1)]
            for (const each of restarted) expect(each.running, `step ${at} of round ${round}`).toBe(true)
            isDatabaseFailing = at === 0
            await Promise.all([
              failOver(round, at),
              ...restarted.map(async each => {
                await each.end('SIGTERM')
                await each.start()
              }),
            ])
            // as an orchestrator does: the next ones only when these are ready
            await expect.poll(() => [calls.healthy.length, api.healthy.length], SOON).toEqual([3, 2])
            isDatabaseFailing = false
            for (const each of [...gateways, ...controls]) expect(each.running).toBe(true)
            console.log(
              `round ${round + 1}, step ${at + 1}: ${served} calls, ${failed.length} failed, ${refused} changes got 503 during a failover of PostgreSQL`,
            )
          }
        }
      } finally {
        isOver = true
      }
      await running
      expect(failed.slice(0, 10)).toEqual([])
      expect(failed.length).toBe(0)
      expect(served).toBeGreaterThan(ROUNDS * CALLS_PER_SECOND)
      const [tenant] = await run(
        postgres.url,
        `select admin_email from tenants where id = '${published.tenantId}'`,
      )
      expect(Number(/\d+/.exec(String(tenant!.admin_email))?.[0])).toBeGreaterThanOrEqual(acknowledged)
      console.log(
        `${ROUNDS} rounds, ${ROUNDS} failovers of PostgreSQL and of Redis each: ${served} calls, none failed; ${acknowledged + 1} changes, ${refused} of them got 503`,
      )
    },
    ROUNDS * ROUND_TIMEOUT_MS,
  )
})
