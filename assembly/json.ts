/**
 * Steps over JSON text, and records whether a string contains a byte above 7F. It refuses invalid JSON, and also some JSON that `JSON.parse`
 * accepts, such as deep nesting; it builds no value.
 *
 * Text ends in a zero byte, which JSON does not contain: loops stop there without counting. Each `skip…` function
 * takes an address and returns the one behind what it stepped over, or 0.
 */

const QUOTE: u32 = 0x22
const COMMA: u32 = 0x2c
const MINUS: u32 = 0x2d
const COLON: u32 = 0x3a
const BACKSLASH: u32 = 0x5c
const BRACKET: u32 = 0x5b
const CLOSING_BRACKET: u32 = 0x5d
const BRACE: u32 = 0x7b
/** A closing brace is a closing bracket with this bit. */
const OF_BRACE: u32 = 0x20

/** Nested containers; a bit each. */
const MAX_DEPTH: i32 = 64
/** Characters before the exponent: fifteen digits survive a double (IEEE 754, DBL_DIG). */
const MAX_NUMBER: usize = 15

/** Set when a byte above 7F was read; the caller clears it first. */
export let foreign: bool = false

export function clearForeign(): void {
  foreign = false
}

/** White space (RFC 8259 §2). */
// @ts-ignore: decorator
@inline
export function skipSpace(at: usize): usize {
  while (load<u8>(at) <= 0x20) {
    const byte: u32 = load<u8>(at)
    if (byte != 0x20 && byte != 0x0a && byte != 0x0d && byte != 0x09) break
    at++
  }
  return at
}

/** Any value. */
export function skipValue(at: usize): usize {
  return skipOut(at, 0, 0, MAX_DEPTH)
}

/** The value of a member of an outermost object. */
export function skipInner(at: usize): usize {
  return skipOut(at, 0, 0, MAX_DEPTH - 1)
}

/** From a member's value in an object to the end of that object. */
export function skipMembers(at: usize): usize {
  return skipOut(at, 1, 1, MAX_DEPTH)
}

/**
 * From where a value begins to the end of the outermost open container, or of the value when none is open.
 * @param kinds the open containers, innermost lowest: 1 is an object
 * @param most containers that may be open at once
 */
function skipOut(at: usize, depth: i32, kinds: u64, most: i32): usize {
  while (true) {
    const byte: u32 = load<u8>(at)
    if (byte == QUOTE) {
      at = skipString(at + 1)
    } else if (byte == BRACE || byte == BRACKET) {
      const kind = (byte & OF_BRACE) >> 5
      at = skipSpace(at + 1)
      if (load<u8>(at) == (CLOSING_BRACKET | (byte & OF_BRACE))) {
        at++
      } else {
        if (depth == most) return 0
        depth++
        kinds = (kinds << 1) | kind
        if (kind != 0) at = skipKey(at)
        if (at == 0) return 0
        continue
      }
    } else {
      at = byte < 0x3a ? skipNumber(at) : skipWord(at)
    }
    if (at == 0) return 0
    while (true) {
      if (depth == 0) return at
      at = skipSpace(at)
      const next: u32 = load<u8>(at)
      const inObject = <u32>(kinds & 1)
      if (next == COMMA) {
        at = skipSpace(at + 1)
        if (inObject != 0) {
          at = skipKey(at)
          if (at == 0) return 0
        }
        break
      }
      if (next != (CLOSING_BRACKET | (inObject << 5))) return 0
      at++
      depth--
      kinds >>= 1
    }
  }
}

/** A member's name, its colon and the space around that. */
// @ts-ignore: decorator
@inline
function skipKey(at: usize): usize {
  if (load<u8>(at) != QUOTE) return 0
  at = skipString(at + 1)
  return at == 0 ? 0 : skipColon(at)
}

/** A colon and the space around it. */
// @ts-ignore: decorator
@inline
export function skipColon(at: usize): usize {
  at = skipSpace(at)
  return load<u8>(at) == COLON ? skipSpace(at + 1) : 0
}

/** Bit per byte of a block that is `"`, `\`, a control character or not ASCII. */
// @ts-ignore: decorator
@inline
function stopsOf(block: v128): i32 {
  return i8x16.bitmask(
    v128.or(
      v128.or(
        i8x16.eq(block, i8x16.splat(<i8>QUOTE)),
        i8x16.eq(block, i8x16.splat(<i8>BACKSLASH)),
      ),
      // signed, so that bytes above 7F are below the space as well
      i8x16.lt_s(block, i8x16.splat(0x20)),
    ),
  )
}

/** A string, from behind its opening quote. */
export function skipString(at: usize): usize {
  while (true) {
    const stops = stopsOf(v128.load(at))
    if (stops == 0) {
      at += 16
      continue
    }
    at += ctz(stops)
    const byte: u32 = load<u8>(at)
    if (byte == QUOTE) return at + 1
    if (byte == BACKSLASH) at = skipEscape(at + 1)
    else if (byte > 0x7f) at = skipForeign(at)
    else return 0
    if (at == 0) return 0
  }
}

