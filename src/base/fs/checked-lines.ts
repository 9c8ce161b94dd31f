/** Files of lines with checksums: replaces, appends, reads and checks them. It does not interpret the lines. */
import { createHash } from 'node:crypto'
import { type FileHandle, open, readFile, rename, rm } from 'node:fs/promises'
import { unlessMissing } from './missing.ts'

/** The files hold secrets: digests of keys, credentials for backends. */
const MODE = 0o600
const CHECKSUM_LENGTH = 32

/** A line without a line break, as it is written: checksum, space, text, line feed. */
export function checkedLine(line: string): string {
  return `${checksum(line)} ${line}\n`
}

function checksum(line: string): string {
  return createHash('sha256').update(line).digest('hex').slice(0, CHECKSUM_LENGTH)
}

/**
 * Writes a new file and renames it over the old one: a reader sees one or the other.
 * @param lines taken one at a time, so that other work can run in between
 * @returns bytes written
 */
export async function replaceLines(path: string, lines: Iterable<string>): Promise<number> {
  const next = `${path}.next`
  await rm(next, { force: true })
  const file = await open(next, 'wx', MODE)
  let bytes = 0
  try {
    for (const line of lines) bytes += await write(file, line)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(next, path)
  return bytes
}

/** Appends lines. A crash can leave a torn line, which `readLines` leaves out. @returns bytes written */
export async function appendLines(path: string, lines: Iterable<string>): Promise<number> {
  const file = await open(path, 'a', MODE)
  let bytes = 0
  try {
    for (const line of lines) bytes += await write(file, line)
    await file.datasync()
  } finally {
    await file.close()
  }
  return bytes
}

async function write(file: FileHandle, line: string): Promise<number> {
  const { bytesWritten } = await file.write(checkedLine(line))
  return bytesWritten
}

export interface CheckedLines {
  /** The lines before the first that is torn (without an end) or altered. */
  readonly lines: readonly string[]
  readonly fault: 'torn' | 'altered' | undefined
  /** Length of `lines` in the file. */
  readonly bytes: number
}

/** No file: no lines. @throws Error of the file system */
export async function readLines(path: string): Promise<CheckedLines> {
  const content = await unlessMissing(readFile(path))
  return content === undefined ? { lines: [], fault: undefined, bytes: 0 } : parseLines(content)
}

export function parseLines(content: Buffer): CheckedLines {
  const lines: string[] = []
  let at = 0
  // a file appears whole, by a rename
  if (content.byteLength === 0) return { lines, fault: 'torn', bytes: 0 }
  while (at < content.byteLength) {
    const end = content.indexOf(10, at)
    if (end < 0) return { lines, fault: 'torn', bytes: at }
    const line = content.toString('utf8', at, end)
    const sum = line.slice(0, CHECKSUM_LENGTH)
    const text = line.slice(CHECKSUM_LENGTH + 1)
    if (sum !== checksum(text)) return { lines, fault: 'altered', bytes: at }
    lines.push(text)
    at = end + 1
  }
  return { lines, fault: undefined, bytes: at }
}
