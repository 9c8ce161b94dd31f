/** Describes Redis servers with their credentials and TLS, and reads the description of one from a URL. It connects to nothing. */
import { bareHost } from '../../base/bare-host.ts'
import type { ClientTls, Renewable } from '../tls/client-tls.ts'

export interface RedisNode {
  readonly host: string
  readonly port: number
}

export interface RedisServers {
  /** `sentinel`: the nodes are sentinels, which report the address of the master. */
  readonly mode: 'single' | 'sentinel' | 'cluster'
  /** At least one; of a cluster any nodes, preferably all. */
  readonly nodes: readonly [RedisNode, ...RedisNode[]]
  /** Number of the database; 0 in a cluster. */
  readonly database: number
  /** ACL user; undefined: the user `default`. */
  readonly username: string | undefined
  readonly password: Renewable | undefined
  /** Only with sentinels. */
  readonly sentinel:
    | {
        readonly master: string
        readonly username: string | undefined
        readonly password: Renewable | undefined
      }
    | undefined
  /** undefined: not encrypted. It holds for sentinels too. */
  readonly tls: ClientTls | undefined
}

/** A single server as `redis://user:password@host:port/database`, or servers. */
export type RedisTarget = string | RedisServers

const DEFAULT_PORT = 6379

/** @param url with the scheme `redis:` or `rediss:` */
export function serverOf(url: string): RedisServers {
  const { protocol, hostname, port, username, password, pathname } = new URL(url)
  const secret = decodeURIComponent(password)
  return {
    mode: 'single',
    nodes: [{ host: bareHost(hostname), port: Number(port || DEFAULT_PORT) }],
    database: Number(pathname.slice(1)) || 0,
    username: decodeURIComponent(username) || undefined,
    password: secret === '' ? undefined : { text: secret, file: undefined },
    sentinel: undefined,
    tls: protocol === 'rediss:' ? { ca: undefined, cert: undefined, key: undefined } : undefined,
  }
}
