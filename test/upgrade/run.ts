/** An upgrade under load: old planes are replaced one by one on one PostgreSQL and one Redis, and one gateway goes back. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startDevProvider } from '../../src/identity/dev-provider/dev-provider.ts'
import { SILENT } from '../../src/telemetry/log.ts'
import { startCluster } from '../contract/store/postgres-cluster.ts'
import { built } from '../fixtures/built.ts'
import { read } from '../fixtures/deployment.ts'
import { startFixedBackend } from '../fixtures/fixed-backend.ts'
import { freePorts } from '../fixtures/free-ports.ts'
import { controlPlaneEnv, gatewayEnv, publishApi, ServeProcess } from '../fixtures/planes.ts'
import { RedisServer } from '../fixtures/redis-server.ts'
import { clientToken } from '../fixtures/tokens.ts'
import { startWatchedBalancer } from '../fixtures/watched-balancer.ts'

const CALL_EVERY_MS = 10
const MAX_WAIT_MS = 30_000
/** More than the time in which the load balancer notices a failed probe. */
const SHUTDOWN_DELAY = '5s'

export interface UpgradeResult {
  /** The first 20; empty when every call was served. A change that does not arrive fails the run. */
  readonly findings: readonly string[]
  readonly calls: number
  /** Versions of the planes, and milliseconds until both gateways served an API created in this step. */
  readonly steps: readonly { readonly name: string; readonly propagationMs: number }[]
}

/** What a run has started: all of it is ended, whatever fails. */
interface Started {
  readonly dir: string
  readonly members: ServeProcess[]
  readonly closers: (() => Promise<unknown>)[]
}

/**
 * @param from folder of the built old version, with its node_modules
 * @throws Error with everything that failed, also while the planes and servers were ended
 */
export async function runUpgrade(
  from: string,
  progress: (line: string) => void = () => {},
): Promise<UpgradeResult> {
  const dir = mkdtempSync(join(tmpdir(), 'toolgate-upgrade-'))
  const started: Started = { dir, members: [], closers: [] }
  const [result] = await Promise.allSettled([upgrade(started, from, progress)])
  const ended = await Promise.allSettled(started.members.map(each => each?.end('SIGTERM')))
  const closed = await Promise.allSettled(started.closers.map(close => close()))
  rmSync(dir, { recursive: true, force: true })
  const failures = [result, ...ended, ...closed].flatMap(each =>
    each.status === 'rejected' ? [each.reason as Error] : [],
  )
  if (result.status === 'fulfilled' && failures.length === 0) return result.value
  throw new AggregateError(failures, failures.map(({ stack }) => stack).join('\n'))
}

/** Has a server ended with the run, also when another one fails while this one starts. */
function closeLater<T>(
  { closers }: Started,
  starting: Promise<T>,
  close: (server: T) => unknown,
): Promise<T> {
  closers.push(async () => {
    const server = await starting.catch(() => undefined)
    if (server !== undefined) await close(server)
  })
  return starting
}

