/** The key file that a deployment generates beside its data. It encrypts nothing. */
import { randomBytes, randomUUID } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

const KEY_BYTES = 32

interface KeptKey {
  readonly key: string
  /** This call created it. */
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
  writeFileSync(draft, randomBytes(KEY_BYTES).toString('base64'), { flag: 'wx', mode: 0o600 })
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
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  if (text.length >= KEY_BYTES && BASE64.test(text)) return text
  throw new Error(`${path} contains no key. Restore the file from a backup, or set SECRETS_KEY to the key.`)
}
