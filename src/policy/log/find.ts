/** Finds a decision in a decision log by its id, and reads the files in chunks. */
import { open } from 'node:fs/promises'
import { unlessMissing } from '../../base/fs/missing.ts'
import type { DecisionEntry } from './entry.ts'
import { parseLine } from './reader.ts'
import { newestFilesOf } from './tail.ts'

const CHUNK_BYTES = 1024 * 1024
/** A line is not longer: arguments are masked, or are at most as long as the body of a request. */
const MAX_LINE_BYTES = 4 * 1024 * 1024

/** @returns undefined when the decision is not in the log, or the log does not exist. */
export async function findDecision(path: string, id: string): Promise<DecisionEntry | undefined> {
  // how every line begins (entry.ts)
  const beginning = Buffer.from(`{"id":${JSON.stringify(id)},`)
  for (const file of newestFilesOf(path)) {
    const found = await findIn(file, beginning)
    if (found !== undefined) return found
  }
  return undefined
}

async function findIn(file: string, beginning: Buffer): Promise<DecisionEntry | undefined> {
  const handle = await unlessMissing(open(file, 'r'))
  // rotated away meanwhile
  if (handle === undefined) return undefined
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES)
    // chunks overlap, so that no beginning is cut in two
    for (let at = 0; ; at += CHUNK_BYTES - beginning.length) {
      const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES, at)
      const found = chunk.subarray(0, bytesRead).indexOf(beginning)
      if (found >= 0) {
        const line = Buffer.alloc(MAX_LINE_BYTES)
        const whole = await handle.read(line, 0, MAX_LINE_BYTES, at + found)
        const text = line.subarray(0, whole.bytesRead)
        const end = text.indexOf('\n')
        return parseLine(text.subarray(0, end < 0 ? text.length : end).toString('utf8'))
      }
      if (bytesRead < CHUNK_BYTES) return undefined
    }
  } finally {
    await handle.close()
  }
}
