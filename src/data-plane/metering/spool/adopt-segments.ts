/** Closes the segments that were growing when the previous process ended. It reads no event. */
import { mkdirSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { segmentFile, segmentsAmong } from './segment-name.ts'

/**
 * Called once, before the first writer of this process begins; the directory belongs to one process at a time.
 * @throws Error of the file system when the directory cannot be created or read
 */
export function adoptSegments(directory: string): void {
  mkdirSync(directory, { recursive: true })
  for (const { growing, file, key } of segmentsAmong(readdirSync(directory)))
    if (growing) renameSync(join(directory, file), join(directory, segmentFile(key, false)))
}
