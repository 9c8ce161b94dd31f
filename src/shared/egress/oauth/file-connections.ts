/** Stores connections of users, and locks on them, in a folder. It encrypts nothing. */
import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { namesIn, unlessMissing } from '../../fs/missing.ts'
import type { ConnectionStore } from './connection-store.ts'

/** Of renaming a folder to the place of one that is not empty; Windows refuses also an empty one, with EPERM. */
const TAKEN: ReadonlySet<string> = new Set([
  'ENOTEMPTY',
  'EEXIST',
  ...(process.platform === 'win32' ? ['EPERM'] : []),
])

/** @param directory created with the first lock or connection; only this user can read its files */
export function fileConnections(directory: string): ConnectionStore {
  const pathOf = (key: string): string => join(directory, `${key}.sealed`)

  return {
    read: key => unlessMissing(readFile(pathOf(key), 'utf8')),

    async write(key, sealed) {
      await mkdir(directory, { recursive: true, mode: 0o700 })
      const draft = `${pathOf(key)}.${randomUUID()}`
      await writeFile(draft, sealed, { mode: 0o600 })
      await rename(draft, pathOf(key))
    },

    remove: key => rm(pathOf(key), { force: true }),

    /**
     * A lock is a folder with one file, named after its holder. Taking it renames a folder, which fails while the place has a file; ending
     * it removes the file of one holder by its name, so that who ends a lock that is too old cannot end the one that came after it.
     */
    async lock(key, ms) {
      const place = join(directory, `${key}.locked`)
      for (const holder of await namesIn(place)) {
        const since = await stat(join(place, holder)).catch(() => undefined)
        // its process ended without releasing it
        if (since !== undefined && Date.now() - since.mtimeMs > ms) await released(place, holder)
        return undefined
      }
      await mkdir(directory, { recursive: true, mode: 0o700 })
      const own = randomUUID()
      const draft = join(directory, `${key}.${own}`)
      await mkdir(draft, { mode: 0o700 })
      await writeFile(join(draft, own), '', { mode: 0o600 })
      try {
        await rename(draft, place)
      } catch (error) {
        await rm(draft, { recursive: true, force: true })
        if (TAKEN.has((error as NodeJS.ErrnoException).code ?? '')) return undefined
        throw error
      }
      return () => released(place, own)
    },
  }
}

async function released(place: string, holder: string): Promise<void> {
  await rm(join(place, holder), { force: true })
  // fails when the next holder is in it already
  await rmdir(place).catch(() => {})
}
