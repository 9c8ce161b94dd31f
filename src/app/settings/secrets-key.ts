/** Reads and checks `SECRETS_KEY`, the key with which parts encrypt stored secrets and sessions. */
import type { Reader } from './reader.ts'

const MIN_LENGTH = 32

/** undefined: each part uses a key file in `DATA_DIR`, and creates it if it is missing. */
export function readSecretsKey(read: Reader): string | undefined {
  // the file that a control plane generates has a checksum before the key
  const key = read.optional('SECRETS_KEY')?.replace(/^sha256:[0-9a-f]{16} /, '')
  if (key !== undefined && key.length < MIN_LENGTH) {
    read.fault(
      'SECRETS_KEY',
      `has fewer than ${MIN_LENGTH} characters.`,
      'Generate a key with `openssl rand -base64 32`. Use the same key for all control planes that share a database.',
    )
  }
  return key
}
