/** Fetches a document over HTTP, within limits on size and time, and without redirects. */
import { shownAddress } from '../../base/shown-address.ts'
import type { Egress } from '../../net/egress/egress.ts'
import { httpOnly } from '../../net/egress/http-only.ts'
import { DocumentError } from '../compile/document.ts'
import { MAX_DOCUMENT_BYTES, tooLarge } from '../document/parse-document.ts'

type Fetched =
  | { readonly kind: 'document'; readonly bytes: Uint8Array; readonly etag: string | undefined }
  | { readonly kind: 'unmodified' }

const FETCH_TIMEOUT_MS = 15_000

/**
 * @param etag of the last response, for a conditional request (RFC 9110 §13.1.2)
 * @throws DocumentError with the reason
 */
export async function fetchDocument(egress: Egress, url: string, etag: string | undefined): Promise<Fetched> {
  const response = await httpOnly(egress).request({
    method: 'GET',
    url,
    headers: [
      ...[
        'accept',
        'application/json, application/yaml, text/yaml, */*;q=0.5',
        'accept-encoding',
        'identity',
      ],
      ...(etag === undefined ? [] : ['if-none-match', etag]),
    ],
    timeoutMs: FETCH_TIMEOUT_MS,
    maxResponseBytes: MAX_DOCUMENT_BYTES,
  })
  const label = shownAddress(url)
  if (response.kind === 'failure') {
    throw response.reason === 'too_large'
      ? tooLarge()
      : new DocumentError(`${label} cannot be fetched: ${response.message}`)
  }
  if (response.status === 304 && etag !== undefined) return { kind: 'unmodified' }
  const target = shownAddress(response.headers.get('location'))
  if (response.status >= 300 && response.status < 400 && target !== '') {
    throw new DocumentError(
      `${label} redirects to ${target}, but the gateway does not follow redirects: set spec.openAPISpec.url or the $ref to the final address`,
    )
  }
  if (response.status !== 200) throw new DocumentError(`${label} responded with status ${response.status}`)
  const encoding = response.headers.get('content-encoding')
  if (encoding !== '' && encoding !== 'identity') {
    throw new DocumentError(
      `${label} responded with content-encoding ${encoding.slice(0, 40)}, which was not requested`,
    )
  }
  return { kind: 'document', bytes: response.body, etag: soundEtag(response.headers.get('etag')) }
}

/** Only entity tags that can be sent back unchanged. */
function soundEtag(etag: string): string | undefined {
  return /^(W\/)?"[\x21\x23-\x7e]{0,200}"$/.test(etag) ? etag : undefined
}
