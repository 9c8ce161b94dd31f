/** Decodes compressed bodies by their content encoding. It bounds no size: the receiver does. */
import { createBrotliDecompress, createUnzip } from 'node:zlib'

export interface Decoder {
  /** False when the decoder is behind; `drain` is emitted when it has caught up. */
  write(chunk: Uint8Array): boolean
  end(): void
  destroy(): void
}

export interface DecoderSink {
  data(chunk: Uint8Array): void
  drain(): void
  end(): void
  error(): void
}

/** undefined for an encoding that is not understood (several at once included). */
export function openDecoder(encoding: string, sink: DecoderSink): Decoder | undefined {
  const open = DECODERS.get(encoding)
  if (open === undefined) return undefined
  const stream = open()
  stream.on('data', sink.data)
  stream.on('drain', sink.drain)
  stream.on('end', sink.end)
  stream.on('error', sink.error)
  return {
    write: chunk => stream.write(chunk),
    end: () => void stream.end(),
    destroy: () => void stream.destroy(),
  }
}

const DECODERS = new Map([
  ['gzip', createUnzip],
  ['x-gzip', createUnzip],
  ['deflate', createUnzip],
  ['br', createBrotliDecompress],
])
