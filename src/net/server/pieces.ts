/** Long texts in pieces: measures, joins and writes them. */
import { inSlices, nextTurn } from '../../base/async/slices.ts'
import type { HttpResponse, ResponseStream } from './listener.ts'

/** Strings, and UTF-8 that may be shared by many responses; each is short enough to be encoded at once. */
export type Pieces = readonly (string | Uint8Array)[]

/** Characters, and bytes of shared UTF-8, that may be joined: a longer text would block the threads that it is posted to. */
const MAX_JOINED = 4 * 1024 * 1024

export async function byteLengthOf(pieces: Iterable<string | Uint8Array>): Promise<number> {
  let bytes = 0
  await inSlices(pieces, piece => {
    bytes += Buffer.byteLength(piece)
  })
  return bytes
}

/** @returns undefined when the text is too long. */
export async function joinedText(pieces: Pieces): Promise<string | undefined> {
  if (lengthOf(pieces) > MAX_JOINED) return undefined
  await nextTurn()
  return pieces.map(piece => (typeof piece === 'string' ? piece : Buffer.from(piece).toString())).join('')
}

export function lengthOf(pieces: Pieces): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0)
}

/**
 * Ends early when the client has disconnected: no further piece is asked for. The stream gets no other listener for `onDrain`.
 * @param isReused as in `ResponseStream.write`
 */
export async function writePieces(
  stream: ResponseStream,
  response: HttpResponse,
  pieces: Iterable<string | Uint8Array>,
  isReused = false,
): Promise<void> {
  let wake: (() => void) | undefined
  stream.onDrain(() => wake?.())
  response.onAbort(() => wake?.())
  await inSlices(whileOpen(pieces, response), piece => {
    if (stream.write(piece, isReused) || response.closed) return
    return new Promise<void>(resolve => {
      wake = resolve
    })
  })
}

function* whileOpen<T>(pieces: Iterable<T>, response: HttpResponse): Generator<T, void> {
  for (const piece of pieces) {
    if (response.closed) return
    yield piece
  }
}