async function upgrade(
  started: Started,
  from: string,
  progress: (line: string) => void,
): Promise<UpgradeResult> {
  const { dir, members } = started
  const programs = { old: join(from, 'dist/cli/index.js'), new: built('cli/index.js') }
  const [cluster, redis, backend, provider] = await Promise.all([
    closeLater(started, startCluster(), server => server.stop()),
    closeLater(started, RedisServer.start(), server => server.stop()),
    closeLater(started, startFixedBackend('served'), server => server.close()),
    closeLater(
      started,
      startDevProvider({ host: '127.0.0.1', port: 0, dataDir: join(dir, 'provider'), log: SILENT }),
      server => server.close(),
    ),
  ])
  const ports = await freePorts(4)
  const urls = ports.map(port => `http://127.0.0.1:${port}`)
  const [api, gateway] = await Promise.all([
    closeLater(started, startWatchedBalancer(urls.slice(0, 2), '/ready'), server => server.close()),
    closeLater(started, startWatchedBalancer(urls.slice(2), '/mcp/health'), server => server.close()),
  ])
  const databaseUrl = await cluster.database('upgrade')
  const common = {
    AUTH_ISSUER: provider.issuer,
    METRICS_PORT: '0',
    GATEWAY_URL: gateway.url,
    REDIS_URL: redis.url,
    SHUTDOWN_DELAY,
    WORKERS: '1',
  }
  const settings = ports.map((port, at) => ({
    ...common,
    ...(at < 2 ? controlPlaneEnv(port, databaseUrl, dir) : gatewayEnv(port, api.url, dir)),
  }))
  const findings: string[] = []
  const steps: { name: string; propagationMs: number }[] = []
  let calls = 0
  let isOver = false

  async function start(at: number, version: keyof typeof programs): Promise<void> {
    const member = new ServeProcess(settings[at]!, undefined, programs[version])
    members[at] = member
    await member.start()
  }

  async function replace(at: number, version: keyof typeof programs): Promise<void> {
    await members[at]!.end('SIGTERM')
    await start(at, version)
    await eventually('both planes are ready', () => api.healthy.length === 2 && gateway.healthy.length === 2)
  }

  async function eventually(what: string, test: () => boolean | Promise<boolean>): Promise<number> {
    const startedAt = performance.now()
    while (!(await test())) {
      if (performance.now() - startedAt > MAX_WAIT_MS) throw new Error(`not within 30 s: ${what}`)
      await sleep(20)
    }
    return performance.now() - startedAt
  }

  const status = async (url: string, key: string): Promise<number> => {
    const response = await fetch(url, { headers: { 'x-api-key': key } })
    await response.arrayBuffer()
    return response.status
  }

  await Promise.all(settings.map((_, at) => start(at, 'old')))
  await eventually('both planes are ready', () => api.healthy.length === 2 && gateway.healthy.length === 2)
  const admin = await clientToken(provider.issuer, 'demo-admin')
  /** @param at index of the control plane that gets the call */
  const callApi = (at: number) => async (method: string, path: string, body?: unknown) =>
    read(
      await fetch(`${urls[at]}/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    )
  /** Publishes an API through one control plane and waits until both gateways serve it. */
  async function publish(name: string, control: number) {
    const { key } = await publishApi({ api: callApi(control) }, name, backend.url)
    const isServed = async () => {
      const statuses = await Promise.all(urls.slice(2).map(url => status(`${url}/t/${name}/echo`, key)))
      return statuses.every(each => each === 200)
    }
    return { key, tookMs: await eventually(`both gateways serve the API of ${name}`, isServed) }
  }
  const { key } = await publish('first', 0)
  async function load(): Promise<void> {
    for (; !isOver; await sleep(CALL_EVERY_MS)) {
      const found = await status(`${gateway.url}/t/first/echo`, key).catch((error: Error) =>
        String(error.cause ?? error),
      )
      calls++
      if (found !== 200) findings.push(`call ${calls} got ${found}`)
    }
  }
  const running = load()
  const plan: readonly (readonly [
    name: string,
    at: number,
    version: keyof typeof programs,
    control: number,
  ])[] = [
    ['one control plane new; a change at the old one', 0, 'new', 1],
    ['both control planes new, both gateways old', 1, 'new', 0],
    ['one gateway new', 2, 'new', 1],
    ['all new', 3, 'new', 0],
    ['one gateway old again', 2, 'old', 1],
  ]
  try {
    for (const [step, [name, at, version, control]] of plan.entries()) {
      await replace(at, version)
      const { tookMs } = await publish(`step-${step}`, control)
      steps.push({ name, propagationMs: Math.round(tookMs) })
      progress(
        `${name}: served by both gateways after ${Math.round(tookMs)} ms; ${calls} calls, ${findings.length} findings`,
      )
    }
  } finally {
    isOver = true
    await running
  }
  return { findings: findings.slice(0, 20), calls, steps }
}
