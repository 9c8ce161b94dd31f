/** Opens connections to Redis that have time-outs and reconnect by themselves. The only importer of ioredis. */
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { clientTlsOptions, presentText, type Renewable } from '../tls/client-tls.ts'
import { type RedisServers, type RedisTarget, serverOf } from './servers.ts'

/** For a cluster it has the same commands and events, but no pipelines; a script must keep to one slot. */
export type RedisConnection = Redis

type NodeOptions = Omit<RedisOptions, 'replyMapping'>

export interface ConnectionOptions {
  /** A command without a response fails after so long. */
  readonly commandTimeoutMs: number
  /** Bounds of the wait before the next attempt to connect. */
  readonly firstRetryMs: number
  readonly maxRetryMs: number
  /** What the library reports, once for every attempt. */
  readonly onError: (error: Error) => void
}

const CONNECT_TIMEOUT_MS = 200
/** With TLS there are two more round trips, and signatures to verify; in a cluster no command waits for a connection. */
const LONG_CONNECT_TIMEOUT_MS = 1_000
/** Node timeout of what the library sends to a node by itself, such as the request for the slots. */
const NODE_TIMEOUT_MS = 1_000
/** How long a close waits for the server's side; the next attempt to connect begins after it. */
const CLOSE_TIMEOUT_MS = 200
/** A connection that has been silent for so long while a response is pending is half-open (RFC 9293 §3.5.1), and is replaced. */
const SILENCE_TIMEOUT_MS = 1_000
/** A sentinel that does not respond is skipped. */
const SENTINEL_TIMEOUT_MS = 500
const SLOTS_REFRESH_MS = 5_000
const MAX_REDIRECTIONS = 3

/** No call waits for signals, so a subscription may take longer than a command of a call. */
export const SUBSCRIBER_COMMAND_TIMEOUT_MS = 1_000

/** Connects in the background. The library's own defaults hold a command for over 25 s while the server is stalled. */
export function openConnection(target: RedisTarget, options: ConnectionOptions): RedisConnection {
  const servers = typeof target === 'string' ? serverOf(target) : target
  return servers.mode === 'cluster' ? openCluster(servers, options) : openSingle(servers, options)
}

/**
 * A connection for subscriptions. In a cluster it leads to one node, the next one after each loss: every node passes on every
 * message, and the library would move subscriptions between nodes without notice.
 */
export function openSubscriber(target: RedisTarget, options: ConnectionOptions): RedisConnection {
  const servers = typeof target === 'string' ? serverOf(target) : target
  return openSingle(servers, options)
}

function openSingle(servers: RedisServers, options: ConnectionOptions): RedisConnection {
  const { mode, nodes, sentinel, password } = servers
  const redis = new Redis({
    ...nodeOptions(servers, options),
    ...(mode === 'sentinel' ? sentinelOptions(servers, options) : nodes[0]),
    enableOfflineQueue: false,
    retryStrategy: retryAfter(options),
  })
  let losses = 0
  redis.on('reconnecting', () => {
    losses++
    if (password !== undefined) redis.options.password = presentText(password)
    if (sentinel?.password !== undefined) redis.options.sentinelPassword = presentText(sentinel.password)
    if (mode === 'cluster') Object.assign(redis.options, nodes[losses % nodes.length])
  })
  return startConnection(redis, options)
}

function openCluster(servers: RedisServers, options: ConnectionOptions): RedisConnection {
  const { nodes, password } = servers
  const { commandTimeoutMs } = options
  const cluster = new Cluster(
    nodes.map(node => ({ ...node })),
    {
      redisOptions: {
        ...nodeOptions(servers, { ...options, commandTimeoutMs: NODE_TIMEOUT_MS }),
        enableReadyCheck: false,
      },
      // a node that is not ready refuses the command
      enableReadyCheck: false,
      enableOfflineQueue: false,
      lazyConnect: true,
      clusterRetryStrategy: retryAfter(options),
      // a call does not wait for the end of a failover: its command fails, and the next one asks another node
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      retryDelayOnTryAgain: 0,
      maxRedirections: MAX_REDIRECTIONS,
      slotsRefreshTimeout: LONG_CONNECT_TIMEOUT_MS + NODE_TIMEOUT_MS,
      slotsRefreshInterval: SLOTS_REFRESH_MS,
      // the name is what a certificate is verified against
      dnsLookup: (address, callback) => callback(null, address),
    },
  )
  // with this time-out for the nodes, the library's own requests would fail while a node is busy
  const send = cluster.sendCommand.bind(cluster)
  cluster.sendCommand = (command, ...rest) => {
    command.setTimeout(commandTimeoutMs)
    return send(command, ...rest)
  }
  if (password !== undefined)
    cluster.on('+node', (node: Redis) => {
      node.options.password = presentText(password)
    })
  cluster.on('node error', (error: Error) => options.onError(error))
  // its commands and events are those of a single connection
  return startConnection(cluster as unknown as RedisConnection, options)
}

/** For each connection to a server. */
function nodeOptions(servers: RedisServers, { commandTimeoutMs }: ConnectionOptions): NodeOptions {
  const { database, username, password, tls, mode } = servers
  return {
    autoResendUnfulfilledCommands: false,
    // the library subscribes again with a promise that cannot be caught; `keepSubscribed` does it instead
    autoResubscribe: false,
    commandTimeout: commandTimeoutMs,
    socketTimeout: SILENCE_TIMEOUT_MS + commandTimeoutMs,
    maxRetriesPerRequest: 0,
    connectTimeout: tls === undefined && mode !== 'cluster' ? CONNECT_TIMEOUT_MS : LONG_CONNECT_TIMEOUT_MS,
    disconnectTimeout: CLOSE_TIMEOUT_MS,
    lazyConnect: true,
    // after a failover, the server of this connection may be a replica: a new connection leads to the master
    ...(mode === 'cluster' ? {} : { db: database, reconnectOnError: meansReplica }),
    ...credentials(username, password),
    // the library copies the properties for each connection
    ...(tls === undefined ? {} : { tls: clientTlsOptions(tls) }),
  }
}

function sentinelOptions({ nodes, sentinel, tls }: RedisServers, options: ConnectionOptions): NodeOptions {
  const { username, password } = credentials(sentinel!.username, sentinel!.password)
  return {
    sentinels: nodes.map(node => ({ ...node })),
    name: sentinel!.master,
    ...(username === undefined ? {} : { sentinelUsername: username }),
    ...(password === undefined ? {} : { sentinelPassword: password }),
    ...(tls === undefined ? {} : { sentinelTLS: clientTlsOptions(tls), enableTLSForSentinelMode: true }),
    sentinelCommandTimeout: SENTINEL_TIMEOUT_MS,
    sentinelRetryStrategy: retryAfter(options),
  }
}

function meansReplica({ message }: Error): boolean {
  return message.startsWith('READONLY')
}

function credentials(username: string | undefined, password: Renewable | undefined) {
  return {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password: presentText(password) }),
  }
}

function retryAfter({ firstRetryMs, maxRetryMs }: ConnectionOptions): (attempt: number) => number {
  return attempt => Math.min(attempt * firstRetryMs, maxRetryMs)
}

function startConnection(redis: RedisConnection, { onError }: ConnectionOptions): RedisConnection {
  redis.on('error', onError)
  void redis.connect().catch(() => {}) // `onError` has it, and the library keeps trying
  return redis
}
