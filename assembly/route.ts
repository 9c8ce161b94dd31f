/**
 * Matches a normalized path in a radix tree of segments, and hashes segments for the host, which builds the tree.
 *
 * At each segment the literal goes before `{param}`, and that before the trailing `*`; a way that ends without a route for
 * the method is walked back. `*` takes the rest of the path, which may be empty; `{param}` one segment, which may not.
 */
import {
  ARENA_STACK,
  METHOD_ANY,
  METHOD_NOT_ALLOWED,
  NODE_CATCH_ALL,
  NODE_CHILD_MASK,
  NODE_CHILDREN,
  NODE_FIRST,
  NODE_LAST,
  NODE_LENGTH,
  NODE_METHODS,
  NODE_PARAM,
  NODE_ROUTES,
  NODE_RUN,
  NODE_RUN_LENGTH,
  NODE_SEGMENT,
  NODE_SIZE,
  NOT_FOUND,
  RESULT_ALLOWED,
  RESULT_PARAM_COUNT,
  RESULT_PARAMS,
  ROUTE_SIZE,
} from './abi'
import { arena } from './memory'
import { path, pathLength, segmentEnds } from './path'

/** The root of the table in use; 0 until the host has loaded one: no route is found until then. */
let root: usize = 0

/** Makes the table whose root node is at `node` the one in use. */
export function useTable(node: usize): void {
  root = node
}

/** Matches the path normalized last. @returns the route's number, NOT_FOUND or METHOD_NOT_ALLOWED. */
export function match(method: u32): i32 {
  const stack = arena + ARENA_STACK
  const bit: u32 = 1 << method
  const length = pathLength
  const start = path
  let node = root
  if (node == 0 || length == 0) return missed(0)
  const ends = segmentEnds
  let top = stack
  let allowed: u32 = 0
  let params = arena + RESULT_PARAMS
  let at: i32 = 1

  while (true) {
    let end = length
    let next: usize = 0
    const run = load<i32>(node, NODE_RUN_LENGTH)
    if (run == 0 || (run <= length - at && sameBytes(start + at, load<u32>(node, NODE_RUN), run))) {
      at += run
      end = segmentEnd(start, at, length, ends)
      const size = end - at
      const mask = load<u32>(node, NODE_CHILD_MASK)
      if (mask != NO_CHILDREN) next = follow(load<u32>(node, NODE_CHILDREN), mask, start + at, size)
      const catchAll = load<u32>(node, NODE_CATCH_ALL)
      if (catchAll != 0) top = push(top, catchAll, at, params, TO_THE_END)
      const param = load<u32>(node, NODE_PARAM)
      if (param != 0 && size > 0) {
        if (next == 0) {
          params = capture(params, at, end)
          next = param
        } else {
          top = push(top, param, at, params, end)
        }
      }
    }

    // `next` is the node behind the segment, or 0 for a dead end; then the last choice that has another way is taken up.
    while (next == 0 || end == length) {
      if (next != 0) {
        const methods = load<u32>(next, NODE_METHODS)
        const route = choose(next, methods, bit)
        if (route != 0) return found(route, params)
        allowed |= methods
      }
      if (top == stack) return missed(allowed)
      top -= 16
      next = load<u32>(top)
      at = load<i32>(top, 4)
      params = load<u32>(top, 8)
      end = load<i32>(top, 12)
      if (end == TO_THE_END) end = length
      params = capture(params, at, end)
    }
    node = next
    at = end + 1
  }
}

function missed(allowed: u32): i32 {
  store<u32>(arena + RESULT_PARAM_COUNT, 0)
  if (allowed == 0) return NOT_FOUND
  store<u32>(arena + RESULT_ALLOWED, allowed)
  return METHOD_NOT_ALLOWED
}

/** In place of a parameter's end, on the stack: the rest of the path. */
const TO_THE_END: i32 = -1
/** In place of the child mask: the node has no literal child. */
const NO_CHILDREN: u32 = 0xffffffff

/** Where the segment that begins at `at` ends: at the next slash, or at the end of the path. */
function segmentEnd(start: usize, at: i32, length: i32, ends: u64): i32 {
  if (at < 64) {
    const here = ends >> at
    if (here != 0) return at + <i32>ctz(here)
    at = 64
  }
  while (at < length) {
    const slashes = i8x16.bitmask(i8x16.eq(v128.load(start + at), i8x16.splat(0x2f)))
    if (slashes != 0) return min(at + ctz(slashes), length)
    at += 16
  }
  return length
}

/** Spreads segments over slots. Configuration alone fills a table, so it need not resist chosen keys. */
function hashOf(first: u64, last: u64, size: i32): u32 {
  return <u32>(((first ^ rotl(last, 29) ^ size) * 0x9e3779b97f4a7c15) >> 32)
}

/** The first 8 bytes of a segment shorter than that, then zeros. */
function shortWord(segment: usize, size: i32): u64 {
  return load<u64>(segment) & ((<u64>1 << (size << 3)) - 1)
}

/** The hash of the segment at `at`, for the host that fills a table. */
export function segmentHash(at: usize, size: i32): u32 {
  if (size < 8) return hashOf(shortWord(at, size), shortWord(at, size), size)
  return hashOf(load<u64>(at), load<u64>(at + size - 8), size)
}

/** The literal child whose segment equals this one, or 0. */
function follow(children: usize, mask: u32, segment: usize, size: i32): usize {
  let first: u64
  let last: u64
  if (size < 8) {
    first = shortWord(segment, size)
    last = first
  } else {
    first = load<u64>(segment)
    last = load<u64>(segment + size - 8)
  }
  const home = hashOf(first, last, size) & mask
  let slot = home
  while (true) {
    const child = children + slot * NODE_SIZE
    const length = load<i32>(child, NODE_LENGTH)
    if (length == size && load<u64>(child, NODE_FIRST) == first && load<u64>(child, NODE_LAST) == last) {
      if (size <= 16 || sameBytes(segment + 8, load<u32>(child, NODE_SEGMENT), size - 16)) return child
    }
    if (length < 0) return 0
    slot = (slot + 1) & mask
    if (slot == home) return 0
  }
}

/** Compares `size` bytes, at least 1, by words; `b` is padded to whole ones. */
function sameBytes(a: usize, b: usize, size: i32): bool {
  while (size > 8) {
    if (load<u64>(a) != load<u64>(b)) return false
    a += 8
    b += 8
    size -= 8
  }
  return (load<u64>(a) ^ load<u64>(b)) << (64 - (size << 3)) == 0
}

/** Address of the route that takes the method, or any method; 0 when the node has neither. */
function choose(node: usize, methods: u32, bit: u32): usize {
  if ((methods & bit) != 0) return load<u32>(node, NODE_ROUTES) + popcnt(methods & (bit - 1)) * ROUTE_SIZE
  // METHOD_ANY is the highest bit, so its route is the last.
  if (methods >> METHOD_ANY != 0) return load<u32>(node, NODE_ROUTES) + (popcnt(methods) - 1) * ROUTE_SIZE
  return 0
}

function push(top: usize, node: u32, at: i32, params: usize, end: i32): usize {
  store<u32>(top, node)
  store<i32>(top, at, 4)
  store<u32>(top, <u32>params, 8)
  store<i32>(top, end, 12)
  return top + 16
}

function capture(params: usize, from: i32, to: i32): usize {
  store<i32>(params, from)
  store<i32>(params, to, 4)
  return params + 8
}

function found(route: usize, params: usize): i32 {
  store<u32>(arena + RESULT_PARAM_COUNT, <u32>((params - arena - RESULT_PARAMS) >> 3))
  return load<i32>(route)
}
