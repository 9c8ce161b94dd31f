/** The identity of this instance: kept in a directory over restarts, or new without a directory. */
import { randomBytes } from 'node:crypto'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { readTextIfPresent } from '../../../base/fs/missing.ts'

export interface Instance {
  readonly id: string
  /** Number of starts; reports of a later start replace those of an earlier one. */
  readonly incarnation: number
}

const FILE = 'instance'

/**
 * Reads and increments the incarnation in a directory that this process has locked; without a directory the id is new.
 * @throws Error naming the file and the fix
 */
export function instanceIn(dir: string | undefined): Instance {
  if (dir === undefined) return { id: newId(), incarnation: 1 }
  const path = join(dir, FILE)
  const text = readTextIfPresent(path)
  const before = text === undefined ? { id: newId(), incarnation: 0 } : parse(text, path)
  const instance = { id: before.id, incarnation: before.incarnation + 1 }
  writeFileSync(`${path}.new`, JSON.stringify({ ...instance, check: checkOf(instance) }), {
    mode: 0o600,
    flush: true,
  })
  renameSync(`${path}.new`, path)
  return instance
}

function newId(): string {
  return randomBytes(9).toString('base64url')
}

function checkOf({ id, incarnation }: Instance): number {
  return crc32(`${id} ${incarnation}`)
}

function parse(text: string, path: string): Instance {
  try {
    const { id, incarnation, check } = JSON.parse(text) as Partial<Instance> & { readonly check?: number }
    if (typeof id === 'string' && id.length > 0 && Number.isSafeInteger(incarnation)) {
      const instance = { id, incarnation: incarnation! }
      // earlier versions wrote no check
      if (check === undefined || check === checkOf(instance)) return instance
    }
  } catch {
    // reported below
  }
  throw new Error(
    `${path} is damaged. Remove the file and restart the gateway: the gateway instance then gets a new id in Redis`,
  )
}
