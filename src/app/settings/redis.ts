/** The Redis servers of a deployment: single server, sentinels or cluster, their users and certificates. It connects to nothing. */
import { bareHost } from '../../base/bare-host.ts'
import { type RedisNode, type RedisServers, serverOf } from '../../net/redis/servers.ts'
import { checkClientTls } from './client-tls.ts'
import type { Reader } from './reader.ts'

const NODE = /^(\[[0-9a-fA-F:]+\]|[A-Za-z0-9._-]+):(\d{1,5})$/

/** undefined: sessions and quotas stay in this process. */
export function readRedis(read: Reader): RedisServers | undefined {
  const url = read.url('REDIS_URL', ['redis:', 'rediss:'])
  const mode = read.oneOf('REDIS_MODE', ['single', 'sentinel', 'cluster'], 'single')
  const nodes = readNodes(read, read.list('REDIS_NODES', ''))
  const password = read.renewable('REDIS_PASSWORD')
  const sentinel = {
    REDIS_MASTER: read.optional('REDIS_MASTER'),
    REDIS_SENTINEL_USERNAME: read.optional('REDIS_SENTINEL_USERNAME'),
    REDIS_SENTINEL_PASSWORD: read.renewable('REDIS_SENTINEL_PASSWORD'),
  }
  const isEncrypted = url?.startsWith('rediss:') === true
  const tls = checkClientTls(
    read,
    'REDIS',
    { ca: read.renewable('REDIS_CA'), cert: read.renewable('REDIS_CERT'), key: read.renewable('REDIS_KEY') },
    { isOn: isEncrypted, fix: 'Use a rediss:// URL in REDIS_URL' },
  )
  if (url === undefined) {
    if (mode !== 'single')
      read.fault(
        'REDIS_URL',
        `is missing, but REDIS_MODE=${mode} requires it.`,
        `Set REDIS_URL to the address of the first ${mode === 'sentinel' ? 'sentinel' : 'cluster node'}.`,
      )
    return undefined
  }
  const server = serverOf(url)
  if (password !== undefined && server.password !== undefined)
    read.fault(
      'REDIS_PASSWORD',
      'is set, but REDIS_URL also contains a password.',
      'Remove one of the two passwords.',
    )
  if (mode === 'single' && nodes.length > 0)
    read.fault(
      'REDIS_NODES',
      'is set, but REDIS_MODE=single does not use it.',
      'Set REDIS_MODE to sentinel or cluster, or unset REDIS_NODES.',
    )
  if (mode === 'cluster' && server.database !== 0)
    read.fault(
      'REDIS_URL',
      `selects database ${server.database}, but a Redis cluster has only database 0.`,
      'Remove the path from REDIS_URL.',
    )
  if (mode === 'sentinel' && sentinel.REDIS_MASTER === undefined)
    read.fault(
      'REDIS_MASTER',
      'is missing, but REDIS_MODE=sentinel requires it.',
      'Set REDIS_MASTER to the name of the master that the sentinels monitor.',
    )
  for (const [name, value] of Object.entries(sentinel))
    if (value !== undefined && mode !== 'sentinel')
      read.fault(
        name,
        `is set, but REDIS_MODE=${mode} does not use it.`,
        `Set REDIS_MODE=sentinel, or unset ${name}.`,
      )
  return {
    ...server,
    mode,
    nodes: [server.nodes[0], ...nodes],
    password: password ?? server.password,
    sentinel:
      mode === 'sentinel'
        ? {
            master: sentinel.REDIS_MASTER ?? '',
            username: sentinel.REDIS_SENTINEL_USERNAME,
            password: sentinel.REDIS_SENTINEL_PASSWORD,
          }
        : undefined,
    tls,
  }
}

function readNodes(read: Reader, entries: readonly string[]): RedisNode[] {
  return entries.flatMap(entry => {
    const [, host, port] = NODE.exec(entry) ?? []
    if (host !== undefined) return [{ host: bareHost(host), port: Number(port) }]
    read.fault(
      'REDIS_NODES',
      `contains "${entry}", which is not a host and a port.`,
      'List the nodes as host:port, separated by commas.',
    )
    return []
  })
}
