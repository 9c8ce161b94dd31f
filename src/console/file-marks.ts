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

  /** A file without a time is being written. */
  async function isOver(path: string): Promise<boolean> {
    const until = await unlessMissing(readFile(path, 'utf8'))
    return until === undefined || (until !== '' && Number(until) <= now())
  }

  async function sweep(): Promise<void> {
    sweptAtMs = now()
    count = 0
    for (const name of await namesIn(directory)) {
      const path = join(directory, name)
      const written = await unlessMissing(stat(path))
      if (written === undefined) continue
      if (Date.now() - written.mtimeMs > MAX_AGE_MS || (await isOver(path))) await rm(path, { force: true })
      else count++
    }
  }

  return {
    async put(mark, untilMs) {
      const path = pathOf(mark)
      if (now() - sweptAtMs > SWEEP_EVERY_MS || count >= MAX_MARKS) await sweep()
      if (count >= MAX_MARKS) throw new Error(`${directory} has ${count} marks, the maximum`)
      await mkdir(directory, { recursive: true, mode: 0o700 })
      if (await isOver(path)) await rm(path, { force: true })
      try {
        await writeFile(path, String(untilMs), { flag: 'wx', mode: 0o600, flush: true })
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
        throw error
      }
      count++
      return true
    },
    has: async mark => !(await isOver(pathOf(mark))),
  }
}
