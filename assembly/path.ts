/**
 * Normalizes the path of a request (RFC 3986 §6.2.2) or refuses it, and writes the byte classes that this needs.
 *
 * Removed: `.` and `..` segments (§5.2.4; `..` at the root stays at the root), empty segments except a last one. Empty segments go first,
 * as in nginx and POSIX: `/a//../b` is `/b`. Changed: hexadecimal digits to upper case, escaped unreserved characters to
 * themselves (before dot segments are looked for, so `%2e%2e` is `..`), raw printable characters that no path of a URI may hold
 * (`"<>[]^{|}` and the grave accent) to their escapes. Bytes and escapes that servers understand differently are refused (abi.ts).
 */
import {
  ARENA_CLASSES,
  ARENA_INPUT,
  ARENA_OUTPUT,
  MAX_PATH_BYTES,
  PATH_BACKSLASH,
  PATH_BAD_CHARACTER,
  PATH_BAD_ESCAPE,
  PATH_CONTROL,
  PATH_ENCODED_SLASH,
  PATH_INVALID_UTF8,
  PATH_NOT_ABSOLUTE,
  PATH_NOT_ASCII,
  PATH_NUL,
  PATH_TOO_LONG,
  RESULT_PARAM_COUNT,
  RESULT_PATH,
  RESULT_PATH_LENGTH,
  RESULT_REFUSED_AT,
} from './abi'
import { arena } from './memory'

const SLASH: u32 = 0x2f
const DOT: u32 = 0x2e

/** Where the last normalized path stands. */
export let path: usize = 0
/** Its length in bytes. */
export let pathLength: i32 = 0
/** Bit per slash among its first 64 bytes, and one for its end if that is among them. */
export let segmentEnds: u64 = 0

/** Normalizes the first `length` bytes of INPUT. @returns 0, or a PATH_… status. */
export function normalize(length: i32): i32 {
  const input = arena + ARENA_INPUT
  if (length > MAX_PATH_BYTES) return refuse(input, input + MAX_PATH_BYTES, PATH_TOO_LONG)
  if (length < 1 || load<u8>(input) != SLASH) return refuse(input, input, PATH_NOT_ABSOLUTE)
  if (scan(input, length)) return accept(input, length)
  return rewrite(input, input + length)
}

function accept(at: usize, length: i32): i32 {
  path = at
  pathLength = length
  store<u32>(arena + RESULT_PATH, <u32>(at - arena))
  store<u32>(arena + RESULT_PATH_LENGTH, length)
  return 0
}

function refuse(input: usize, at: usize, status: i32): i32 {
  accept(input, 0)
  store<u32>(arena + RESULT_PARAM_COUNT, 0)
  store<u32>(arena + RESULT_REFUSED_AT, <u32>(at - input))
  return status
}

/**
 * Writes the class tables to the arena, once: there a load fetches one, while each vector constant in code takes four
 * instructions to build. The low half of a byte gives the set of high halves (bit n: 0x2 + n) with which it is a URI
 * path character (RFC 3986 §3.3 pchar) or the slash.
 */
export function writeClasses(): void {
  const classes = arena + ARENA_CLASSES
  v128.store(
    classes,
    i8x16(0x2e, 0x3f, 0x3e, 0x3e, 0x3f, 0x3e, 0x3f, 0x3f, 0x3f, 0x3f, 0x3f, 0x17, 0x15, 0x17, 0x35, 0x1d),
  )
  v128.store(classes, i8x16(0, 0, 1, 2, 4, 8, 16, 32, 0, 0, 0, 0, 0, 0, 0, 0), 16)
  v128.store(classes, i8x16.splat(0x0f), 32)
  v128.store(classes, i8x16.splat(<i8>SLASH), 48)
  v128.store(classes, i8x16.splat(<i8>DOT), 64)
}

/** Bit per byte of a block that is neither a path character nor a slash; `%` is neither, so every escape is examined. */
function foreignBytes(block: v128, lowTable: v128, highTable: v128, nibble: v128): i32 {
  const low = i8x16.swizzle(lowTable, v128.and(block, nibble))
  const high = i8x16.swizzle(highTable, v128.and(i16x8.shr_u(block, 4), nibble))
  return i8x16.bitmask(i8x16.eq(v128.and(low, high), i8x16.splat(0)))
}

/**
 * Sets `segmentEnds` and returns whether the path is canonical. It may return false for a canonical path
 * (`/.well-known`: a dot after a slash); the path is then rewritten to itself.
 */
function scan(start: usize, length: i32): bool {
  const classes = arena + ARENA_CLASSES
  const lowTable = v128.load(classes)
  const highTable = v128.load(classes, 16)
  const nibble = v128.load(classes, 32)
  const slash = v128.load(classes, 48)
  const dot = v128.load(classes, 64)
  let suspects: u64 = 0
  let afterSlash: u64 = 0
  for (let from = 0; from < length; from += 64) {
    let foreign: u64 = 0
    let slashes: u64 = 0
    let dots: u64 = 0
    const left = length - from
    for (let at = 0; at < min(left, 64); at += 16) {
      const block = v128.load(start + from + at)
      foreign |= <u64>foreignBytes(block, lowTable, highTable, nibble) << at
      slashes |= <u64>i8x16.bitmask(i8x16.eq(block, slash)) << at
      dots |= <u64>i8x16.bitmask(i8x16.eq(block, dot)) << at
    }
    // What stands behind the end is left over from another path.
    const inside = left < 64 ? (<u64>1 << left) - 1 : u64.MAX_VALUE
    slashes &= inside
    suspects |= (foreign | (((slashes << 1) | afterSlash) & (slashes | dots))) & inside
    afterSlash = slashes >> 63
    if (from == 0) segmentEnds = slashes | (left < 64 ? <u64>1 << left : 0)
  }
  return suspects == 0
}

