/** Opens the source of a policy bundle by its address, a file or a URL. */
import type { Egress } from '../../net/egress/egress.ts'
import { fileSource } from './file-source.ts'
import { httpSource } from './http-source.ts'
import type { BundleSource } from './source.ts'

/** Whether a bundle is fetched from a server: it cannot be written then. */
export function isRemote(address: string): boolean {
  return /^https?:/i.test(address)
}

/** @param token for a URL; undefined: none is sent */
export function bundleSource(
  address: string,
  egress: Egress,
  token: Parameters<typeof httpSource>[2],
): BundleSource {
  return isRemote(address) ? httpSource(address, egress, token) : fileSource(address)
}
