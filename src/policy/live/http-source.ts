/** A source of a bundle at an HTTP address, which uses the ETag of the last response. It does not unpack the bundle. */
import type { Egress } from '../../net/egress/egress.ts'
import { BUNDLE_LIMITS } from '../bundle.ts'
import type { BundleSource } from './source.ts'

const TIMEOUT_MS = 30_000

/** @param token for each request; undefined: the address needs none */
export function httpSource(address: string, egress: Egress, token?: () => string): BundleSource {
  const { origin, pathname } = new URL(address)
  const name = `${origin}${pathname}`
  let etag = ''
  return {
    name,
    async read() {
      const response = await egress.request({
        method: 'GET',
        url: address,
        headers: [
          'accept',
          'application/gzip',
          ...(token === undefined ? [] : ['authorization', `Bearer ${token()}`]),
          ...(etag === '' ? [] : ['if-none-match', etag]),
        ],
        timeoutMs: TIMEOUT_MS,
        maxResponseBytes: BUNDLE_LIMITS.maxCompressedBytes,
      })
      if (response.kind === 'failure') throw new Error(`${name} cannot be read: ${response.message}`)
      if (response.status === 304) return undefined
      if (response.status !== 200) throw new Error(`${name} responded with status ${response.status}`)
      etag = response.headers.get('etag')
      return response.body
    },
  }
}
