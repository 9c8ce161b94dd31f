/** The frame of an event in a segment: its layout, its checksum and the search for it in a buffer. */
import { crc32 } from 'node:zlib'

/** Marks a frame after damage: neither UTF-8 text nor a number of a frame contains it. */
const MARK = 0xf7_a9_e4_fc
/** Mark, length of the bytes, number in the segment's writer, CRC-32 of length, number and bytes; each 32 bits, little-endian. */
export const FRAME_HEADER_BYTES = 16
/** A length above this is damage. */
export const MAX_FRAME_BYTES = 65_536

/** Everything but the CRC, which `sealFrames` adds when the frames are written out. */
export function beginFrame(into: Buffer, at: number, length: number, number: number): void {
  writeUInt32(into, at, MARK)
  writeUInt32(into, at + 4, length)
  writeUInt32(into, at + 8, number)
}

/** As `writeUInt32LE` without its checks, in a sixth of the time. */
function writeUInt32(into: Buffer, at: number, value: number): void {
  into[at] = value
  into[at + 1] = value >>> 8
  into[at + 2] = value >>> 16
  into[at + 3] = value >>> 24
}

/** Adds the CRC of every frame between two positions. */
export function sealFrames(buffer: Buffer, from: number, to: number): void {
  for (let at = from; at < to; ) {
    const end = at + FRAME_HEADER_BYTES + buffer.readUInt32LE(at + 4)
    buffer.writeUInt32LE(checksum(buffer, at, end), at + 12)
    at = end
  }
}

/** CRC-32 of each byte (RFC 1952 §8). */
const OF_BYTE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xed_b8_83_20 : crc >>> 1
  return crc
})

/** The eight bytes of length and number go through the table: a call into the runtime for so few costs a hundred times as much. */
function checksum(buffer: Buffer, at: number, end: number): number {
  let crc = -1
  for (let place = at + 4; place < at + 12; place++)
    crc = OF_BYTE[(crc ^ buffer[place]!) & 0xff]! ^ (crc >>> 8)
  return crc32(buffer.subarray(at + FRAME_HEADER_BYTES, end), ~crc >>> 0)
}

export interface Frame {
  readonly number: number
  readonly bytes: Uint8Array
  /** Position after it. */
  readonly end: number
}

/** The frame at a position; undefined when it is missing or incomplete. */
export function frameAt(buffer: Buffer, at: number): Frame | undefined {
  const bytesAt = at + FRAME_HEADER_BYTES
  if (bytesAt > buffer.length || buffer.readUInt32LE(at) !== MARK) return undefined
  const end = bytesAt + buffer.readUInt32LE(at + 4)
  if (end > buffer.length || end - bytesAt > MAX_FRAME_BYTES) return undefined
  if (checksum(buffer, at, end) !== buffer.readUInt32LE(at + 12)) return undefined
  return { number: buffer.readUInt32LE(at + 8), bytes: buffer.subarray(bytesAt, end), end }
}

const MARK_BYTES = Buffer.alloc(4)
MARK_BYTES.writeUInt32LE(MARK)

/** Start of the next complete frame at or after a position; -1 when there is none. */
export function findFrame(buffer: Buffer, from: number): number {
  for (let at = buffer.indexOf(MARK_BYTES, from); at >= 0; at = buffer.indexOf(MARK_BYTES, at + 1))
    if (frameAt(buffer, at) !== undefined) return at
  return -1
}
