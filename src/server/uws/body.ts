/** Reads request bodies off the uWS parser, piece by piece and counted. A chunk is copied before its callback returns: it is detached then. */
import type { UwsTurn } from './turn.ts'

const EMPTY = new Uint8Array(0)

/** See `HttpRequest.readBody`. */
export function readBody(
  turn: UwsTurn,
  contentLength: number,
  maxBytes: number,
  done: (body: Uint8Array) => void,
  tooLarge: () => void,
): void {
  if (contentLength === 0) {
    done(EMPTY)
    return
  }
  if (contentLength > maxBytes) {
    tooLarge()
    return
  }
  let pieces: Uint8Array[] | undefined
  let bytes = 0
  let refused = false
  turn.onBody((chunk, last) => {
    if (refused) return
    bytes += chunk.byteLength
    if (bytes > maxBytes) {
      refused = true
      pieces = undefined
      tooLarge()
    } else if (!last) {
      pieces ??= []
      pieces.push(copy(chunk))
    } else if (pieces === undefined) {
      done(copy(chunk))
    } else {
      pieces.push(new Uint8Array(chunk))
      done(Buffer.concat(pieces, bytes))
    }
  })
}

/** See `HttpRequest.streamBody`. */
export function streamBody(
  turn: UwsTurn,
  contentLength: number,
  sink: { data(chunk: Uint8Array): void; end(): void },
): { pause(): void; resume(): void } {
  if (contentLength === 0) {
    sink.end()
  } else {
    turn.onBody((chunk, last) => {
      if (chunk.byteLength > 0) sink.data(copy(chunk))
      if (last) sink.end()
    })
  }
  return { pause: () => turn.pauseBody(), resume: () => turn.resumeBody() }
}

/** From Node's buffer pool: a fresh ArrayBuffer for each small body costs three times as much. */
function copy(chunk: ArrayBuffer): Uint8Array {
  const bytes = Buffer.allocUnsafe(chunk.byteLength)
  bytes.set(new Uint8Array(chunk))
  return bytes
}
