/** JSON texts that are too long to be written in one turn of the event loop. It sends nothing. */
import { ExactNumber, writeJson } from '../../model/exact-number.ts'
import { inSlices } from '../async/slices.ts'

/** Characters; shorter texts are written at once. */
const MAX_WRITTEN_AT_ONCE = 256 * 1024
/** What a value counts for beside its characters. */
const VALUE_CHARS = 8
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
  await inSlices(jsonPieces(value), piece => void pieces.push(piece))
  return pieces
}

interface Open {
  readonly values: readonly unknown[]
  /** undefined: an array. */
  readonly names: readonly string[] | undefined
  at: number
}

function* jsonPieces(root: unknown): Generator<string> {
  let text = ''
  // not recursive: nothing bounds the depth of a response
  const stack: Open[] = [{ values: [root], names: undefined, at: 0 }]
  for (let open = stack.at(-1); open !== undefined; open = stack.at(-1)) {
    if (open.at === open.values.length) {
      stack.pop()
      if (stack.length > 0) text += open.names === undefined ? ']' : '}'
      continue
    }
    const value = open.values[open.at]
    if (open.at > 0) text += ','
    if (open.names !== undefined) text += `${JSON.stringify(open.names[open.at])}:`
    open.at++
    if (typeof value === 'string' && value.length > PIECE_CHARS) {
      text += '"'
      for (let from = 0; from < value.length; ) {
        const to = endOfPiece(value, from)
        yield text + JSON.stringify(value.slice(from, to)).slice(1, -1)
        text = ''
        from = to
      }
      text += '"'
    } else if (typeof value !== 'object' || value === null || value instanceof ExactNumber)
      text += writeJson(value)
    else if (Array.isArray(value)) {
      text += '['
      stack.push({ values: value, names: undefined, at: 0 })
    } else {
      text += '{'
      const members = Object.entries(value).filter(([, member]) => member !== undefined)
      stack.push({ values: members.map(([, member]) => member), names: members.map(([name]) => name), at: 0 })
    }
    if (text.length > PIECE_CHARS) {
      yield text
      text = ''
    }
  }
  yield text
}

/** Not within a surrogate pair: each half by itself would be written as an escape. */
function endOfPiece(text: string, from: number): number {
  const end = Math.min(text.length, from + PIECE_CHARS)
  const last = text.charCodeAt(end - 1)
  return end < text.length && last >= 0xd800 && last <= 0xdbff ? end - 1 : end
}
