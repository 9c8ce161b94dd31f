/** The deployment of a chaos run: gateways and control planes as processes, real PostgreSQL, Redis and Kafka, a provider, and the links that break between them. */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startDevProvider } from '../../src/identity/dev-provider/dev-provider.ts'
import { SILENT } from '../../src/telemetry/log.ts'
import { type Cluster, startCluster } from '../contract/store/postgres-cluster.ts'
import { type FaultyLink, startFaultyLink } from '../fixtures/faulty-link.ts'
import { freePorts } from '../fixtures/free-ports.ts'
import { ServeProcess } from '../fixtures/planes.ts'
import { SHIPPED } from '../fixtures/policy/inputs.ts'
import { RedisServer } from '../fixtures/redis-server.ts'
import { clientToken, signedToken } from '../fixtures/tokens.ts'
import { KafkaServer } from '../services/kafka/kafka-server.ts'
import { type Backend, now, startBackend } from './backend.ts'
import { startBalancer } from './balancer.ts'

/** The tenant of all fixed consumers. */
export const TENANT = 'alpha'
const TOPIC = 'chaos.metering'
/** Longer than a run may last. */
const TOKEN_LIFETIME = '2h'

/** From the signal to the ready line; `untilAt` is Infinity while it lasts. */
export interface Downtime {
  readonly fromAt: number
  untilAt: number
}

/** A process that the run may end. */
export interface Member {
  readonly name: string
  readonly url: string
  readonly process: ServeProcess
  readonly downtimes: Downtime[]
  up: boolean
}

export interface System {
  readonly gateways: readonly Member[]
  readonly controls: readonly Member[]
  /** `main` is behind every API and tool but one, `side` behind that one. */
  readonly backends: { readonly main: Backend; readonly side: Backend }
  readonly redis: RedisServer
  readonly postgres: Cluster
  readonly databaseUrl: string
  readonly kafka: KafkaServer
  readonly topic: string
  /** Every process reaches the named dependency through its link. */
  readonly links: {
    readonly redis: FaultyLink
    readonly postgres: FaultyLink
    readonly provider: FaultyLink
    /** From each gateway to the control planes. */
    readonly control: readonly FaultyLink[]
  }
  readonly policyFile: string
  readonly adminToken: string
  /** Token of any consumer of the tenant. */
  tokenOf(consumer: string): Promise<string>
  stop(): Promise<void>
}

export interface SystemSize {
  readonly gateways: number
  readonly controls: number
  readonly dir: string
  /** Consumers of tools, without a limit. */
  readonly agents: readonly string[]
}

