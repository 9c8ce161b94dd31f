/** Reads the last decisions of a log, and lists its files in reverse order. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { basename } from 'node:path'
import { getOrSet } from '../../base/once-per.ts'
import type { DecisionEntry } from './entry.ts'
import { filesOf, parseLine } from './reader.ts'

const MAX_READ_BYTES = 8 * 1024 * 1024

/** @returns those of all threads together, oldest first; empty when the log does not exist. */
export function lastDecisions(path: string, count: number): readonly DecisionEntry[] {
  return newestFilesByThread(path)
    .flatMap(files => lastOfThread(files, count))
    .sort((one, other) => one.at - other.at)
    .slice(-count)
}

function lastOfThread(files: readonly string[], count: number): DecisionEntry[] {
  const entries: DecisionEntry[] = []
  for (const file of files) {
    if (entries.length >= count) break
    entries.unshift(...lastOf(file, count - entries.length))
  }
  return entries
}

function lastOf(file: string, count: number): DecisionEntry[] {
  const handle = openSync(file, 'r')
  let bytes: Buffer
  let size: number
  try {
    ;({ size } = fstatSync(handle))
    bytes = Buffer.alloc(Math.min(size, MAX_READ_BYTES))
    readSync(handle, bytes, 0, bytes.length, size - bytes.length)
  } finally {
    closeSync(handle)
  }
  const lines = bytes.toString('utf8').split('\n')
  // the first one may be cut
  if (bytes.length < size) lines.shift()
  return lines.slice(-count - 1).flatMap(line => (line === '' ? [] : (parseLine(line) ?? [])))
}

/** As `filesOf`, newest first; none when the log does not exist. @throws Error of the file system */
export function newestFilesOf(path: string): string[] {
  try {
    return filesOf(path).reverse()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) return []
    throw error
  }
}

/** The files of each thread, newest first: only those of one thread are in the order of time. */
export function newestFilesByThread(path: string): readonly (readonly string[])[] {
  const threads = new Map<string, string[]>()
  for (const file of newestFilesOf(path))
    getOrSet(threads, basename(file).replace(/\..*$/, ''), () => []).push(file)
  return [...threads.values()]
}
