/** A store of sessions with MCP servers in files of a folder. It connects to no MCP server. */
import { randomUUID } from 'node:crypto'
import { link, mkdir, readdir, readFile, rename, rm, rmdir, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing } from '../../base/fs/missing.ts'
import type { ServerSession, ServerSessionStore, SessionPlace } from './server-session-store.ts'

interface FileOptions {
  /** Created with the first session; only this user can read its files. */
  readonly directory: string
  /** For a session that is not settled again. */
  readonly ttlMs: number
  /** Unix ms. */
  readonly now: () => number
}

const CLAIMED_MS = 60_000
const SESSION = '.session'
const CLAIM = '.claim'

/** A session is one file, so that reading, storing and removing it are atomic for all threads. */
export class FileServerSessions implements ServerSessionStore {
  readonly #options: FileOptions

  constructor(options: FileOptions) {
    this.#options = options
  }

  async get(place: SessionPlace): Promise<ServerSession | 'unavailable' | undefined> {
    const path = this.#pathOf(place)
    try {
      const { mtimeMs } = await stat(path)
      if (mtimeMs + this.#options.ttlMs > this.#options.now()) return await read(path)
      await rm(path, { force: true })
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      // an error of the file system (too many open files, EIO) says nothing about the session
      if (code !== undefined && !isMissing(error)) return 'unavailable'
      // one with damaged content would keep others out
      if (code === undefined) await rm(path, { force: true }).catch(() => {})
    }
    return undefined
  }

  async settle(place: SessionPlace, session: ServerSession): Promise<ServerSession | undefined> {
    try {
      const path = this.#pathOf(place)
      const stored = await this.get(place)
      if (stored === 'unavailable') return undefined
      const nowSecs = this.#options.now() / 1000
      if (stored !== undefined) {
        await utimes(path, nowSecs, nowSecs)
        return stored
      }
      await mkdir(this.#folderOf(place.caller), { recursive: true, mode: 0o700 })
      const draft = `${path}.${randomUUID()}`
      await writeFile(draft, JSON.stringify(session), { mode: 0o600 })
      await utimes(draft, nowSecs, nowSecs)
      // fails when another thread was first; a reader never sees half a file
      const isFirst = await link(draft, path).then(
        () => true,
        () => false,
      )
      await rm(draft, { force: true })
      return isFirst ? session : await read(path)
    } catch {
      return undefined
    }
  }

  async remove(place: SessionPlace, id: string, unusedMs = 0): Promise<boolean | undefined> {
    const path = this.#pathOf(place)
    try {
      const { mtimeMs } = await stat(path)
      if (mtimeMs + unusedMs > this.#options.now()) return false
      if ((await read(path)).id !== id) return false
      // of all that rename the file, one finds it
      const taken = `${path}.${randomUUID()}`
      await rename(path, taken)
      const takenId = await read(taken).then(
        session => session.id,
        () => undefined,
      )
      if (takenId !== id) await link(taken, path).catch(() => {})
      await rm(taken, { force: true })
      if (takenId !== id) return takenId === undefined ? undefined : false
      await rmdir(this.#folderOf(place.caller)).catch(() => {})
      return true
    } catch (error) {
      return isMissing(error) ? false : undefined
    }
  }

  async list(caller: string): Promise<readonly (readonly [SessionPlace, ServerSession])[]> {
    const names = await readdir(this.#folderOf(caller)).catch(() => [])
    const places = names
      .filter(name => name.endsWith(SESSION))
      .map(name => ({ caller, server: name.slice(0, -SESSION.length) }))
    const sessions = await Promise.all(places.map(async place => [place, await this.get(place)] as const))
    return sessions.filter((entry): entry is [SessionPlace, ServerSession] => typeof entry[1] === 'object')
  }

  async claim({ caller, server }: SessionPlace, name: string): Promise<boolean> {
    try {
      await writeFile(join(this.#folderOf(caller), `${server}.${name}${CLAIM}`), '', {
        flag: 'wx',
        mode: 0o600,
      })
      return true
    } catch {
      return false
    }
  }

  /** Removes what has expired. */
  async sweep(): Promise<void> {
    const { directory, ttlMs, now } = this.#options
    for (const caller of await readdir(directory).catch(() => [])) {
      const folder = this.#folderOf(caller)
      for (const name of await readdir(folder).catch(() => [])) {
        const path = join(folder, name)
        const livesMs = name.endsWith(SESSION) ? ttlMs : CLAIMED_MS
        const isOver = await stat(path).then(
          ({ mtimeMs }) => mtimeMs + livesMs <= now(),
          () => false,
        )
        if (isOver) await rm(path, { force: true }).catch(() => {})
      }
      // fails while it holds a session
      await rmdir(folder).catch(() => {})
    }
  }

  #folderOf(caller: string): string {
    return join(this.#options.directory, caller)
  }

  #pathOf({ caller, server }: SessionPlace): string {
    return join(this.#folderOf(caller), `${server}${SESSION}`)
  }
}

/** @throws Error of the file system, with its code; Error without a code when the content is damaged */
async function read(path: string): Promise<ServerSession> {
  const { id, version, logging } = JSON.parse(await readFile(path, 'utf8'))
  if (typeof id !== 'string' || typeof version !== 'string') throw new Error('not a session')
  return { id, version, logging: logging === true }
}
