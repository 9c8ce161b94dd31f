/** Deployments of Redis as providers offer them, from real processes on loopback: TLS with an ACL user, sentinels, a cluster. No assertions. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis, type RedisOptions } from 'ioredis'
import { Authority } from '../../fixtures/certificates.ts'
import { freePort } from '../../fixtures/free-ports.ts'

export const PASSWORD = 'p@ss/word:1'
/** As `docs/reference/settings.md` names it. */
const ACL = '~toolgate:* &toolgate:* +@read +@write +@scripting +@pubsub +@connection +info +time'

/** How long a master that failed over stays down. */
const RETURN_MS = 3_000

export interface Topology {
  /** Settings that connect to it. */
  readonly env: Readonly<Record<string, string>>
  /** Ends a server that holds counts: it is restarted without data, or its replica takes over. */
  fail(): Promise<void>
  /** Ends the master, or stops it with open connections; resolves when another one is master and the old one its replica. Only with sentinels. */
  failOver?(how: 'killed' | 'hung'): Promise<void>
  /** Moves a part of the data to another server while it is used; only in a cluster. */
  move?(): Promise<void>
  stop(): Promise<void>
}

type Options = Omit<RedisOptions, 'replyMapping'>

class Processes {
  readonly #children = new Map<number, ChildProcess>()
  readonly #dir: string

  constructor(dir: string) {
    this.#dir = dir
  }

