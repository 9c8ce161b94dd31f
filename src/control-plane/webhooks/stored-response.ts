/** The text that is stored of a receiver's response: masking of confidential values, and its maximum length. */
import { MAX_STORED_RESPONSE_BYTES } from '../../model/webhook-delivery.ts'

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
