/**
 * Finds the parts of a JSON-RPC `tools/call` in a body and writes down their places. It builds no value; a body that it does not take is left to the
 * host's parser.
 *
 * A call is `jsonrpc`, `id`, `method` and `params` once each, in any order, and in `params` once `name` and at most once
 * each `arguments` (an object) and `_meta` (an object). Any other member, a repeated one, an escape or a byte above 7F
 * in one of their names, in `id` or in `name`, another type: OTHER.
 */
import {
  ARENA_BODY,
  ARENA_MEMBERS,
  CALL_ARGUMENTS,
  CALL_FOREIGN,
  CALL_ID,
  CALL_MEMBERS,
  CALL_META,
  CALL_NAME,
  CALL_TOKEN,
  ENVELOPE_CALL,
  ENVELOPE_OTHER,
  MAX_BODY_BYTES,
  MAX_MEMBERS,
  MEMBER_NOT_PLAIN,
  RESULT_CALL,
} from './abi'
import { clearForeign, foreign, skipColon, skipInner, skipMembers, skipNumber, skipPlainString, skipScalar, skipSpace, skipString, skipValue } from './json'
import { arena } from './memory'

const QUOTE: u32 = 0x22
const COMMA: u32 = 0x2c
const BRACKET: u32 = 0x5b
const BRACE: u32 = 0x7b
const CLOSING_BRACE: u32 = 0x7d

const SEEN_JSONRPC: u32 = 1
const SEEN_ID: u32 = 2
const SEEN_METHOD: u32 = 4
const SEEN_PARAMS: u32 = 8
const SEEN_ALL: u32 = 15

const SEEN_NAME: u32 = 1
const SEEN_ARGUMENTS: u32 = 2
const SEEN_META: u32 = 4

/** Where a member's name stands and ends, after `openMember`. */
let key: usize = 0
let keySize: usize = 0
/** The parameter `nested` of `readCall`. */
let takesNested: bool = false

/**
 * Reads the first `length` bytes of BODY.
 * @param nested 0: an object or a list makes the call OTHER at once, if it is among the arguments that are read one by one
 * @returns ENVELOPE_CALL, with its parts in RESULT_CALL; or ENVELOPE_OTHER
 */
export function readCall(length: i32, nested: i32): i32 {
  takesNested = nested != 0
  if (length < 0 || length > MAX_BODY_BYTES) return ENVELOPE_OTHER
  const body = arena + ARENA_BODY
  const end = body + length
  // nothing in JSON goes on at a zero byte; what another body left behind it is never taken for JSON
  store<u64>(end, 0)
  store<u64>(arena + RESULT_CALL, 0, CALL_ARGUMENTS)
  store<u64>(arena + RESULT_CALL, 0, CALL_META)
  store<u64>(arena + RESULT_CALL, 0, CALL_TOKEN)
  store<i32>(arena + RESULT_CALL, -1, CALL_MEMBERS)
  clearForeign()
  let at = skipSpace(body)
  if (load<u8>(at) != BRACE) return ENVELOPE_OTHER
  let seen: u32 = 0
  do {
    at = openMember(at + 1)
    if (at == 0) return ENVELOPE_OTHER
    let member: u32 = 0
    if (keySize == 2) {
      if (load<u16>(key) != 0x6469) return ENVELOPE_OTHER // id
      member = SEEN_ID
      at = readId(at)
    } else if (keySize == 6) {
      const text = load<u64>(key) & 0xffff_ffff_ffff
      if (text == 0x736d_6172_6170) {
        member = SEEN_PARAMS
        at = readParams(at)
      } else {
        if (text != 0x646f_6874_656d) return ENVELOPE_OTHER // method
        member = SEEN_METHOD
        // "tools/call"
        at = load<u64>(at) == 0x632f_736c_6f6f_7422 && load<u32>(at, 8) == 0x226c_6c61 ? at + 12 : 0
      }
    } else {
      if (keySize != 7 || (load<u64>(key) & 0xff_ffff_ffff_ffff) != 0x63_7072_6e6f_736a) return ENVELOPE_OTHER // jsonrpc
      member = SEEN_JSONRPC
      // "2.0"
      at = (load<u64>(at) & 0xff_ffff_ffff) == 0x22_302e_3222 ? at + 5 : 0
    }
    if (at == 0 || (seen & member) != 0) return ENVELOPE_OTHER
    seen |= member
    at = skipSpace(at)
  } while (load<u8>(at) == COMMA)
  if (load<u8>(at) != CLOSING_BRACE || seen != SEEN_ALL || skipSpace(at + 1) != end) return ENVELOPE_OTHER
  store<u32>(arena + RESULT_CALL, <u32>foreign, CALL_FOREIGN)
  return ENVELOPE_CALL
}

/** Behind a brace or a comma: sets `key`. @returns where the member's value begins, or 0. */
// @ts-ignore: decorator
@inline
function openMember(at: usize): usize {
  at = skipSpace(at)
  if (load<u8>(at) != QUOTE) return 0
  key = at + 1
  at = skipPlainString(key)
  if (at == 0) return 0
  keySize = at - 1 - key
  return skipColon(at)
}