  /** Resolves when the server responds. @param sentinel with this configuration */
  async start(
    port: number,
    options: readonly string[],
    client: Options = {},
    sentinel?: string,
  ): Promise<void> {
    const dir = join(this.#dir, String(port))
    mkdirSync(dir, { recursive: true })
    const file = join(dir, 'redis.conf')
    if (sentinel !== undefined) writeFileSync(file, sentinel)
    const first = sentinel === undefined ? [] : [file, '--sentinel']
    const args = [...first, '--bind', '127.0.0.1', '--dir', dir]
    if (sentinel === undefined) args.push('--save', '', '--appendonly', 'no', ...options)
    else args.push('--port', String(port), ...options)
    this.#children.set(port, spawn('redis-server', args, { stdio: 'ignore' }))
    for (const until = Date.now() + 20_000; ; await sleep(30))
      try {
        await command(port, redis => redis.ping(), client)
        return
      } catch (error) {
        if (Date.now() > until) throw error
      }
  }

  /** Stops the process; its connections stay open. */
  suspend(port: number): void {
    this.#children.get(port)?.kill('SIGSTOP')
  }

  async kill(port: number): Promise<void> {
    const child = this.#children.get(port)
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise(resolve => child.once('exit', resolve))
    child.kill('SIGKILL')
    await gone
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#children.keys()].map(port => this.kill(port)))
  }
}

async function command<T>(
  port: number,
  run: (redis: Redis) => Promise<T>,
  options: Options = {},
): Promise<T> {
  const redis = new Redis({
    host: '127.0.0.1',
    port,
    lazyConnect: true,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    ...options,
  })
  redis.on('error', () => {})
  try {
    await redis.connect()
    return await run(redis)
  } finally {
    redis.disconnect()
  }
}

/** TLS with client certificates only, and a user that may do no more than the documented. */
export async function startEncrypted(dir: string): Promise<Topology> {
  const processes = new Processes(dir)
  const authority = new Authority(dir)
  const [server, client] = [authority.issue('server'), authority.issue('client')]
  const port = await freePort()
  const files = [
    '--tls-cert-file',
    server.cert,
    '--tls-key-file',
    server.key,
    '--tls-ca-cert-file',
    authority.ca,
  ]
  const options = [
    ...['--port', '0', '--tls-port', String(port), ...files],
    ...['--user', 'toolgate', 'on', `>${PASSWORD}`, ...ACL.split(' '), '--user', 'default', 'off'],
  ]
  const passwordFile = join(dir, 'redis-password')
  writeFileSync(passwordFile, `${PASSWORD}\n`)
  const tls = { rejectUnauthorized: false, ...readPair(client) }
  const start = () =>
    processes.start(port, options, { tls, username: 'toolgate', password: PASSWORD, enableReadyCheck: false })
  await start()
  return {
    env: {
      REDIS_URL: `rediss://toolgate@127.0.0.1:${port}`,
      REDIS_PASSWORD_FILE: passwordFile,
      REDIS_CA_FILE: authority.ca,
      REDIS_CERT_FILE: client.cert,
      REDIS_KEY_FILE: client.key,
    },
    async fail() {
      await processes.kill(port)
      await start()
    },
    stop: () => processes.stop(),
  }
}

function readPair({ cert, key }: { readonly cert: string; readonly key: string }) {
  return { cert: readFileSync(cert), key: readFileSync(key) }
}

/** A master with a password, a replica, and three sentinels with another one. */
export async function startSentinels(dir: string): Promise<Topology> {
  const processes = new Processes(dir)
  const [master, replica, ...sentinels] = await Promise.all(Array.from({ length: 5 }, freePort))
  const secret = ['--requirepass', PASSWORD, '--masterauth', PASSWORD]
  const client = { password: PASSWORD }
  await processes.start(master!, ['--port', String(master), ...secret], client)
  await processes.start(
    replica!,
    ['--port', String(replica), ...secret, '--replicaof', `127.0.0.1 ${master}`],
    client,
  )
  const configuration = `sentinel monitor main 127.0.0.1 ${master} 2
sentinel auth-pass main ${PASSWORD}
sentinel down-after-milliseconds main 800
sentinel failover-timeout main 5000
requirepass watching
sentinel sentinel-pass watching
`
  for (const port of sentinels) await processes.start(port, [], { password: 'watching' }, configuration)
  const until = Date.now() + 20_000
  const known = () =>
    command(sentinels[0]!, redis => redis.call('SENTINEL', 'CKQUORUM', 'main') as Promise<string>, {
      password: 'watching',
    }).catch(String)
  const follows = async (port: number) =>
    /master_link_status:up/.test(await command(port, redis => redis.info('replication'), client))
  const ready = async () => (await known()).startsWith('OK 3') && (await follows(replica!))
  while (!(await ready()) && Date.now() < until) await sleep(50)
  const masterOf = async (sentinel: number) => {
    const found = await command(
      sentinel,
      redis => redis.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'main') as Promise<[string, string]>,
      { password: 'watching' },
    )
    return Number(found[1])
  }
  return {
    env: {
      REDIS_MODE: 'sentinel',
      REDIS_URL: `redis://127.0.0.1:${sentinels[0]}`,
      REDIS_NODES: sentinels
        .slice(1)
        .map(port => `127.0.0.1:${port}`)
        .join(','),
      REDIS_MASTER: 'main',
      REDIS_PASSWORD: PASSWORD,
      REDIS_SENTINEL_PASSWORD: 'watching',
    },
    fail: () => processes.kill(master!),
    async failOver(how) {
      const failed = await masterOf(sentinels[0]!)
      const next = failed === master ? replica! : master!
      if (how === 'hung') processes.suspend(failed)
      else await processes.kill(failed)
      // of all sentinels: one that still holds the old server for the master would make it the master again
      const isMaster = async () => (await Promise.all(sentinels.map(masterOf))).every(port => port === next)
      await within30s('the sentinels make another server the master', isMaster)
      await processes.kill(failed)
      // a sentinel that has not yet read the new role of the new master would make the old one the master again, if it were back
      await sleep(RETURN_MS)
      const replicaOf = ['--replicaof', `127.0.0.1 ${next}`]
      await processes.start(failed, ['--port', String(failed), ...secret, ...replicaOf], client)
      await within30s('the old master follows the new one', () => follows(failed))
    },
    stop: () => processes.stop(),
  }
}

async function within30s(what: string, test: () => Promise<boolean>): Promise<void> {
  for (const until = Date.now() + 30_000; !(await test()); await sleep(50))
    if (Date.now() > until) throw new Error(`not within 30 s: ${what}`)
}

const SLOTS = 16_384

