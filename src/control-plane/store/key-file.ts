/** A key that a deployment makes for itself and keeps beside its data. It seals nothing. */
import { randomBytes, randomUUID } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

const KEY_BYTES = 32

export interface KeptKey {
  readonly key: string
  /** It was made just now. */
  readonly fresh: boolean
}

/**
 * Reads the key, or makes one that only this user can read. Processes that start together end up with the same.
 * @throws Error when the file cannot be read or written, or holds no key
 */
export function keptKey(path: string): KeptKey {
  const found = read(path)
  if (found !== undefined) return { key: found, fresh: false }
  mkdirSync(dirname(path), { recursive: true })
  const draft = `${path}.${randomUUID()}`
  writeFileSync(draft, randomBytes(KEY_BYTES).toString('base64'), { flag: 'wx', mode: 0o600 })
  try {
    // A hard link appears whole or not at all, and fails where another process was faster.
    linkSync(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(draft)
  }
  return { key: read(path)!, fresh: true }
}

function read(path: string): string | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  if (text.length >= KEY_BYTES) return text
  throw new Error(`${path} holds no key. Restore it from a backup, or set SECRETS_KEY to what it held.`)
}
