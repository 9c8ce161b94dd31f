/** The signatures of a delivery: over the exact bytes of the body, and over id, time and body. */
import { createHmac } from 'node:crypto'

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
