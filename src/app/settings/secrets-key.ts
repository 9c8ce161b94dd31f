/** The key that encrypts secrets in the database. It opens only the file named by `SECRETS_KEY_FILE`. */
import type { Reader } from './reader.ts'

const MIN_LENGTH = 32

/** undefined: the control plane generates a key in `DATA_DIR`. */
export function readSecretsKey(read: Reader): string | undefined {
  const key = read.optional('SECRETS_KEY')
  if (key !== undefined && key.length < MIN_LENGTH) {
    read.fault(
      'SECRETS_KEY',
      `has fewer than ${MIN_LENGTH} characters.`,
      'Make one with `openssl rand -base64 32`, the same for every control plane of a database.',
    )
  }
  return key
}
