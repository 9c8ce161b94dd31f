/** Creates, completes, closes and removes the files of segments that grow. */
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { isMissing } from '../../../base/fs/missing.ts'
import { segmentFile } from './segment-name.ts'

/** The name of the new file is on disk when this returns. @returns the descriptor @throws Error of the file system; no file is left then */
export function createSegment(directory: string, key: string): number {
  mkdirSync(directory, { recursive: true })
  const path = join(directory, segmentFile(key, true))
  const file = openSync(path, 'wx')
  try {
    const folder = openSync(directory, 'r')
    try {
      fsyncSync(folder)
    } finally {
      closeSync(folder)
    }
    return file
  } catch (error) {
    closeSegment(file)
    unlinkSync(path)
    throw error
  }
}

/** Renames it, which marks it as complete for readers; a file that an operator removed is ignored. @throws Error of the file system */
export function completeSegment(directory: string, key: string): void {
  try {
    renameSync(join(directory, segmentFile(key, true)), join(directory, segmentFile(key, false)))
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

/** For a segment without events: an empty complete one would count as damage. @throws Error of the file system */
export function removeSegment(directory: string, key: string): void {
  unlinkSync(join(directory, segmentFile(key, true)))
}

/** The events were synced before, and an error leaves the descriptor closed as well. */
export function closeSegment(file: number): void {
  try {
    closeSync(file)
  } catch {
    // nothing is lost by it
  }
}