/** Three masters with a replica each. */
export async function startCluster(dir: string): Promise<Topology> {
  const processes = new Processes(dir)
  const ports = await freeClusterPorts(6)
  for (const port of ports)
    await processes.start(port, [
      ...['--port', String(port), '--cluster-enabled', 'yes', '--cluster-node-timeout', '1500'],
      ...['--cluster-replica-validity-factor', '0'],
    ])
  const [first, second] = ports as [number, number]
  const masters = ports.slice(0, 3)
  for (const [i, port] of masters.entries())
    await command(port, redis =>
      redis.call(
        'CLUSTER',
        'ADDSLOTSRANGE',
        String(Math.floor((SLOTS * i) / 3)),
        String(Math.floor((SLOTS * (i + 1)) / 3) - 1),
      ),
    )
  for (const [i, port] of ports.entries()) {
    await command(port, redis => redis.call('CLUSTER', 'SET-CONFIG-EPOCH', String(i + 1)))
    await command(port, redis => redis.call('CLUSTER', 'MEET', '127.0.0.1', String(first)))
  }
  let moved = 0
  const idOf = (port: number) => command(port, redis => redis.call('CLUSTER', 'MYID') as Promise<string>)
  const eventually = async (work: () => Promise<boolean>): Promise<void> => {
    for (const until = Date.now() + 30_000; !(await work().catch(() => false)) && Date.now() < until; )
      await sleep(50)
  }
  for (const [i, port] of ports.slice(3).entries()) {
    const master = await idOf(masters[i]!)
    await eventually(
      async () => (await command(port, redis => redis.call('CLUSTER', 'REPLICATE', master))) === 'OK',
    )
  }
  await eventually(async () => {
    for (const port of ports) {
      const info = await command(port, redis => redis.cluster('INFO') as Promise<string>)
      if (!info.includes('cluster_state:ok') || !info.includes('cluster_known_nodes:6')) return false
    }
    for (const port of ports.slice(3))
      if (!/master_link_status:up/.test(await command(port, redis => redis.info('replication')))) return false
    return true
  })
  return {
    env: {
      REDIS_MODE: 'cluster',
      REDIS_URL: `redis://127.0.0.1:${first}`,
      REDIS_NODES: ports
        .slice(1)
        .map(port => `127.0.0.1:${port}`)
        .join(','),
    },
    fail: () => processes.kill(first),
    async move() {
      const [from, to] = [second, masters[2]!]
      const [fromId, toId] = [await idOf(from), await idOf(to)]
      const shards = (await command(from, redis => redis.call('CLUSTER', 'SLOTS'))) as [
        number,
        number,
        [string, number],
      ][]
      const own = shards.filter(([, , [, port]]) => port === from)
      for (let bucket = 0; bucket < 8; bucket++) {
        const tag = `toolgate:quota:{toolgate:quota:${bucket}}`
        const slot = Number(await command(from, redis => redis.call('CLUSTER', 'KEYSLOT', tag)))
        if (!own.some(([first, last]) => slot >= first && slot <= last)) continue
        const set = (port: number, ...state: string[]) =>
          command(port, redis => redis.call('CLUSTER', 'SETSLOT', String(slot), ...state))
        await set(to, 'IMPORTING', fromId)
        await set(from, 'MIGRATING', toId)
        // one at a time: meanwhile the keys of a script are on two nodes
        for (;;) {
          const [key] = (await command(from, redis =>
            redis.call('CLUSTER', 'GETKEYSINSLOT', String(slot), '1'),
          )) as string[]
          if (key === undefined) break
          await command(from, redis => redis.migrate('127.0.0.1', to, key, 0, 5000))
        }
        for (const port of [to, from]) await set(port, 'NODE', toId)
        moved++
      }
      if (moved === 0) throw new Error('no bucket was on the node')
    },
    stop: () => processes.stop(),
  }
}

/** The nodes use these ports plus 10,000 among themselves. */
async function freeClusterPorts(count: number): Promise<number[]> {
  const ports: number[] = []
  for (let base = 20_000 + Math.floor(Math.random() * 20_000); ports.length < count; base++)
    if ((await isFree(base)) && (await isFree(base + 10_000))) ports.push(base)
  return ports
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  const free = await new Promise<boolean>(resolve => {
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => resolve(true))
  })
  await new Promise(resolve => server.close(resolve))
  return free
}