/** A string of plain ASCII without escapes, from behind its opening quote: its bytes are its characters. */
export function skipPlainString(at: usize): usize {
  while (true) {
    const stops = stopsOf(v128.load(at))
    if (stops != 0) {
      at += ctz(stops)
      return load<u8>(at) == QUOTE ? at + 1 : 0
    }
    at += 16
  }
}

/** What follows a backslash. Half of a surrogate pair is left to the host, which refuses it. */
function skipEscape(at: usize): usize {
  const byte: u32 = load<u8>(at)
  if (byte != 0x75) {
    const simple =
      byte == QUOTE ||
      byte == BACKSLASH ||
      byte == 0x2f || // /
      byte == 0x62 || // b
      byte == 0x66 || // f
      byte == 0x6e || // n
      byte == 0x72 || // r
      byte == 0x74 // t
    return simple ? at + 1 : 0
  }
  at = skipHex(at + 1)
  const half = at == 0 ? 0 : surrogateAt(at - 4)
  if (half == 0) return at
  if (half != HIGH || load<u16>(at) != 0x755c || skipHex(at + 2) == 0) return 0
  return surrogateAt(at + 2) == LOW ? at + 6 : 0
}

const HIGH: i32 = 1
const LOW: i32 = 2

/** Of four hexadecimal digits: 0, HIGH (D800 to DBFF) or LOW (DC00 to DFFF). */
function surrogateAt(at: usize): i32 {
  const second = load<u8>(at, 1) | 0x20
  if ((load<u8>(at) | 0x20) != 0x64 || second < 0x38) return 0
  return second == 0x38 || second == 0x39 || second == 0x61 || second == 0x62 ? HIGH : LOW
}

/** Four hexadecimal digits. */
function skipHex(at: usize): usize {
  for (let digit = 0; digit < 4; digit++) if (!isHex(load<u8>(at + digit))) return 0
  return at + 4
}

function isHex(byte: u32): bool {
  return byte - 0x30 < 10 || (byte | 0x20) - 0x61 < 6
}

/** One or more well-formed UTF-8 sequences (RFC 3629 §4), as a decoder that refuses everything else takes them. */
function skipForeign(at: usize): usize {
  foreign = true
  while (true) {
    const lead: u32 = load<u8>(at)
    if (lead < 0x80) return at
    const second: u32 = load<u8>(at, 1)
    if (lead < 0xe0) {
      if (lead < 0xc2 || (second & 0xc0) != 0x80) return 0
      at += 2
    } else if (lead < 0xf0) {
      // no longer form than needed; no surrogates
      if (second < (lead == 0xe0 ? 0xa0 : 0x80) || second > (lead == 0xed ? 0x9f : 0xbf)) return 0
      if ((load<u8>(at, 2) & 0xc0) != 0x80) return 0
      at += 3
    } else {
      // up to U+10FFFF
      if (lead > 0xf4 || second < (lead == 0xf0 ? 0x90 : 0x80) || second > (lead == 0xf4 ? 0x8f : 0xbf)) return 0
      if ((load<u16>(at, 2) & 0xc0c0) != 0x8080) return 0
      at += 4
    }
  }
}

/** A string of plain ASCII without escapes, a number, `true`, `false` or `null`; 0 also where another value stands. */
export function skipScalar(at: usize): usize {
  const byte: u32 = load<u8>(at)
  if (byte == QUOTE) return skipPlainString(at + 1)
  if (byte < 0x3a) return skipNumber(at)
  return skipWord(at)
}

/** `true`, `false` or `null`. */
// @ts-ignore: decorator
@inline
function skipWord(at: usize): usize {
  const word = load<u32>(at)
  if (word == 0x65757274 || word == 0x6c6c756e) return at + 4 // true, null
  return word == 0x736c6166 && load<u8>(at, 4) == 0x65 ? at + 5 : 0 // fals, e
}

/**
 * A number (RFC 8259 §6) whose value a double holds for certain; 0 also for others, which the host reads: more than
 * MAX_NUMBER characters, an exponent of more than two digits, `-0` and what begins with `-0.0`.
 */
export function skipNumber(at: usize): usize {
  const from = at
  if (load<u8>(at) == MINUS) at++
  if (load<u8>(at) == 0x30) {
    at++
    if (at - from == 2 && (load<u8>(at) != 0x2e || load<u8>(at, 1) == 0x30)) return 0
  } else {
    at = skipDigits(at)
    if (at == 0) return 0
  }
  if (load<u8>(at) == 0x2e) {
    at = skipDigits(at + 1)
    if (at == 0) return 0
  }
  if (at - from > MAX_NUMBER) return 0
  if ((load<u8>(at) | 0x20) != 0x65) return at
  at++
  const sign: u32 = load<u8>(at)
  if (sign == 0x2b || sign == MINUS) at++
  const end = skipDigits(at)
  return end - at > 2 ? 0 : end
}

/** One digit or more. */
function skipDigits(at: usize): usize {
  if (!isDigit(load<u8>(at))) return 0
  do at++
  while (isDigit(load<u8>(at)))
  return at
}

// @ts-ignore: decorator
@inline
function isDigit(byte: u32): bool {
  return byte - 0x30 < 10
}
