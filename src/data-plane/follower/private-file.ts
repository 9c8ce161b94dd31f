/** Files only this process's user may read, replaced whole or added to, each line with its checksum. It knows no content. */
import { createHash } from 'node:crypto'
import { type FileHandle, open, readFile, rename, rm } from 'node:fs/promises'

/** What the files hold (digests of keys, credentials towards backends) is nobody else's business. */
const MODE = 0o600
const CHECKSUM_LENGTH = 32

function sealed(line: string): string {
  return `${checksum(line)} ${line}\n`
}

function checksum(line: string): string {
  return createHash('sha256').update(line).digest('hex').slice(0, CHECKSUM_LENGTH)
}

/**
 * Writes a new file beside the old one and puts it in its place: whoever reads sees the one or the other.
 * @param lines taken one at a time, with other work in between
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

/** Adds lines to the end. A process that dies meanwhile leaves a torn line, which `readLines` does not give. @returns bytes written */
export async function addLines(path: string, lines: Iterable<string>): Promise<number> {
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
  const { bytesWritten } = await file.write(sealed(line))
  return bytesWritten
}

/** The lines up to the first that is torn or was changed; `whole` is false when there was such a one. No file: no lines. */
export async function readLines(
  path: string,
): Promise<{ readonly lines: readonly string[]; readonly whole: boolean; readonly bytes: number }> {
  let content: Buffer
  try {
    content = await readFile(path)
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ENOENT') return { lines: [], whole: true, bytes: 0 }
    throw error
  }
  const lines: string[] = []
  let at = 0
  while (at < content.byteLength) {
    const end = content.indexOf(10, at)
    if (end < 0) return { lines, whole: false, bytes: at }
    const line = content.toString('utf8', at, end)
    const said = line.slice(0, CHECKSUM_LENGTH)
    const text = line.slice(CHECKSUM_LENGTH + 1)
    if (said !== checksum(text)) return { lines, whole: false, bytes: at }
    lines.push(text)
    at = end + 1
  }
  return { lines, whole: true, bytes: at }
}
