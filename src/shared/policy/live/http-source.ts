/** A bundle behind an http(s) address, asked for again with its ETag (RFC 9110 §13.1.2). */
import type { Egress } from '../../egress/egress.ts'
import { BUNDLE_LIMITS } from '../bundle.ts'
import type { BundleSource } from './source.ts'

const TIMEOUT_MS = 30_000

export function httpSource(address: string, egress: Egress): BundleSource {
  const { origin, pathname } = new URL(address)
  const name = `${origin}${pathname}`
  let etag = ''
  return {
    name,
    async read() {
      const answer = await egress.request({
        method: 'GET',
        url: address,
        headers: ['accept', 'application/gzip', ...(etag === '' ? [] : ['if-none-match', etag])],
        timeoutMs: TIMEOUT_MS,
        maxResponseBytes: BUNDLE_LIMITS.maxCompressedBytes,
      })
      if (answer.kind === 'failure') throw new Error(`${name} cannot be read: ${answer.message}`)
      if (answer.status === 304) return undefined
      if (answer.status !== 200) throw new Error(`${name} answered with status ${answer.status}`)
      etag = answer.headers.get('etag')
      return answer.body
    },
  }
}
