/** Stores marks on sessions in files, one for each, for all threads of a process and across its restarts. */
import { createHash } from 'node:crypto'
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { namesIn, unlessMissing } from '../base/fs/missing.ts'
import type { SessionMarks } from './session-marks.ts'

/** Each takes one block of the disk. */
const MAX_MARKS = 50_000
const SWEEP_EVERY_MS = 60_000
/** Longer than any mark: a file without a time was left by a process that was killed. */
const MAX_AGE_MS = 24 * 3600_000

/** @param directory created with the first mark; only this user can read its files. @param now Unix ms */
export function fileMarks(directory: string, now: () => number): SessionMarks {
  const pathOf = (mark: string): string => join(directory, createHash('sha256').update(mark).digest('hex'))
  let sweptAtMs = Number.NEGATIVE_INFINITY
  let count = 0

  /** @returns undefined without a file */
  const readUntil = (path: string) => unlessMissing(readFile(path, 'utf8'))

  /** A file without a time is being written. */
  const isPast = (until: string | undefined): boolean =>
    until !== undefined && until !== '' && Number(until) <= now()

  /** @returns false when there is one */
  async function create(path: string, content: string): Promise<boolean> {
    try {
      await writeFile(path, content, { flag: 'wx', mode: 0o600, flush: true })
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
      throw error
    }
  }

  /** One thread at a time removes the file of a mark with this time: another one would remove what was put in its place. @returns whether it did */
  async function removeIfOver(path: string): Promise<boolean> {
    const until = await readUntil(path)
    const lock = `${path}.${until}`
    if (!isPast(until) || !(await create(lock, ''))) return false
    try {
      const isSame = (await readUntil(path)) === until
      if (isSame) await rm(path)
      return isSame
    } finally {
      await rm(lock, { force: true })
    }
  }

  async function sweep(): Promise<void> {
    sweptAtMs = now()
    count = 0
    for (const name of await namesIn(directory)) {
      const path = join(directory, name)
      const written = await unlessMissing(stat(path))
      if (written === undefined) continue
      if (Date.now() - written.mtimeMs > MAX_AGE_MS) await rm(path, { force: true })
      else if (!(await removeIfOver(path))) count++
    }
  }

  return {
    async put(mark, untilMs) {
      const path = pathOf(mark)
      if (now() - sweptAtMs > SWEEP_EVERY_MS || count >= MAX_MARKS) await sweep()
      if (count >= MAX_MARKS) throw new Error(`${directory} has ${count} marks, the maximum`)
      await mkdir(directory, { recursive: true, mode: 0o700 })
      await removeIfOver(path)
      const isNew = await create(path, String(untilMs))
      if (isNew) count++
      return isNew
    },
    async has(mark) {
      const until = await readUntil(pathOf(mark))
      return until !== undefined && !isPast(until)
    },
  }
}
