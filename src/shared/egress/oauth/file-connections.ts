/** Connections of users in files of a folder, for the threads and processes of one machine. It encrypts nothing. */
import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConnectionStore } from './connection-store.ts'

/** @param directory created when the first connection is stored; only this user can read its files */
export function fileConnections(directory: string): ConnectionStore {
  const pathOf = (key: string): string => join(directory, `${key}.sealed`)

  async function created(path: string, text: string): Promise<boolean> {
    try {
      await writeFile(path, text, { flag: 'wx', mode: 0o600 })
      return true
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false
      throw error
    }
  }

  return {
    async read(key) {
      try {
        return await readFile(pathOf(key), 'utf8')
      } catch (error) {
        if (codeOf(error) === 'ENOENT') return undefined
        throw error
      }
    },

    async write(key, sealed) {
      await mkdir(directory, { recursive: true, mode: 0o700 })
      const draft = `${pathOf(key)}.${randomUUID()}`
      await writeFile(draft, sealed, { mode: 0o600 })
      await rename(draft, pathOf(key))
    },

    remove: key => rm(pathOf(key), { force: true }),

    async lock(key, ms) {
      const path = join(directory, `${key}.lock`)
      const own = randomUUID()
      if (!(await created(path, own))) {
        const since = await stat(path).catch(() => undefined)
        // its process ended without releasing it
        if (since !== undefined && Date.now() - since.mtimeMs > ms) await rm(path, { force: true })
        return undefined
      }
      return async () => {
        const holder = await readFile(path, 'utf8').catch(() => '')
        if (holder === own) await rm(path, { force: true })
      }
    },
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code
}