/** Writes a span, as offsets in the body. */
// @ts-ignore: decorator
@inline
function storeSpan(part: usize, from: usize, to: usize): void {
  const body = arena + ARENA_BODY
  store<u64>(arena + RESULT_CALL + part, ((<u64>(to - body)) << 32) | <u64>(from - body))
}

function readId(at: usize): usize {
  const end = load<u8>(at) == QUOTE ? skipPlainString(at + 1) : skipNumber(at)
  if (end != 0) storeSpan(CALL_ID, at, end)
  return end
}

function readParams(at: usize): usize {
  if (load<u8>(at) != BRACE) return 0
  let seen: u32 = 0
  do {
    at = openMember(at + 1)
    if (at == 0) return 0
    const from = at
    let member: u32 = 0
    if (keySize == 4) {
      if (load<u32>(key) != 0x656d_616e || load<u8>(at) != QUOTE) return 0 // name
      member = SEEN_NAME
      at = skipPlainString(at + 1)
      storeSpan(CALL_NAME, from + 1, at - 1)
    } else {
      if (load<u8>(at) != BRACE) return 0
      if (keySize == 9) {
        if (load<u64>(key) != 0x746e_656d_7567_7261 || load<u8>(key, 8) != 0x73) return 0 // arguments
        member = SEEN_ARGUMENTS
        at = readArguments(at)
        storeSpan(CALL_ARGUMENTS, from, at)
      } else {
        if (keySize != 5 || (load<u64>(key) & 0xff_ffff_ffff) != 0x61_7465_6d5f) return 0 // _meta
        member = SEEN_META
        at = readMeta(at)
        storeSpan(CALL_META, from, at)
      }
    }
    if (at == 0 || (seen & member) != 0) return 0
    seen |= member
    at = skipSpace(at)
  } while (load<u8>(at) == COMMA)
  return load<u8>(at) == CLOSING_BRACE && (seen & SEEN_NAME) != 0 ? at + 1 : 0
}

/** An object; its members one by one, as long as at most one of them is not plain. */
function readArguments(at: usize): usize {
  const body = arena + ARENA_BODY
  let row = arena + ARENA_MEMBERS
  /** Set on the member that is not plain. */
  let mark: u32 = 0
  let marked = false
  const rows = row + 16 * MAX_MEMBERS
  at = skipSpace(at + 1)
  if (load<u8>(at) == CLOSING_BRACE) {
    store<i32>(arena + RESULT_CALL, 0, CALL_MEMBERS)
    return at + 1
  }
  while (true) {
    if (load<u8>(at) != QUOTE) return 0
    const name = at + 1
    at = skipPlainString(name)
    const plain = at != 0 && row != rows && !isProto(name, at - 1)
    if (at == 0) at = skipString(name)
    if (at == 0) return 0
    const nameEnd = at - 1
    const value = skipColon(at)
    if (value == 0) return 0
    at = plain ? skipScalar(value) : 0
    if (at == 0) {
      const byte: u32 = load<u8>(value)
      if (!takesNested && (byte == BRACE || byte == BRACKET)) return 0
      if (!plain || marked) return skipMembers(value)
      at = skipInner(value)
      if (at == 0) return 0
      marked = true
      mark = MEMBER_NOT_PLAIN
    } else {
      mark = 0
    }
    store<u32>(row, <u32>(name - body))
    store<u32>(row, <u32>(nameEnd - body), 4)
    store<u32>(row, <u32>(value - body) | mark, 8)
    store<u32>(row, <u32>(at - body), 12)
    row += 16
    at = skipSpace(at)
    const next: u32 = load<u8>(at)
    if (next != COMMA) {
      if (next != CLOSING_BRACE) return 0
      store<i32>(arena + RESULT_CALL, <i32>(row - arena - ARENA_MEMBERS) >> 4, CALL_MEMBERS)
      return at + 1
    }
    at = skipSpace(at + 1)
  }
}

/** `__proto__`: an assignment by the host would set the prototype. */
// @ts-ignore: decorator
@inline
function isProto(from: usize, to: usize): bool {
  return to - from == 9 && load<u64>(from) == 0x5f6f_746f_7270_5f5f && load<u8>(from, 8) == 0x5f
}

/** `_meta`; when it holds only a progress token, as usual, also the place of that. */
function readMeta(at: usize): usize {
  const inside = skipSpace(at + 1)
  // "progressToken"
  if (load<u64>(inside) == 0x7365_7267_6f72_7022 && (load<u64>(inside, 7) == 0x226e_656b_6f54_7373)) {
    const value = skipColon(inside + 15)
    if (value != 0) {
      const end = load<u8>(value) == QUOTE ? skipPlainString(value + 1) : skipNumber(value)
      const closing: usize = end == 0 ? 0 : skipSpace(end)
      if (closing != 0 && load<u8>(closing) == CLOSING_BRACE) {
        storeSpan(CALL_TOKEN, value, end)
        return closing + 1
      }
    }
  }
  return skipValue(at)
}