/** Writes the canonical path to OUTPUT. */
function rewrite(input: usize, end: usize): i32 {
  const output = arena + ARENA_OUTPUT
  let from = input + 1
  let to = output + 1
  let segment = to
  const classes = arena + ARENA_CLASSES
  const lowTable = v128.load(classes)
  const highTable = v128.load(classes, 16)
  const nibble = v128.load(classes, 32)
  store<u8>(output, SLASH)
  while (true) {
    // Plain bytes in one go; the store may write 16 bytes too many, which the next one covers.
    const block = v128.load(from)
    v128.store(to, block)
    let stops =
      foreignBytes(block, lowTable, highTable, nibble) | i8x16.bitmask(i8x16.eq(block, i8x16.splat(<i8>SLASH)))
    const left = <i32>(end - from)
    if (left < 16) stops |= 1 << left
    if (stops == 0) {
      from += 16
      to += 16
      continue
    }
    const plain = ctz(stops)
    from += plain
    to += plain
    if (from == end || load<u8>(from) == SLASH) {
      const size = to - segment
      if (size > 2 || (size > 0 && load<u8>(segment) != DOT) || (size == 2 && load<u8>(segment, 1) != DOT)) {
        if (from == end) break
        store<u8>(to++, SLASH)
      } else {
        // Empty and `.`: dropped. `..`: back over the segment before, which ends in a slash.
        if (size == 2) {
          segment -= segment > output + 1 ? 1 : 0
          while (load<u8>(segment - 1) != SLASH) segment--
        }
        to = segment
        if (from == end) break
      }
      segment = to
      from++
      continue
    }
    const c = <u32>load<u8>(from)
    if (c == 0x25) {
      const byte = escaped(from, end)
      if (byte < 0) return refuse(input, from, byte)
      if (byte < 0x80) {
        const status = escapeStatus(byte)
        if (status != 0) return refuse(input, from, status)
        if (isUnreserved(byte)) {
          store<u8>(to++, byte)
        } else {
          to = writeEscape(to, byte)
        }
        from += 3
      } else {
        const size = utf8Escapes(from, end, byte)
        if (size < 0) return refuse(input, from, size)
        for (const stop = from + size; from < stop; from += 3) to = writeEscape(to, escaped(from, end))
      }
    } else {
      const status = rawStatus(c)
      if (status != 0) return refuse(input, from, status)
      to = writeEscape(to, c)
      from++
    }
  }
  const length = <i32>(to - output)
  scan(output, length)
  return accept(output, length)
}

/** The byte that the escape at `at` stands for, or PATH_BAD_ESCAPE. */
function escaped(at: usize, end: usize): i32 {
  if (end - at < 3) return PATH_BAD_ESCAPE
  const high = hexValue(load<u8>(at, 1))
  const low = hexValue(load<u8>(at, 2))
  return (high | low) < 0 ? PATH_BAD_ESCAPE : (high << 4) | low
}

function hexValue(c: i32): i32 {
  if (<u32>(c - 0x30) < 10) return c - 0x30
  const letter = (c | 0x20) - 0x61
  return <u32>letter < 6 ? letter + 10 : -1
}

function writeEscape(to: usize, byte: u32): usize {
  const high = byte >> 4
  const low = byte & 15
  store<u8>(to, 0x25)
  store<u8>(to, high + (high < 10 ? 0x30 : 0x37), 1)
  store<u8>(to, low + (low < 10 ? 0x30 : 0x37), 2)
  return to + 3
}

/** Why an ASCII character may not be there even escaped; 0 when it may. */
function escapeStatus(byte: u32): i32 {
  if (byte == 0) return PATH_NUL
  if (byte < 0x20 || byte == 0x7f) return PATH_CONTROL
  if (byte == SLASH) return PATH_ENCODED_SLASH
  if (byte == 0x5c) return PATH_BACKSLASH
  return 0
}

/** Why a raw byte that is not a path character is refused; 0 when it is equivalent to its escape. */
function rawStatus(byte: u32): i32 {
  if (byte >= 0x80) return PATH_NOT_ASCII
  if (byte == 0x20 || byte == 0x23 || byte == 0x3f) return PATH_BAD_CHARACTER
  return escapeStatus(byte)
}

/** RFC 3986 §2.3: letters, digits, `-`, `.`, `_`, `~`. */
function isUnreserved(byte: u32): bool {
  const letter = (byte | 0x20) - 0x61
  return letter < 26 || byte - 0x30 < 10 || byte == 0x2d || byte == DOT || byte == 0x5f || byte == 0x7e
}

/**
 * Bytes that the escaped UTF-8 sequence at `at` takes, three per escape; or PATH_INVALID_UTF8, or PATH_CONTROL for U+0080–9F.
 * The ranges are those of RFC 3629 §4: no overlong form, no surrogate, nothing above U+10FFFF.
 */
function utf8Escapes(at: usize, end: usize, lead: i32): i32 {
  if (lead < 0xc2 || lead > 0xf4) return PATH_INVALID_UTF8
  const more = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3
  let least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80
  let most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf
  for (let i = 1; i <= more; i++) {
    const next = at + i * 3
    if (next >= end || load<u8>(next) != 0x25) return PATH_INVALID_UTF8
    const byte = escaped(next, end)
    if (byte < least || byte > most) return PATH_INVALID_UTF8
    if (lead == 0xc2 && byte < 0xa0) return PATH_CONTROL
    least = 0x80
    most = 0xbf
  }
  return 3 + more * 3
}
