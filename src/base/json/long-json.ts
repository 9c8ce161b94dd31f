/** Writes long JSON texts in pieces or interruptible steps, and detects values whose text may be long. */

import { runInSlices } from '../async/slices.ts'
import { ExactNumber } from './exact-number.ts'

/** Characters; shorter texts are written at once. */
const MAX_WRITTEN_AT_ONCE = 128 * 1024
/** What a value counts for beside its characters. */
const VALUE_CHARS = 16
/** Characters of a piece before escaping; writing one takes less than a millisecond. */
const PIECE_CHARS = 32 * 1024

/** Deeper values are taken for long ones. */
const MAX_DEPTH = 64

/** Whether writing the value may take milliseconds; it looks at a bounded part of it, and allocates nothing. */
export function isLongJson(value: unknown): boolean {
  return charsLeft(value, MAX_WRITTEN_AT_ONCE, MAX_DEPTH) < 0
}

/** What is left of so many characters; below 0 when the value is longer. */
function charsLeft(value: unknown, chars: number, levels: number): number {
  if (typeof value === 'string') return chars - value.length
  if (typeof value !== 'object' || value === null) return chars
  if (levels === 0) return -1
  let left = chars
  if (Array.isArray(value)) {
    left -= value.length * VALUE_CHARS
    for (let at = 0; at < value.length && left >= 0; at++) left = charsLeft(value[at], left, levels - 1)
    return left
  }
  for (const name in value) {
    left -= name.length + VALUE_CHARS
    if (left < 0) break
    left = charsLeft((value as Record<string, unknown>)[name], left, levels - 1)
    if (left < 0) break
  }
  return left
}

/** The text of `writeJson` in pieces, written in as many turns as it takes. @param value plain data and exact numbers */
export async function writeLongJson(value: unknown): Promise<readonly string[]> {
  const pieces: string[] = []
  await runInSlices(collectSteps(value, pieces))
  return pieces
}

/** The same text as one, for work that is run in slices. */
export function* longJson(value: unknown): Generator<void, string> {
  const pieces: string[] = []
  yield* collectSteps(value, pieces)
  return pieces.join('')
}

function* collectSteps(value: unknown, pieces: string[]): Generator<void, void> {
  for (const piece of jsonPieces(value)) {
    pieces.push(piece)
    yield
  }
}

interface Open {
  readonly members: { readonly [key: string | number]: unknown }
  /** undefined: an array. */
  readonly names: readonly string[] | undefined
  readonly length: number
  at: number
  isEmpty: boolean
}

function openContainer(value: object): Open {
  // the members are read one by one: a list of them all takes ten times as long as their names, in one turn
  const names = Array.isArray(value) ? undefined : Object.keys(value)
  const { length } = names ?? (value as readonly unknown[])
  return { members: value as Open['members'], names, length, at: 0, isEmpty: true }
}

function* jsonPieces(root: unknown): Generator<string> {
  const piece = new Piece()
  // not recursive: nothing bounds the depth of a response
  const stack: Open[] = [openContainer([root])]
  for (let open = stack.at(-1); open !== undefined; open = stack.at(-1)) {
    const { names } = open
    if (open.at === open.length) {
      stack.pop()
      if (stack.length > 0) piece.add(names === undefined ? ']' : '}')
      continue
    }
    const name = names?.[open.at]
    const value = open.members[name ?? open.at]
    open.at++
    if (name !== undefined && value === undefined) continue
    if (!open.isEmpty) piece.add(',')
    open.isEmpty = false
    if (name !== undefined && name.length > PIECE_CHARS) {
      yield* textPieces(name, piece)
      piece.add(':')
    } else if (name !== undefined) piece.add(`${JSON.stringify(name)}:`)
    if (typeof value === 'string' && value.length > PIECE_CHARS) yield* textPieces(value, piece)
    else if (value instanceof ExactNumber) piece.add(value.text)
    else if (typeof value !== 'object' || value === null) piece.add(JSON.stringify(value) ?? 'null')
    else {
      piece.add(Array.isArray(value) ? '[' : '{')
      stack.push(openContainer(value))
    }
    if (piece.size > PIECE_CHARS) yield piece.take()
  }
  yield piece.take()
}

/** A long string, its quotes included; what follows the last piece it yields is in `piece`. */
function* textPieces(text: string, piece: Piece): Generator<string, void> {
  piece.add('"')
  for (let from = 0; from < text.length; ) {
    const to = endOfPiece(text, from)
    piece.add(JSON.stringify(text.slice(from, to)).slice(1, -1))
    yield piece.take()
    from = to
  }
  piece.add('"')
}

/** Texts that are joined when the piece is taken: a text of many parts would be made whole by its reader, in one turn. */
class Piece {
  /** Characters, and what each text costs beside them: many short ones take as long as a long one. */
  size = 0
  #texts: string[] = []

  add(text: string): void {
    this.#texts.push(text)
    this.size += text.length + VALUE_CHARS
  }

  take(): string {
    const joined = this.#texts.join('')
    this.#texts = []
    this.size = 0
    return joined
  }
}

/** Not within a surrogate pair: each half by itself would be written as an escape. */
function endOfPiece(text: string, from: number): number {
  const end = Math.min(text.length, from + PIECE_CHARS)
  const last = text.charCodeAt(end - 1)
  return end < text.length && last >= 0xd800 && last <= 0xdbff ? end - 1 : end
}
