/** The rotating keys that sign session ids and request states. Secrets: they are never logged and live in one file of mode 0600. */
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

export interface RingKey {
  /** 0–255. */
  readonly id: number
  readonly secret: Uint8Array
  readonly createdAtMs: number
}

const SECRET_BYTES = 32
const ROTATE_AFTER_MS = 24 * 3_600_000
/** A key signs for a day and is good for a second one, far longer than a session's TTL can slide on it alone. */
const MAX_KEYS = 8

export class KeyRing {
  #keys: RingKey[]
  readonly #now: () => number
  readonly #save: (keys: readonly RingKey[]) => void

  /** @param keys newest first */
  constructor(keys: readonly RingKey[], now: () => number, save: (keys: readonly RingKey[]) => void) {
    this.#keys = [...keys]
    this.#now = now
    this.#save = save
  }

  /** The key to sign with; made anew when the newest is a day old. */
  current(): RingKey {
    const newest = this.#keys[0]
    if (newest !== undefined && this.#now() - newest.createdAtMs < ROTATE_AFTER_MS) return newest
    const key = {
      id: ((newest?.id ?? -1) + 1) % 256,
      secret: randomBytes(SECRET_BYTES),
      createdAtMs: this.#now(),
    }
    this.#keys = [key, ...this.#keys].slice(0, MAX_KEYS)
    this.#save(this.#keys)
    return key
  }

  find(id: number): RingKey | undefined {
    return this.#keys.find(key => key.id === id)
  }
}

/**
 * A ring kept in a file, so that sessions survive a restart.
 * @throws Error naming the file when it cannot be written.
 */
export function fileKeyRing(file: string, now: () => number = Date.now): KeyRing {
  const ring = new KeyRing(readKeys(file), now, keys => writeKeys(file, keys))
  ring.current()
  return ring
}

function readKeys(file: string): RingKey[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return []
  }
  try {
    const rows = JSON.parse(text) as { id: number; secret: string; createdAtMs: number }[]
    return rows.map(row => ({
      id: row.id,
      secret: Buffer.from(row.secret, 'base64url'),
      createdAtMs: row.createdAtMs,
    }))
  } catch {
    return [] // a damaged file costs clients a new initialize, nothing more
  }
}

function writeKeys(file: string, keys: readonly RingKey[]): void {
  mkdirSync(dirname(file), { recursive: true })
  const rows = keys.map(key => ({ ...key, secret: Buffer.from(key.secret).toString('base64url') }))
  writeFileSync(`${file}.new`, JSON.stringify(rows), { mode: 0o600 })
  renameSync(`${file}.new`, file)
}
