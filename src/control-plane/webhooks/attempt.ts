/** One attempt at a delivery: the signed request, and what came of it. It decides on no retry and writes nothing down. */

import { type AttemptOutcome, MAX_STORED_RESPONSE_BYTES } from '../../model/webhook-delivery.ts'
import type { Egress, EgressFailure } from '../../shared/egress/egress.ts'
import type { ClaimedDelivery } from '../store/webhook-repositories.ts'
import { platformSignature, standardSignature } from './sign.ts'
import { storedResponse } from './stored-response.ts'

/** "Receivers should answer within 5 seconds" (specification, "Events", rule 5): from the connection to the last byte we read. */
export const ATTEMPT_TIMEOUT_MS = 5_000
/** Read beyond what is stored, so that a confidential text which begins within the stored part is seen whole. */
const READ_BYTES = 4 * MAX_STORED_RESPONSE_BYTES

export interface AttemptParts {
  readonly egress: Egress
  /** Unix ms: the time that signatures carry. */
  readonly now: () => number
  /** Plain HTTP is not called (production). */
  readonly httpsOnly: boolean
  readonly userAgent: string
  /** `ATTEMPT_TIMEOUT_MS` when absent. */
  readonly timeoutMs?: number
}

/** Never rejects. */
export async function attempt(delivery: ClaimedDelivery, parts: AttemptParts): Promise<AttemptOutcome> {
  if (delivery.unreadable !== undefined) return failed(delivery.unreadable)
  if (parts.httpsOnly && !delivery.url.startsWith('https:')) {
    return failed('the address is plain HTTP, which is not called in production')
  }
  const startedMs = performance.now()
  const body = Buffer.from(delivery.body)
  const response = await parts.egress.stream({
    method: 'POST',
    url: delivery.url,
    headers: requestHeaders(delivery, body, parts),
    body: once(body),
    timeoutMs: parts.timeoutMs ?? ATTEMPT_TIMEOUT_MS,
  })
  const durationMs = () => Math.round(performance.now() - startedMs)
  if (response.kind === 'failure') return { ...failed(reasonOf(response)), durationMs: durationMs() }
  const { bytes, broken } = await readStart(response.body)
  const seen = {
    statusCode: response.status,
    responseBody: storedResponse(bytes, [...delivery.confidential, ...Object.values(delivery.customHeaders)]),
    durationMs: durationMs(),
  }
  if (broken !== undefined) return { ...seen, delivered: false, error: broken }
  if (response.status >= 200 && response.status < 300) return { ...seen, delivered: true, error: null }
  return { ...seen, delivered: false, error: `the receiver answered ${response.status}` }
}

/** Tenants read this: what a name resolves to inside our network is not theirs to learn. */
function reasonOf(failure: EgressFailure): string {
  if (failure.reason !== 'blocked_address') return failure.message
  return 'the address is not public, or its name leads to one that is not; webhooks may not reach it'
}

function failed(error: string): AttemptOutcome {
  return { delivered: false, statusCode: null, responseBody: null, error, durationMs: 0 }
}

function requestHeaders(delivery: ClaimedDelivery, body: Uint8Array, parts: AttemptParts): string[] {
  const { id, event, secrets, customHeaders } = delivery
  const timestampSecs = Math.floor(parts.now() / 1000)
  const headers = [
    ...Object.entries(customHeaders).flat(),
    'content-type',
    'application/json',
    // Known, so that the body is not sent in chunks, which some receivers refuse.
    'content-length',
    String(body.byteLength),
    'accept-encoding',
    'identity',
    'user-agent',
    parts.userAgent,
    'X-Platform-Event',
    event,
    'X-Platform-Delivery',
    id,
    'webhook-id',
    id,
    'webhook-timestamp',
    String(timestampSecs),
  ]
  const [current, previous] = secrets
  if (current === undefined) return headers
  headers.push('X-Platform-Signature', platformSignature(current, body))
  // A header of its own: the specified one holds one signature, which receivers compare as a whole.
  if (previous !== undefined) headers.push('X-Platform-Signature-Previous', platformSignature(previous, body))
  headers.push('webhook-signature', standardSignature(secrets, id, timestampSecs, body))
  return headers
}

async function* once(body: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  yield body
}

/** The beginning of an answer; a longer one is cut off with its connection. An answer that breaks off before is no answer. */
async function readStart(
  body: AsyncIterable<Uint8Array> & { destroy(): void },
): Promise<{ bytes: Buffer; broken: string | undefined }> {
  const chunks: Uint8Array[] = []
  let size = 0
  let broken: string | undefined
  try {
    for await (const chunk of body) {
      chunks.push(chunk)
      size += chunk.byteLength
      if (size >= READ_BYTES) break
    }
  } catch (error) {
    broken = error instanceof Error ? error.message : 'the answer broke off'
  } finally {
    body.destroy()
  }
  return { bytes: Buffer.concat(chunks).subarray(0, READ_BYTES), broken }
}
