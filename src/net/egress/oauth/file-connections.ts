/** Stores connections of users, and locks on them, in a folder. */
import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isMissing, namesIn, unlessMissing } from '../../../base/fs/missing.ts'
import type { ConnectionStore } from './connection-store.ts'

/** For renaming a folder to the place of one that is not empty; Windows refuses also an empty one, with EPERM. */
const TAKEN: ReadonlySet<string> = new Set([
  'ENOTEMPTY',
  'EEXIST',
  ...(process.platform === 'win32' ? ['EPERM'] : []),
])

/** A change takes a few milliseconds: the process of one that takes longer has ended, or was stopped. */
const CHANGE_MS = 2_000
const MAX_CHANGE_WAIT_MS = 10_000
const POLL_MS = 5

/** @param directory created with the first lock or connection; only this user can read its files */
export function fileConnections(directory: string): ConnectionStore {
  const pathOf = (key: string): string => join(directory, `${key}.sealed`)
  const read = (key: string): Promise<string | undefined> => unlessMissing(readFile(pathOf(key), 'utf8'))

  /**
   * A lock is a folder with one entry, named after its holder. Taking it renames a folder, which fails while the place has an entry; ending
   * it removes the entry of one holder by its name, so that who ends a lock that is too old cannot end the one that came after it.
   * @param fill creates the entry
   * @returns name of the holder
   */
  async function take(place: string, ms: number, fill: (entry: string) => Promise<void>) {
    for (const holder of await namesIn(place)) {
      const since = await stat(join(place, holder)).catch(() => undefined)
      // its process ended without releasing it
      if (since !== undefined && Date.now() - since.mtimeMs > ms) await release(place, holder)
      return undefined
    }
    await mkdir(directory, { recursive: true, mode: 0o700 })
    const own = randomUUID()
    const draft = join(directory, `draft.${own}`)
    try {
      await mkdir(draft, { mode: 0o700 })
      await fill(join(draft, own))
      await rename(draft, place)
    } catch (error) {
      await rm(draft, { recursive: true, force: true })
      if (!TAKEN.has((error as NodeJS.ErrnoException).code ?? '')) throw error
      // an empty one, where that keeps others out; fails while it has a holder
      await rmdir(place).catch(() => {})
      return undefined
    }
    return own
  }

  async function release(place: string, holder: string): Promise<void> {
    const ended = join(directory, `ended.${randomUUID()}`)
    // an entry that is a folder ends at once, with what it holds
    await unlessMissing(rename(join(place, holder), ended))
    await rm(ended, { recursive: true, force: true })
    // fails when the next holder is in it already
    await rmdir(place).catch(() => {})
  }

  /**
   * Holds a lock for the change alone, whose entry is a folder. The change renames a file out of that folder or into it, which fails once
   * another one has taken the lock over: a process that was stopped between comparing and changing changes nothing when it goes on.
   * @param next stored, or, when it is undefined, the stored one is removed
   * @returns the stored text before, and whether that was changed
   */
  async function change(key: string, next: string | undefined, isDue: (stored?: string) => boolean) {
    const place = join(directory, `${key}.writing`)
    const untilMs = performance.now() + MAX_CHANGE_WAIT_MS
    for (;;) {
      const own = await take(place, CHANGE_MS, async entry => {
        await mkdir(entry, { mode: 0o700 })
        if (next !== undefined) await writeFile(join(entry, 'next'), next, { mode: 0o600 })
      })
      if (own !== undefined) {
        try {
          const before = await read(key)
          if (!isDue(before)) return { before, isChanged: false }
          const entry = join(place, own)
          if (next === undefined) await rename(pathOf(key), join(entry, 'before'))
          else await rename(join(entry, 'next'), pathOf(key))
          return { before, isChanged: true }
        } catch (error) {
          // another one has taken the lock over: the change is compared again
          if (!isMissing(error)) throw error
        } finally {
          await release(place, own)
        }
      }
      if (performance.now() > untilMs)
        throw new Error('Another process is still changing the connection. Retry later.')
      await sleep(POLL_MS)
    }
  }

  return {
    read,

    async write(key, sealed) {
      await change(key, sealed, () => true)
    },

    async replace(key, expected, sealed) {
      const { before, isChanged } = await change(key, sealed, stored => stored === expected)
      return isChanged || before === sealed
    },

    async remove(key, only) {
      const isDue = (stored?: string): boolean =>
        stored !== undefined && (only === undefined || stored === only)
      const { before, isChanged } = await change(key, undefined, isDue)
      return isChanged ? before : undefined
    },

    async lock(key, ms) {
      const place = join(directory, `${key}.locked`)
      const own = await take(place, ms, entry => writeFile(entry, '', { mode: 0o600 }))
      return own === undefined ? undefined : () => release(place, own)
    },
  }
}
