/** Derives the client address of a request behind trusted proxies, and the network of an address. */
import { BlockList, isIP } from 'node:net'

/** A request, as far as its client is derived from it. */
interface Received {
  readonly peerAddress: string
  /** Absent where no request was received. */
  readonly header?: ((name: string) => string) | undefined
}

/** Only the rightmost entries come from trusted proxies; an attacker may send any number of others. */
const MAX_HOPS = 32

/** @param trustedProxies CIDRs. @returns whether an address is one of theirs */
export function trustOf(trustedProxies: readonly string[]): (address: string) => boolean {
  if (trustedProxies.length === 0) return () => false
  const trusted = new BlockList()
  for (const cidr of trustedProxies) {
    const [address, prefix] = cidr.split('/') as [string, string | undefined]
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    trusted.addSubnet(address, Number(prefix ?? (family === 'ipv6' ? 128 : 32)), family)
  }
  return address => trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}

/** @param trustedProxies CIDRs whose X-Forwarded-For is believed */
export function clientAddresses(trustedProxies: readonly string[]): (request: Received) => string {
  if (trustedProxies.length === 0) return request => request.peerAddress
  const isTrusted = trustOf(trustedProxies)
  return request => {
    let address = request.peerAddress
    const hops = (request.header?.('x-forwarded-for') ?? '').split(',').slice(-MAX_HOPS)
    // from the right: each proxy appends the address of its peer, so the first one not reported by a trusted proxy is the client
    for (let at = hops.length - 1; at >= 0 && isTrusted(address); at--) {
      const hop = plainAddress(hops[at]!)
      if (hop === undefined) break
      address = hop
    }
    return address
  }
}

/** `1.2.3.4`, `1.2.3.4:5678`, `[::1]:80`, `::ffff:1.2.3.4` → an address; undefined for anything else. */
function plainAddress(entry: string): string | undefined {
  const text = entry.trim()
  const bracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1]
  const bare =
    bracketed ?? (/^\d+\.\d+\.\d+\.\d+:\d+$/.test(text) ? text.slice(0, text.lastIndexOf(':')) : text)
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1] ?? bare
  return isIP(mapped) === 0 ? undefined : mapped
}

/** An IPv4 address, or the /64 of an IPv6 address: one subscriber usually holds a whole /64 (RFC 6177). */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  if (tail !== undefined) {
    const last = tail === '' ? [] : tail.split(':')
    while (groups.length + last.length < 8) groups.push('0')
    groups.push(...last)
  }
  return groups
    .slice(0, 4)
    .map(group => group.replace(/^0+(?=.)/, '').toLowerCase())
    .join(':')
}
