/** Reads and writes the cursor of a spool reader: its position, in a file with a checksum. */
import { createHash } from 'node:crypto'
import { open, rename } from 'node:fs/promises'
import { readTextIfPresent } from '../../../base/fs/missing.ts'

export interface CursorState {
  /** Segment → position of the next byte to read. Absent segments have not been read. */
  readonly segments: { readonly [name: string]: number }
  /** Writer → number of the frame that comes next. */
  readonly next: { readonly [writer: string]: number }
}

const EMPTY: CursorState = { segments: {}, next: {} }

/** No file: the beginning. @returns the state, and false when the file is damaged @throws Error of the file system */
export function readCursor(path: string): { readonly state: CursorState; readonly whole: boolean } {
  const text = readTextIfPresent(path)
  if (text === undefined) return { state: EMPTY, whole: true }
  const end = text.indexOf('\n')
  const body = text.slice(0, end)
  if (end < 0 || digest(body) !== text.slice(end + 1).trim()) return { state: EMPTY, whole: false }
  return { state: JSON.parse(body) as CursorState, whole: true }
}

/** Resolves when the cursor is replaced; a power failure may bring the old one back. @throws Error of the file system; the old cursor stays then */
export async function writeCursor(path: string, state: CursorState): Promise<void> {
  const body = JSON.stringify(state)
  const file = await open(`${path}.new`, 'w')
  try {
    await file.writeFile(`${body}\n${digest(body)}\n`)
    await file.datasync()
  } finally {
    await file.close()
  }
  await rename(`${path}.new`, path)
}

function digest(body: string): string {
  return createHash('sha256').update(body).digest('hex')
}
