/** The key that seals the sessions of console and portal. */
import { join } from 'node:path'
import { keptKey } from '../../base/secrets/key-file.ts'
import type { Settings } from '../settings.ts'

/** @throws Error if the key in `DATA_DIR` cannot be read or created */
export function consoleKey({ secretsKey, dataDir }: Settings): string {
  return secretsKey ?? keptKey(join(dataDir, 'console.key')).key
}
