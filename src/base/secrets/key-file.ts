/** Reads a key from a file, and creates the file where it is missing. */
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { linkSync, mkdirSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { readTextIfPresent } from '../fs/missing.ts'

const KEY_BYTES = 32
const CHECK_LENGTH = 16

interface KeptKey {
  readonly key: string
  /** The file did not exist when this call began: this call, or another process at the same time, created it. */
  readonly fresh: boolean
}

/**
 * Reads the key, or creates one that only this user can read. Processes that start at the same time get the same key.
 * @throws Error when the file cannot be read or written, or contains no key
 */
export function keptKey(path: string): KeptKey {
  const found = read(path)
  if (found !== undefined) return { key: found, fresh: false }
  mkdirSync(dirname(path), { recursive: true })
  const draft = `${path}.${randomUUID()}`
  const fresh = randomBytes(KEY_BYTES).toString('base64')
  writeFileSync(draft, `${checkOf(fresh)} ${fresh}\n`, { flag: 'wx', mode: 0o600 })
  try {
    // Creating a hard link is atomic, and fails when another process has created the file.
    linkSync(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(draft)
  }
  return { key: read(path)!, fresh: true }
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

function read(path: string): string | undefined {
  const text = readTextIfPresent(path)
  if (text === undefined) return undefined
  const parts = text.trim().split(' ')
  // a key that an operator wrote has no checksum
  const [check, key] = parts.length === 2 ? (parts as [string, string]) : [undefined, parts[0]!]
  if (key.length >= KEY_BYTES && BASE64.test(key) && (check === undefined || check === checkOf(key)))
    return key
  throw new Error(
    `${path} is damaged or contains no key. Restore the file from a backup, or set SECRETS_KEY to the key in the backup (the part after the space).`,
  )
}

/** A damaged key would make every stored secret unreadable. */
function checkOf(key: string): string {
  return `sha256:${createHash('sha256').update(key).digest('hex').slice(0, CHECK_LENGTH)}`
}
