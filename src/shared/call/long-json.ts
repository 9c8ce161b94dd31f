/** JSON texts that are too long to be written in one turn of the event loop. It sends nothing. */
import { ExactNumber } from '../../model/exact-number.ts'
import { runInSlices } from '../async/slices.ts'

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
    left = charsLeft((value as Record<string, unknown>)[name], left - VALUE_CHARS, levels - 1)
    if (left < 0) break
  }
  return left
}

/** The text of `writeJson` in pieces, written in as many turns as it takes. @param value plain data and exact numbers */
export async function writeLongJson(value: unknown): Promise<readonly string[]> {
  const pieces: string[] = []
  await runInSlices(collecting(value, pieces))
  return pieces
}

/** The same text as one, for work that is run in slices. */
export function* longJson(value: unknown): Generator<void, string> {
  const pieces: string[] = []
  yield* collecting(value, pieces)
  return pieces.join('')
}

function* collecting(value: unknown, pieces: string[]): Generator<void, void> {
  for (const piece of jsonPieces(value)) {
    pieces.push(piece)
    yield
  }
}

interface Open {
  readonly values: readonly unknown[]
  /** undefined: an array. */
  readonly names: readonly string[] | undefined
  at: number
}

function* jsonPieces(root: unknown): Generator<string> {
  const piece = new Piece()
  // not recursive: nothing bounds the depth of a response
  const stack: Open[] = [{ values: [root], names: undefined, at: 0 }]
  for (let open = stack.at(-1); open !== undefined; open = stack.at(-1)) {
    if (open.at === open.values.length) {
      stack.pop()
      if (stack.length > 0) piece.add(open.names === undefined ? ']' : '}')
      continue
    }
    const value = open.values[open.at]
    if (open.at > 0) piece.add(',')
    if (open.names !== undefined) piece.add(`${JSON.stringify(open.names[open.at])}:`)
    open.at++
    if (typeof value === 'string' && value.length > PIECE_CHARS) {
      piece.add('"')
      for (let from = 0; from < value.length; ) {
        const to = endOfPiece(value, from)
        piece.add(JSON.stringify(value.slice(from, to)).slice(1, -1))
        yield piece.take()
        from = to
      }
      piece.add('"')
    } else if (value instanceof ExactNumber) piece.add(value.text)
    else if (typeof value !== 'object' || value === null) piece.add(JSON.stringify(value) ?? 'null')
    else if (Array.isArray(value)) {
      piece.add('[')
      stack.push({ values: value, names: undefined, at: 0 })
    } else {
      piece.add('{')
      const members = Object.entries(value).filter(([, member]) => member !== undefined)
      stack.push({ values: members.map(([, member]) => member), names: members.map(([name]) => name), at: 0 })
    }
    if (piece.chars > PIECE_CHARS) yield piece.take()
  }
  yield piece.take()
}

/** Texts that are joined when the piece is taken: a text of many parts would be made whole by its reader, in one turn. */
class Piece {
  chars = 0
  #texts: string[] = []

  add(text: string): void {
    this.#texts.push(text)
    this.chars += text.length
  }

  take(): string {
    const joined = this.#texts.join('')
    this.#texts = []
    this.chars = 0
    return joined
  }
}

/** Not within a surrogate pair: each half by itself would be written as an escape. */
function endOfPiece(text: string, from: number): number {
  const end = Math.min(text.length, from + PIECE_CHARS)
  const last = text.charCodeAt(end - 1)
  return end < text.length && last >= 0xd800 && last <= 0xdbff ? end - 1 : end
}
