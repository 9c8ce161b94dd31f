/** What is kept of a receiver's answer: its beginning, without what was told in confidence. It reads nothing from the network. */
import { MAX_STORED_RESPONSE_BYTES } from '../../model/webhook-delivery.ts'

const REDACTED = '[redacted]'
/** Shorter texts would turn up by chance. */
const MIN_CONFIDENTIAL = 6

/**
 * At most `MAX_STORED_ANSWER_BYTES` in UTF-8, cut between characters. Receivers like to echo what they get: keys and the values of custom
 * headers are masked before the cut, so that no part of one is left at the end.
 * @param bytes may be cut anywhere; PostgreSQL text holds no NUL
 */
export function storedResponse(bytes: Uint8Array, confidential: readonly string[]): string {
  let text = new TextDecoder().decode(bytes).replaceAll('\0', '\ufffd')
  for (const secret of confidential) {
    if (secret.length >= MIN_CONFIDENTIAL) text = text.replaceAll(secret, REDACTED)
  }
  const encoded = Buffer.from(text)
  if (encoded.byteLength <= MAX_STORED_RESPONSE_BYTES) return text
  let end = MAX_STORED_RESPONSE_BYTES
  // 10xxxxxx goes on a character that began before (RFC 3629 §3).
  while ((encoded[end]! & 0xc0) === 0x80) end--
  return encoded.subarray(0, end).toString('utf8')
}
