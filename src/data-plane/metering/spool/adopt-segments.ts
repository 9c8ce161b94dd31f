/** Prepares the directory of a spool at the start: completes growing segments, or removes them when they are empty. */
import { mkdirSync, readdirSync, renameSync, statSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { segmentFile, segmentsAmong } from './segment-name.ts'

/**
 * Called once, before the first writer of this process begins; the directory belongs to one process at a time.
 * @throws Error of the file system
 */
export function adoptSegments(directory: string): void {
  mkdirSync(directory, { recursive: true })
  for (const { growing, file, key } of segmentsAmong(readdirSync(directory))) {
    const path = join(directory, file)
    if (!growing) continue
    // a process that was killed before its first event; an empty complete segment would count as damage
    if (statSync(path).size === 0) unlinkSync(path)
    else renameSync(path, join(directory, segmentFile(key, false)))
  }
}
