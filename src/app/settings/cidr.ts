/** Recognizes IP addresses, CIDRs and loopback hosts. It resolves no name. */
import { isIP } from 'node:net'

/** `10.0.0.0/8`, `::1`, `2001:db8::/32`. */
export function isCidr(text: string): boolean {
  const [address, prefix, ...rest] = text.split('/')
  const family = isIP(address!)
  if (family === 0 || rest.length > 0) return false
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128))
}

/** True for a host that only this machine reaches. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}
