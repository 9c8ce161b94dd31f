/** One attempt of a delivery: the checks before it, its signed request, its outcome, and what is stored of the response. */

import { createHmac } from 'node:crypto'
import { type AttemptOutcome, MAX_STORED_RESPONSE_BYTES } from '../../model/webhook-delivery.ts'
import type { Egress, EgressFailure } from '../../net/egress/egress.ts'
import type { ClaimedDelivery } from '../store/webhook-repositories.ts'

/** From the connection to the last byte read; receivers are expected to respond within 5 seconds. */
const ATTEMPT_TIMEOUT_MS = 5_000
/** More than is stored, so that a confidential text that begins in the stored part is masked completely. */
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
  if (delivery.unreadable !== undefined) return toFailure(delivery.unreadable)
  if (parts.httpsOnly && !delivery.url.startsWith('https:')) {
    return toFailure(
      'the URL of the webhook uses plain HTTP, which is not allowed in production: use an https URL',
    )
  }
  const startedMs = performance.now()
  const body = Buffer.from(delivery.body)
  const response = await parts.egress.stream({
    method: 'POST',
    url: delivery.url,
    headers: requestHeaders(delivery, body, parts),
    body: once(body),
    timeoutMs: parts.timeoutMs ?? ATTEMPT_TIMEOUT_MS,
    party: { owner: delivery.tenantId, part: delivery.webhookId },
  })
  const durationMs = () => Math.round(performance.now() - startedMs)
  if (response.kind === 'failure') return { ...toFailure(reasonOf(response)), durationMs: durationMs() }
  const { bytes, broken } = await readStart(response.body)
  const seen = {
    statusCode: response.status,
    responseBody: storedResponse(bytes, [...delivery.confidential, ...Object.values(delivery.customHeaders)]),
    durationMs: durationMs(),
  }
  if (broken !== undefined) return { ...seen, delivered: false, error: broken }
  if (response.status >= 200 && response.status < 300) return { ...seen, delivered: true, error: null }
  return { ...seen, delivered: false, error: `the receiver responded with status ${response.status}` }
}

/** Tenants read this, so it does not reveal what a name resolves to inside the network. */
function reasonOf(failure: EgressFailure): string {
  if (failure.reason !== 'blocked_address') return failure.message
  return 'the host in the URL of the webhook is not a public address, or resolves to an address that is not public: use a public host'
}

function toFailure(error: string): AttemptOutcome {
  return { delivered: false, statusCode: null, responseBody: null, error, durationMs: 0 }
}

function requestHeaders(delivery: ClaimedDelivery, body: Uint8Array, parts: AttemptParts): string[] {
  const { id, event, secrets, customHeaders } = delivery
  const timestampSecs = Math.floor(parts.now() / 1000)
  const headers = [
    ...Object.entries(customHeaders).flat(),
    'content-type',
    'application/json',
    // Prevents chunked encoding, which some receivers refuse.
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
  // A separate header, because receivers compare the specified one as a whole.
  if (previous !== undefined) headers.push('X-Platform-Signature-Previous', platformSignature(previous, body))
  headers.push('webhook-signature', standardSignature(secrets, id, timestampSecs, body))
  return headers
}

async function* once(body: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  yield body
}

/** The beginning of a response body; the connection of a longer one is closed. `broken`: the body ended with an error. */
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
    broken = error instanceof Error ? error.message : 'the response was incomplete'
  } finally {
    body.destroy()
  }
  return { bytes: Buffer.concat(chunks).subarray(0, READ_BYTES), broken }
}

const STANDARD_PREFIX = 'whsec_'

/** `sha256=<hex>`: HMAC-SHA256 over the raw body, with the text of the secret as key. */
export function platformSignature(secret: string, body: Uint8Array): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
}

/**
 * One `v1,<base64>` for each secret (Standard Webhooks, "Signature scheme"): HMAC-SHA256 over `id.timestamp.body`. A secret that begins
 * with `whsec_` is base64, as in that standard; any other secret is used as it is.
 */
export function standardSignature(
  secrets: readonly string[],
  id: string,
  timestampSecs: number,
  body: Uint8Array,
): string {
  return secrets
    .map(secret => {
      const hmac = createHmac('sha256', standardKey(secret)).update(`${id}.${timestampSecs}.`).update(body)
      return `v1,${hmac.digest('base64')}`
    })
    .join(' ')
}

function standardKey(secret: string): Buffer {
  return secret.startsWith(STANDARD_PREFIX)
    ? Buffer.from(secret.slice(STANDARD_PREFIX.length), 'base64')
    : Buffer.from(secret)
}

const REDACTED = '[redacted]'
/** Shorter texts would match by chance. */
const MIN_CONFIDENTIAL = 6

/**
 * At most `MAX_STORED_RESPONSE_BYTES` in UTF-8, truncated between characters. Receivers may echo the request: keys and the values of custom
 * headers are masked before the truncation, so that no part of one remains at the end.
 * @param bytes may end within a character; NUL is replaced, since PostgreSQL text cannot contain it
 */
export function storedResponse(bytes: Uint8Array, confidential: readonly string[]): string {
  let text = new TextDecoder().decode(bytes).replaceAll('\0', '\ufffd')
  for (const secret of confidential) {
    if (secret.length >= MIN_CONFIDENTIAL) text = text.replaceAll(secret, REDACTED)
  }
  const encoded = Buffer.from(text)
  if (encoded.byteLength <= MAX_STORED_RESPONSE_BYTES) return text
  let end = MAX_STORED_RESPONSE_BYTES
  // 10xxxxxx continues a character (RFC 3629 §3).
  while ((encoded[end]! & 0xc0) === 0x80) end--
  return encoded.subarray(0, end).toString('utf8')
}
