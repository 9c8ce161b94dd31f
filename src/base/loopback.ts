/** Recognizes hosts that only this machine reaches. */
import { BlockList, isIP } from 'node:net'
import { bareHost } from './bare-host.ts'

/** The hosts of this machine that clients write, as in a URL. */
export const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])
/** `localhost` and the names below it (RFC 6761 §6.3), with the final dot of DNS or without. */
const LOCAL_NAME = /^(?:[^.\s]+\.)*localhost\.?$/i

const ADDRESSES = new BlockList()
ADDRESSES.addSubnet('127.0.0.0', 8, 'ipv4')
ADDRESSES.addAddress('::1', 'ipv6')

/**
 * True for a name below `localhost`, and for a loopback address in every form: 127.0.0.0/8, `::1`, and IPv4-mapped.
 * @param host without port, as in a setting or in a URL: `::1` or `[::1]`
 */
export function isLoopback(host: string): boolean {
  const bare = bareHost(host)
  const family = isIP(bare)
  if (family === 0) return LOCAL_NAME.test(bare)
  // `check` compares an IPv4-mapped address with the IPv4 addresses
  return ADDRESSES.check(bare, family === 4 ? 'ipv4' : 'ipv6')
}
