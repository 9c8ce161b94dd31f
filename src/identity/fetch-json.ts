/** Fetches JSON documents through the egress client. */
import { shownAddress } from '../base/shown-address.ts'
import { directivesOf, secondsOf } from '../net/cache-control.ts'
import type { Egress } from '../net/egress/egress.ts'

export type FetchedJson =
  /** `maxAgeSecs`: as `Cache-Control` says (RFC 9111 §5.2.2); undefined: it says nothing. */
  | { readonly ok: true; readonly json: unknown; readonly maxAgeSecs?: number | undefined }
  /** `reason` is for logs; it holds no body. */
  | { readonly ok: false; readonly reason: string }

/** GETs a JSON document. Never rejects. */
export type FetchJson = (url: string) => Promise<FetchedJson>

/** A discovery document or key set is a few KiB; half a megabyte is a mistake or an attack. */
const MAX_DOCUMENT_BYTES = 512 * 1024

export function fetchJsonOver(egress: Egress, timeoutMs = 1_500): FetchJson {
  return async url => {
    const response = await egress.request({
      method: 'GET',
      url,
      headers: ['accept', 'application/json'],
      timeoutMs,
      maxResponseBytes: MAX_DOCUMENT_BYTES,
    })
    if (response.kind === 'failure') return { ok: false, reason: response.message }
    if (response.status !== 200)
      return { ok: false, reason: `${shownAddress(url)} responded with status ${response.status}` }
    try {
      const json: unknown = JSON.parse(Buffer.from(response.body).toString('utf8'))
      return { ok: true, json, maxAgeSecs: maxAgeOf(response.headers.get('cache-control')) }
    } catch {
      return { ok: false, reason: `the response from ${shownAddress(url)} is not JSON` }
    }
  }
}

function maxAgeOf(cacheControl: string): number | undefined {
  const directives = directivesOf(cacheControl)
  return directives.has('no-cache') || directives.has('no-store') ? 0 : secondsOf(directives, 'max-age')
}