export async function startSystem(size: SystemSize): Promise<System> {
  const { dir } = size
  const closers: (() => unknown)[] = []
  const opened = <T>(what: T, close: (what: T) => unknown): T => {
    closers.unshift(() => close(what))
    return what
  }
  const stop = async (): Promise<void> => {
    for (const close of closers.splice(0)) await close()
  }
  try {
    return { ...(await assemble(size, dir, opened)), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function assemble(
  size: SystemSize,
  dir: string,
  opened: <T>(what: T, close: (what: T) => unknown) => T,
): Promise<Omit<System, 'stop'>> {
  const [main, side] = await Promise.all([startBackend('main'), startBackend('side')])
  opened([main, side], both => {
    for (const backend of both) backend.close()
  })
  const [postgres, redis, kafka] = await Promise.all([
    startCluster().then(started => opened(started, cluster => cluster.stop())),
    RedisServer.start().then(started => opened(started, server => server.stop())),
    KafkaServer.start().then(started => opened(started, server => server.stop())),
  ])
  const databaseUrl = await postgres.database('chaos')
  const linkTo = async (target: string): Promise<FaultyLink> =>
    opened(await startFaultyLink(target), link => link.close())
  const ports = await freePorts(size.gateways + size.controls + 1)
  const providerPort = ports.pop()!
  const controlPorts = ports.splice(0, size.controls)
  const [redisLink, postgresLink, providerLink] = await Promise.all([
    linkTo(redis.url),
    linkTo(databaseUrl),
    linkTo(`http://127.0.0.1:${providerPort}`),
  ])
  const provider = await startDevProvider({
    host: '127.0.0.1',
    port: providerPort,
    publicUrl: providerLink.url,
    dataDir: join(dir, 'dev-provider'),
    log: SILENT,
  })
  opened(provider, running => running.close())
  const balancer = opened(await startBalancer(controlPorts), running => running.close())
  const controlLinks = await Promise.all(Array.from({ length: size.gateways }, () => linkTo(balancer.url)))

  const policyFile = join(dir, 'bundle.tar.gz')
  copyFileSync(SHIPPED, policyFile)
  const toolsets = join(dir, 'toolsets')
  mkdirSync(toolsets)
  writeFileSync(join(toolsets, 'chaos.yaml'), toolSet(main.url))
  const plans = join(dir, 'plans.yaml')
  writeFileSync(
    plans,
    JSON.stringify({
      plans: { free: { name: 'Free' } },
      consumers: Object.fromEntries([...size.agents, 'demo-admin'].map(agent => [agent, 'free'])),
    }),
  )
  const common = {
    AUTH_ISSUER: provider.issuer,
    METRICS_PORT: '0',
    WORKERS: '1',
    LOG_LEVEL: 'warn',
    POLICY_BUNDLE: policyFile,
    POLICY_POLL: '1s',
    DECISION_LOG: 'off',
    KAFKA_BROKERS: kafka.brokers,
    METERING_TOPIC: TOPIC,
    METERING_ENABLED: 'true',
    TOOLSETS: toolsets,
    PLANS: plans,
  }
  const member = (name: string, port: number, env: Record<string, string>): Member => {
    const settings = { ...common, ...env, DATA_DIR: join(dir, name) }
    const process = new ServeProcess(settings, join(dir, `${name}.log`))
    return { name, url: `http://127.0.0.1:${port}`, process, downtimes: [], up: false }
  }
  const controls = controlPorts.map((port, at) =>
    member(`control-${at}`, port, {
      ROLE: 'control-plane',
      API_PORT: String(port),
      GATEWAY_URL: 'http://gateway.example',
      DATABASE_URL: databaseUrl.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${postgresLink.port}`),
      SECRETS_KEY: 'a-key-that-both-control-planes-have-in-common',
    }),
  )
  const gateways = ports.map((port, at) =>
    member(`gateway-${at}`, port, {
      ROLE: 'gateway',
      CONTROL_PLANE_URL: controlLinks[at]!.url,
      GATEWAY_CLIENT_ID: 'gateway',
      GATEWAY_CLIENT_SECRET: 'gateway-secret',
      GATEWAY_NAME: `gateway-${at}`,
      GATEWAY_PORT: String(port),
      // one of them with several threads
      WORKERS: at === 0 ? '2' : '1',
      REDIS_URL: `redis://127.0.0.1:${redisLink.port}`,
      SSE_LIMITER_ENABLED: 'false',
      EXAMPLE: 'false',
    }),
  )
  const all = [...controls, ...gateways]
  opened(all, members => Promise.all(members.map(one => one.process.end('SIGTERM'))))
  // the first one creates the tables
  for (const control of controls) await startMember(control)
  await Promise.all(gateways.map(startMember))
  return {
    gateways,
    controls,
    backends: { main, side },
    redis,
    postgres,
    databaseUrl,
    kafka,
    topic: TOPIC,
    links: { redis: redisLink, postgres: postgresLink, provider: providerLink, control: controlLinks },
    policyFile,
    adminToken: await clientToken(provider.issuer, 'demo-admin'),
    tokenOf: id => signedToken(dir, provider.issuer, { id, tenant: TENANT }, TOKEN_LIFETIME),
  }
}

/** Resolves when the process is ready. */
export async function startMember(member: Member): Promise<void> {
  await member.process.start()
  const downtime = member.downtimes.at(-1)
  if (downtime !== undefined) downtime.untilAt = now()
  member.up = true
}

export async function endMember(member: Member, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  registerDown(member)
  await member.process.end(signal)
}

export function registerDown(member: Member): void {
  member.up = false
  member.downtimes.push({ fromAt: now(), untilAt: Number.POSITIVE_INFINITY })
}

function toolSet(baseUrl: string): string {
  const operation = (operationId: string) => ({
    get: {
      operationId,
      summary: 'One item.',
      parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
      responses: { 200: { description: 'The item.' } },
    },
  })
  const document = {
    openapi: '3.1.0',
    info: { title: 'Chaos', version: '1' },
    paths: { '/items/{id}': operation('getItem') },
  }
  return JSON.stringify({
    apiVersion: 'toolgate.dev/v1alpha1',
    kind: 'ToolSet',
    metadata: { name: 'chaos', namespace: 'platform' },
    spec: {
      displayName: 'Chaos',
      baseURL: baseUrl,
      toolDefaults: { timeout: '20s' },
      naming: { prefix: 'chaos_' },
      openAPISpec: { inline: JSON.stringify(document) },
    },
  })
}
