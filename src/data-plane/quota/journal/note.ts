/** A note of the quota journal, its encoding and its decoding. */
import { crc32 } from 'node:zlib'

/**
 * Frame: magic u32, length u16 of what follows the frame, zero u16, CRC-32 of it. All numbers are little-endian.
 * The magic lets a reader find the next note behind damaged bytes.
 */
const MAGIC = 0x5154_4731
const FRAME_BYTES = 12
const FIXED_BYTES = 76
/** Longest name, and the maximum number of pairs that the kernel returns. */
const MAX_NAME = 255
const MAX_PAIRS = 81
/** A byte of them is more than the rolling second. */
const NEWEST_STEP_MS = 5
export const MAX_NOTE_BYTES = FRAME_BYTES + FIXED_BYTES + MAX_NAME + MAX_PAIRS * 8

export interface Note {
  /** Four words of the hashed key. */
  readonly hash: readonly [number, number, number, number]
  /** '' when the consumer is not listed. */
  readonly name: string
  /** Rank among all notes of all consumers and threads. */
  readonly sequence: number
  /** Unix ms when it was written. */
  readonly wallMs: number
  /** Days and months since 1970-01 that the counts belong to. */
  readonly day: number
  readonly month: number
  /** Counted and reserved together. */
  readonly dayCount: number
  readonly monthCount: number
  readonly dayLimit: number
  readonly monthLimit: number
  /** Limits that the rolling windows have to be able to count; 0 = no limit. */
  readonly secondLimit: number
  readonly minuteLimit: number
  /** Reserved and not spent. */
  readonly pending: number
  /** Without `past`: units reserved with this note. With it: units held in the rolling second. */
  readonly fresh: number
  /** With `past`: age of the newest unit held in the rolling second, in ms, rounded down to a multiple of NEWEST_STEP_MS. */
  readonly newestMs: number
  /** (age in ms, units) of the rolling minute. Present: the note replaces those before it. */
  readonly past: readonly (readonly [number, number])[] | undefined
  /** Resets of the consumer, where counts are shared with other instances. */
  readonly generation: number
}

/** Writes the note at the start of `buffer` and returns its length in bytes. */
export function encodeNote(note: Note, buffer: Buffer): number {
  const at = FRAME_BYTES
  for (let i = 0; i < 4; i++) buffer.writeUInt32LE(note.hash[i]!, at + i * 4)
  buffer.writeDoubleLE(note.sequence, at + 16)
  buffer.writeDoubleLE(note.wallMs, at + 24)
  buffer.writeUInt16LE(note.day, at + 32)
  buffer.writeUInt16LE(note.month, at + 34)
  buffer.writeUInt32LE(note.dayCount, at + 36)
  buffer.writeUInt32LE(note.monthCount, at + 40)
  buffer.writeUInt32LE(note.dayLimit, at + 44)
  buffer.writeUInt32LE(note.monthLimit, at + 48)
  buffer.writeUInt32LE(note.secondLimit, at + 52)
  buffer.writeUInt32LE(note.minuteLimit, at + 56)
  buffer.writeUInt32LE(note.pending, at + 60)
  buffer.writeUInt32LE(note.fresh, at + 64)
  buffer.writeUInt8(note.past === undefined ? 0 : 1, at + 68)
  buffer.writeUInt8(note.past?.length ?? 0, at + 69)
  const name = buffer.write(note.name, at + FIXED_BYTES, MAX_NAME, 'utf8')
  buffer.writeUInt8(name, at + 70)
  buffer.writeUInt8(Math.floor(note.newestMs / NEWEST_STEP_MS), at + 71)
  buffer.writeUInt32LE(note.generation, at + 72)
  let end = at + FIXED_BYTES + name
  for (const [ageMs, units] of note.past ?? []) {
    buffer.writeUInt32LE(ageMs, end)
    buffer.writeUInt32LE(units, end + 4)
    end += 8
  }
  buffer.writeUInt32LE(MAGIC, 0)
  buffer.writeUInt16LE(end - at, 4)
  buffer.writeUInt16LE(0, 6)
  buffer.writeUInt32LE(crc32(buffer.subarray(at, end)), 8)
  return end
}

/** The note at `at`; `short` when more bytes are needed, `damaged` when no note begins there. */
export function decodeNote(
  buffer: Buffer,
  at: number,
): { readonly note: Note; readonly bytes: number } | 'short' | 'damaged' {
  if (buffer.length - at < FRAME_BYTES) return 'short'
  if (buffer.readUInt32LE(at) !== MAGIC) return 'damaged'
  const length = buffer.readUInt16LE(at + 4)
  if (buffer.readUInt16LE(at + 6) !== 0 || length < FIXED_BYTES || length > MAX_NOTE_BYTES - FRAME_BYTES)
    return 'damaged'
  if (buffer.length - at < FRAME_BYTES + length) return 'short'
  const body = buffer.subarray(at + FRAME_BYTES, at + FRAME_BYTES + length)
  if (crc32(body) !== buffer.readUInt32LE(at + 8)) return 'damaged'
  const name = body.readUInt8(70)
  const pairs = body.readUInt8(69)
  if (FIXED_BYTES + name + pairs * 8 !== length) return 'damaged'
  return { note: noteOf(body, name, pairs), bytes: FRAME_BYTES + length }
}

function noteOf(body: Buffer, name: number, pairs: number): Note {
  const word = (at: number) => body.readUInt32LE(at)
  const first = FIXED_BYTES + name
  return {
    hash: [word(0), word(4), word(8), word(12)],
    name: body.toString('utf8', FIXED_BYTES, first),
    sequence: body.readDoubleLE(16),
    wallMs: body.readDoubleLE(24),
    day: body.readUInt16LE(32),
    month: body.readUInt16LE(34),
    dayCount: word(36),
    monthCount: word(40),
    dayLimit: word(44),
    monthLimit: word(48),
    secondLimit: word(52),
    minuteLimit: word(56),
    pending: word(60),
    fresh: word(64),
    newestMs: body.readUInt8(71) * NEWEST_STEP_MS,
    generation: word(72),
    past:
      body.readUInt8(68) === 0
        ? undefined
        : Array.from({ length: pairs }, (_, i) => [word(first + i * 8), word(first + i * 8 + 4)] as const),
  }
}
