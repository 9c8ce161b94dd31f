/**
 * Route match: walks a radix tree of path segments over the bytes of a normalized path. It reads tables, it never writes one.
 *
 * At each segment the literal goes before `{param}`, and that before the trailing `*`; a way that ends without a route for
 * the method is walked back. `*` takes the rest of the path, which may be empty; `{param}` one segment, which may not.
 */
import {
  ARENA_STACK,
  EDGE_LENGTH,
  EDGE_NODE,
  EDGE_SEGMENT,
  EDGE_SIZE,
  LEAF_METHODS,
  LEAF_ROUTE_SIZE,
  LEAF_ROUTES,
  METHOD_ANY,
  METHOD_NOT_ALLOWED,
  NODE_CATCH_ALL,
  NODE_EDGE_MASK,
  NODE_EDGES,
  NODE_LEAF,
  NODE_PARAM,
  NOT_FOUND,
  RESULT_ALLOWED,
  RESULT_PARAM_COUNT,
  RESULT_PARAMS,
  TABLE_ROOT,
} from './abi'
import { arena } from './memory'
import { path, pathLength } from './path'

/** The table in use; 0 until the host has loaded one, and then nothing is found. */
let table: usize = 0
/** Bucket of the route found last, or -1. */
export let routeBucket: i32 = -1

/** Makes the table at `base` the one in use. */
export function useTable(base: usize): void {
  table = base
}

/** Matches the path normalized last. @returns the route's number, NOT_FOUND or METHOD_NOT_ALLOWED. */
export function match(method: u32): i32 {
  const stack = arena + ARENA_STACK
  const bit: u32 = 1 << method
  const length = pathLength
  const start = path
  let top = stack
  let allowed: u32 = 0
  let params = arena + RESULT_PARAMS
  let at: i32 = 1
  let node = table + TABLE_ROOT
  if (table == 0 || length == 0) return NOT_FOUND

  while (true) {
    const segment = start + at
    const block = v128.load(segment)
    const size = segmentSize(segment, block, length - at)
    let end = at + size
    let next: usize = 0
    const mask = load<u32>(node, NODE_EDGE_MASK)
    if (mask != NO_EDGES) next = follow(node, mask, segment, block, size)
    const catchAll = load<u32>(node, NODE_CATCH_ALL)
    if (catchAll != 0) top = push(top, catchAll, at, params, TO_THE_END)
    const param = load<u32>(node, NODE_PARAM)
    if (param != 0 && size > 0) {
      if (next == 0) {
        params = capture(params, at, end)
        next = table + param
      } else {
        top = push(top, param, at, params, end)
      }
    }

    // `next` is the node behind the segment, or 0 for a dead end; then the last choice that has another way is taken up.
    while (next == 0 || end == length) {
      if (next != 0) {
        const leaf = load<u32>(next, NODE_LEAF)
        if (leaf != 0) {
          const route = choose(table + leaf, bit)
          if (route != 0) return found(route, params)
          allowed |= load<u32>(table + leaf, LEAF_METHODS)
        }
      }
      if (top == stack) return missed(allowed)
      top -= 16
      next = table + load<u32>(top)
      at = load<i32>(top, 4)
      params = load<u32>(top, 8)
      end = load<i32>(top, 12)
      params = capture(params, at, end == TO_THE_END ? length : end)
      if (end == TO_THE_END) {
        const route = choose(next, bit)
        if (route != 0) return found(route, params)
        allowed |= load<u32>(next, LEAF_METHODS)
        next = 0
      }
    }
    node = next
    at = end + 1
  }
}

function missed(allowed: u32): i32 {
  if (allowed == 0) return NOT_FOUND
  store<u32>(arena + RESULT_ALLOWED, allowed)
  return METHOD_NOT_ALLOWED
}

/** In place of a parameter's end, on the stack: the choice is a `*`. */
const TO_THE_END: i32 = -1
/** In place of an edge mask: the node has no literal child. */
const NO_EDGES: u32 = 0xffffffff

/** Bytes up to the next slash or the end. */
function segmentSize(segment: usize, head: v128, left: i32): i32 {
  let slashes = i8x16.bitmask(i8x16.eq(head, i8x16.splat(0x2f)))
  let size = 0
  while (true) {
    if (left - size < 16) return size + ctz(slashes | (1 << (left - size)))
    if (slashes != 0) return size + ctz(slashes)
    size += 16
    slashes = i8x16.bitmask(i8x16.eq(v128.load(segment + size), i8x16.splat(0x2f)))
  }
}

/** The segment's first 16 bytes, zero behind its end. */
function headOf(head: v128, size: i32): v128 {
  const lanes = i8x16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
  return v128.and(head, i8x16.lt_s(lanes, i8x16.splat(<i8>min(size, 16))))
}

/** Spreads segments over edge slots. Configuration alone fills a table, so it need not resist chosen keys. */
function hashOf(head: v128, segment: usize, size: i32): u32 {
  let h = i64x2.extract_lane(head, 0) ^ rotl(i64x2.extract_lane(head, 1), 29) ^ size
  if (size > 16) h ^= rotl(load<i64>(segment + size - 8), 41)
  h *= 0x9e3779b97f4a7c15
  return <u32>(h >> 32)
}

/** The hash of INPUT's first `size` bytes, for the host that fills a table. */
export function segmentHash(at: usize, size: i32): u32 {
  return hashOf(headOf(v128.load(at), size), at, size)
}

/** The child behind the literal edge that equals the segment, or 0. */
function follow(node: usize, mask: u32, segment: usize, block: v128, size: i32): usize {
  const head = headOf(block, size)
  const edges = table + load<u32>(node, NODE_EDGES)
  let slot = hashOf(head, segment, size) & mask
  while (true) {
    const edge = edges + slot * EDGE_SIZE
    const child = load<u32>(edge, EDGE_NODE)
    if (child == 0) return 0
    if (load<i32>(edge, EDGE_LENGTH) == size && !v128.any_true(v128.xor(v128.load(edge), head))) {
      if (size <= 16 || sameTail(segment, table + load<u32>(edge, EDGE_SEGMENT), size)) return table + child
    }
    slot = (slot + 1) & mask
  }
}

function sameTail(a: usize, b: usize, size: i32): bool {
  for (let i = 16; i < size; i++) if (load<u8>(a + i) != load<u8>(b + i)) return false
  return true
}

/** Address of the leaf's entry for the method, or for any method; 0 when it has neither. */
function choose(leaf: usize, bit: u32): usize {
  const methods = load<u32>(leaf, LEAF_METHODS)
  if ((methods & bit) != 0) return leaf + LEAF_ROUTES + popcnt(methods & (bit - 1)) * LEAF_ROUTE_SIZE
  // METHOD_ANY is the highest bit, so its entry is the last.
  if (methods >> METHOD_ANY != 0) return leaf + LEAF_ROUTES + (popcnt(methods) - 1) * LEAF_ROUTE_SIZE
  return 0
}

function push(top: usize, offset: u32, at: i32, params: usize, end: i32): usize {
  store<u32>(top, offset)
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
  routeBucket = load<i32>(route, 4)
  return load<i32>(route)
}
