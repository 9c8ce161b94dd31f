/** Recognizes IP addresses and CIDR blocks. */
import { isIP } from 'node:net'

/** `10.0.0.0/8`, `::1`, `2001:db8::/32`. */
export function isCidr(text: string): boolean {
  const [address, prefix, ...rest] = text.split('/')
  const family = isIP(address!)
  if (family === 0 || rest.length > 0) return false
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128))
}
