/** Says which network addresses and Unix sockets outgoing calls may reach. It resolves nothing and connects to nothing: the connectors do. */

import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { socketPathFault } from '../../model/upstream-url.ts'

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** Azure's platform address: a public address, yet it serves the secrets of the machine. */
const AZURE_PLATFORM = '168.63.129.16'
/** The only block of IPv6 from which global unicast addresses are assigned (IANA, IPv6 address space). */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')

export interface AddressGuard {
  /**
   * Why the address must not be reached for this host, or undefined when it may be.
   * @param address in the form a socket or a resolver gives it; anything else is refused.
   * @param hostname lower case, as in the URL; names of the allow list open every address they resolve to.
   */
  refusal(address: string, hostname: string): string | undefined
  /** Whether the operator lists the Unix socket. @param path absolute, without `.` and `..` */
  allowsSocket(path: string): boolean
}

export interface AddressGuardOptions {
  /** `EGRESS_ALLOW`: CIDRs, single addresses and host names that may be reached although they are not public, and Unix sockets. */
  readonly allow: readonly string[]
  /** Lets 127.0.0.0/8 and ::1 through (development). */
  readonly allowLoopback: boolean
}

/**
 * Default deny: only globally routed unicast addresses pass, in every spelling (IPv4-mapped forms count as the IPv4 address).
 * A Unix socket passes only when it is listed.
 * @throws Error naming the entry of the allow list that is not a CIDR, a host name or a Unix socket.
 */
export function createAddressGuard(options: AddressGuardOptions): AddressGuard {
  const blocks: [Address, number][] = []
  const names = new Set<string>()
  const sockets = new AllowedSockets()
  for (const entry of options.allow.map(one => one.trim())) {
    if (isSocketEntry(entry)) sockets.add(entry)
    else addEntry(entry, blocks, names)
  }

  return {
    refusal(address, hostname) {
      const parsed = parseAddress(address)
      if (parsed === undefined) return 'not an IP address'
      if (names.has(bareName(hostname))) return undefined
      if (blocks.some(block => inBlock(parsed, block))) return undefined
      const range = rangeOf(parsed)
      if (range === 'public' || (range === 'loopback' && options.allowLoopback)) return undefined
      return `${/^(?:[aio]|uns)/.test(range) ? 'an' : 'a'} ${range} address`
    },
    allowsSocket: path => sockets.has(path),
  }
}

function addEntry(entry: string, blocks: [Address, number][], names: Set<string>): void {
  const [address, bits] = entry.split('/')
  const parsed = parseAddress(address ?? '')
  if (parsed !== undefined) {
    const width = parsed.kind() === 'ipv4' ? 32 : 128
    if (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= width)) {
      blocks.push([parsed, bits === undefined ? width : Number(bits)])
      return
    }
  } else if (/^[a-z0-9_]([a-z0-9_.-]{0,252}[a-z0-9_.])?$/i.test(entry) && !/^[\d.]+$/.test(entry)) {
    names.add(bareName(entry))
    return
  }
  throw new Error(
    `EGRESS_ALLOW: "${entry}" is not a CIDR, a host name or a Unix socket. Write it as "10.0.0.0/8", "fd00::/8", "backend.internal" (without scheme and port) or "unix:/run/backends/shop.sock".`,
  )
}

function bareName(name: string): string {
  const lower = name.toLowerCase()
  return lower.endsWith('.') ? lower.slice(0, -1) : lower
}

/** Strict: `ipaddr.js` alone also takes octal and hexadecimal spellings, which resolvers never produce. */
function parseAddress(text: string): Address | undefined {
  const zone = text.indexOf('%')
  const bare = zone === -1 ? text : text.slice(0, zone)
  if (isIP(bare) === 0) return undefined
  const parsed = ipaddr.parse(bare)
  return parsed instanceof ipaddr.IPv6 && parsed.isIPv4MappedAddress() ? parsed.toIPv4Address() : parsed
}

function inBlock(address: Address, [base, bits]: [Address, number]): boolean {
  return address.kind() === base.kind() && address.match(base, bits)
}

/** `public`, or the name of the special range that forbids it. */
function rangeOf(address: Address): string {
  if (address instanceof ipaddr.IPv4) {
    if (address.toString() === AZURE_PLATFORM) return 'platform metadata'
    const range = address.range()
    return range === 'unicast' ? 'public' : range
  }
  const range = address.range()
  if (range !== 'unicast') return range
  if (!address.match(GLOBAL_UNICAST)) return 'non-global'
  return isIsatap(address) ? 'isatap' : 'public'
}

/** ISATAP carries an IPv4 address behind the interface id 0000:5efe or 0200:5efe (RFC 5214 §6.1). */
function isIsatap(address: ipaddr.IPv6): boolean {
  const { parts } = address
  return parts[5] === 0x5efe && (parts[4]! & 0xfdff) === 0
}

const PREFIX = 'unix:'

function isSocketEntry(entry: string): boolean {
  return entry.startsWith(PREFIX)
}

class AllowedSockets {
  readonly #paths = new Set<string>()
  /** Each with its closing slash. */
  readonly #folders: string[] = []

  /**
   * @param entry of `EGRESS_ALLOW`: `unix:/run/backends/shop.sock`, or `unix:/run/backends/` for all sockets directly or below
   * @throws Error naming the entry
   */
  add(entry: string): void {
    const path = entry.slice(PREFIX.length)
    const isFolder = path.endsWith('/')
    const fault = path === '/' ? 'allows every socket' : socketPathFault(isFolder ? path.slice(0, -1) : path)
    if (fault !== undefined)
      throw new Error(
        `EGRESS_ALLOW: the path in "${entry}" ${fault}. Write "unix:/run/backends/shop.sock" for one socket, or "unix:/run/backends/" for all sockets in a folder and its subfolders.`,
      )
    if (isFolder) this.#folders.push(path)
    else this.#paths.add(path)
  }

  /** @param path absolute, without `.` and `..` */
  has(path: string): boolean {
    return this.#paths.has(path) || this.#folders.some(folder => path.startsWith(folder))
  }
}
