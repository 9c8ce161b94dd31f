/** Distinguishes a file or folder that does not exist from one that cannot be read, which is an error. */
import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'

/** The only error that says what a path holds, which is nothing: any other (EACCES, EIO, EMFILE) may end with the next call. */
export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}

/** undefined: the path of the work does not exist. @throws any other error of the work */
export async function unlessMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** For a folder that does not exist: empty. @throws Error of the file system */
export async function namesIn(folder: string): Promise<string[]> {
  return (await unlessMissing(readdir(folder))) ?? []
}

/** undefined: the file does not exist. @throws Error of the file system */
export function readIfPresent(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** The same as UTF-8. */
export function readTextIfPresent(path: string): string | undefined {
  return readIfPresent(path)?.toString('utf8')
}
