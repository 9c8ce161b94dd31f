/** The rotating keys that sign session ids and request states. They are secret: never logged, and stored only in one file of mode 0600 or in Redis. */
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { checkedLine, parseLines } from '../../shared/fs/checked-lines.ts'
import type { OnDamage } from '../../shared/fs/damage.ts'

export interface RingKey {
  /** 0–255. */
  readonly id: number
  readonly secret: Uint8Array
  readonly createdAtMs: number
}

export interface KeyRing {
  /** The key to sign with. */
  current(): RingKey
  find(id: number): RingKey | undefined
  /**
   * Reads the keys of other instances again, for an id that no known key has signed. Absent where there are none.
   * @returns false when they cannot be read: the id may be valid
   */
  refresh?(): Promise<boolean>
}

const SECRET_BYTES = 32
const ROTATE_AFTER_MS = 24 * 3_600_000
/** A key signs for one day and verifies for a second one, much longer than the TTL of a session. */
const MAX_KEYS = 8

class FileKeyRing implements KeyRing {
  #keys: RingKey[]
  readonly #now: () => number
  readonly #save: (keys: readonly RingKey[]) => void

  /** @param keys newest first */
  constructor(keys: readonly RingKey[], now: () => number, save: (keys: readonly RingKey[]) => void) {
    this.#keys = [...keys]
    this.#now = now
    this.#save = save
  }

  /** Rotates when the newest key is a day old. */
  current(): RingKey {
    const newest = this.#keys[0]
    if (newest !== undefined && !isStale(newest, this.#now())) return newest
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

export function isStale(key: RingKey | undefined, nowMs: number): boolean {
  return key === undefined || nowMs - key.createdAtMs >= ROTATE_AFTER_MS
}

export function freshKey(newest: RingKey | undefined, nowMs: number): RingKey {
  return { id: ((newest?.id ?? -1) + 1) % 256, secret: randomBytes(SECRET_BYTES), createdAtMs: nowMs }
}

export function writeRing(keys: readonly RingKey[]): string {
  return JSON.stringify(
    keys.slice(0, MAX_KEYS).map(key => ({ ...key, secret: Buffer.from(key.secret).toString('base64url') })),
  )
}

/** @returns undefined for a damaged ring, which only forces clients to initialize again */
export function readRing(text: string): RingKey[] | undefined {
  try {
    const rows = JSON.parse(text) as { id: number; secret: string; createdAtMs: number }[]
    return rows.map(row => ({
      id: row.id,
      secret: Buffer.from(row.secret, 'base64url'),
      createdAtMs: row.createdAtMs,
    }))
  } catch {
    return undefined
  }
}

/**
 * A ring in a file, so that sessions survive a restart.
 * @param onDamage called when the file is damaged; new keys replace it
 * @throws Error naming the file when it cannot be written.
 */
export function fileKeyRing(
  file: string,
  now: () => number = Date.now,
  onDamage: OnDamage = () => {},
): KeyRing {
  const kept = readKeys(file)
  if (kept === undefined)
    onDamage(
      file,
      'it was replaced, sessions that were open before the restart end, and their clients initialize again',
    )
  const ring = new FileKeyRing(kept ?? [], now, keys => writeKeys(file, keys))
  ring.current()
  return ring
}

function readKeys(file: string): RingKey[] | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return []
  }
  // earlier versions wrote no checksum
  if (text.startsWith('[')) return readRing(text)
  const { lines, fault } = parseLines(Buffer.from(text))
  return fault === undefined ? readRing(lines[0]!) : undefined
}

function writeKeys(file: string, keys: readonly RingKey[]): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(`${file}.new`, checkedLine(writeRing(keys)), { mode: 0o600 })
  renameSync(`${file}.new`, file)
}
