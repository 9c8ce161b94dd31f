/** The last decisions of a log, read from its end, and its files in that order. It reads a bounded part of each file, and does not merge those of threads. */
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import type { DecisionEntry } from './entry.ts'
import { filesOf, parsed } from './reader.ts'

const MAX_READ_BYTES = 8 * 1024 * 1024

/** @returns oldest first, file by file; empty when the log does not exist. */
export function lastDecisions(path: string, count: number): readonly DecisionEntry[] {
  const entries: DecisionEntry[] = []
  for (const file of newestFilesOf(path)) {
    if (entries.length >= count) break
    entries.unshift(...lastOf(file, count - entries.length))
  }
  return entries
}

function lastOf(file: string, count: number): DecisionEntry[] {
  const { size } = statSync(file)
  const bytes = Buffer.alloc(Math.min(size, MAX_READ_BYTES))
  const handle = openSync(file, 'r')
  try {
    readSync(handle, bytes, 0, bytes.length, size - bytes.length)
  } finally {
    closeSync(handle)
  }
  const lines = bytes.toString('utf8').split('\n')
  // the first one may be cut
  if (bytes.length < size) lines.shift()
  return lines.slice(-count - 1).flatMap(line => (line === '' ? [] : (parsed(line) ?? [])))
}

/** As `filesOf`, newest first; none when the log does not exist. */
export function newestFilesOf(path: string): string[] {
  try {
    return filesOf(path).reverse()
  } catch {
    return []
  }
}
