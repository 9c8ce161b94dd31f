/** The rotating keys for session ids and request states: their interface and encoding, a ring in a file, and the log of a failed save. */
import { randomBytes } from 'node:crypto'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { checkedLine, parseLines } from '../../base/fs/checked-lines.ts'
import type { OnDamage } from '../../base/fs/damage.ts'
import { readTextIfPresent } from '../../base/fs/missing.ts'
import type { Log } from '../../telemetry/log.ts'

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
/** A key signs for one day and verifies while it is among the newest, much longer than the TTL of a session. */
const MAX_KEYS = 8

/** A ring that could not be saved is saved at most this often. */
const RETRY_SAVE_MS = 60_000

interface FileKeyRingOptions {
  /** Newest first. */
  readonly keys: readonly RingKey[]
  readonly now: () => number
  /** @throws Error of the file system */
  readonly save: (keys: readonly RingKey[]) => void
  readonly onFault: (error: Error) => void
}

class FileKeyRing implements KeyRing {
  #keys: readonly RingKey[]
  readonly #options: FileKeyRingOptions
  /** When saving failed; undefined: the file has the keys. */
  #failedAtMs: number | undefined

  /** @throws Error of the file system: the first key must be saved, later ones may follow */
  constructor(options: FileKeyRingOptions) {
    this.#options = options
    this.#keys = options.keys
    if (this.#rotate(options.now())) options.save(this.#keys)
  }

  /** Rotates when the newest key is a day old. Timers and calls use it, so it never throws: an unsaved key signs as well. */
  current(): RingKey {
    const nowMs = this.#options.now()
    const failedAtMs = this.#failedAtMs
    if (this.#rotate(nowMs)) this.#save(nowMs)
    // the clock may have been set back
    else if (failedAtMs !== undefined && Math.abs(nowMs - failedAtMs) >= RETRY_SAVE_MS) this.#save(nowMs)
    return this.#keys[0]!
  }

  find(id: number): RingKey | undefined {
    return this.#keys.find(key => key.id === id)
  }

  #rotate(nowMs: number): boolean {
    const newest = this.#keys[0]
    if (!isStale(newest, nowMs)) return false
    this.#keys = [freshKey(newest, nowMs), ...this.#keys].slice(0, MAX_KEYS)
    return true
  }

  #save(nowMs: number): void {
    const { save, onFault } = this.#options
    try {
      save(this.#keys)
      this.#failedAtMs = undefined
    } catch (error) {
      const isFirst = this.#failedAtMs === undefined
      this.#failedAtMs = nowMs
      if (isFirst) onFault(error as Error)
    }
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
 * @param onFault called once when a later key cannot be saved, and again after one could be; the ring goes on with it and retries
 * @throws Error naming the file when it cannot be read or written at the start
 */
export function fileKeyRing(
  file: string,
  now: () => number = Date.now,
  onDamage: OnDamage = () => {},
  onFault: (error: Error) => void = () => {},
): KeyRing {
  const kept = readKeys(file)
  if (kept === undefined)
    onDamage(
      file,
      'the gateway replaces the file; sessions from before the restart are lost, and their clients must initialize again',
    )
  return new FileKeyRing({ keys: kept ?? [], now, save: keys => writeKeys(file, keys), onFault })
}

/** For `onFault`. */
export function reportUnsavedKeys(log: Log): (error: Error) => void {
  return err =>
    log.error(
      { err },
      'the key that signs sessions cannot be saved in session-keys.json; sessions continue, but sessions that are signed with this key end when the process stops. Check the disk of DATA_DIR; the gateway retries every minute',
    )
}

function readKeys(file: string): RingKey[] | undefined {
  let text: string | undefined
  try {
    text = readTextIfPresent(file)
  } catch (error) {
    // new keys in its place would end all sessions
    throw new Error(`${file} cannot be read: ${(error as Error).message}`)
  }
  if (text === undefined) return []
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
