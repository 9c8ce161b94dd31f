/** Keeps metering events that no broker takes in a file, one JSON object per line. */
import { appendFile, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing } from '../../base/fs/missing.ts'
import type { MeteringEvent } from '../../link/metering-event.ts'

/** In the directory of the spool; the file before it ends in `.1`. */
export const DEAD_LETTERS = 'dead-letters.ndjson'

/**
 * Resolves when the event is on disk.
 * @param maxBytes of the file; one that would exceed it replaces the file before it
 * @param reason name of the error
 * @throws Error of the file system; the event is not kept then
 */
export async function keepDeadLetter(
  directory: string,
  maxBytes: number,
  event: MeteringEvent,
  reason: string,
): Promise<void> {
  const path = join(directory, DEAD_LETTERS)
  const line = `${JSON.stringify({ refused_at: new Date().toISOString(), reason, event })}\n`
  if ((await sizeOf(path)) + Buffer.byteLength(line) > maxBytes) await rename(path, `${path}.1`)
  await appendFile(path, line, { mode: 0o600, flush: true })
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (!isMissing(error)) throw error
    return 0
  }
}
