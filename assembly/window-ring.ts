/**
 * A rolling window as a ring of sub-window counts, and the tick clock of a consumer.
 *
 * A window of length W, wherever it starts, touches at most RING_STEPS + 1 sub-windows of W / RING_STEPS. A unit becomes free once its whole
 * sub-window has left. A byte counts quanta of ⌈limit / 255⌉ units; a remainder below a quantum is counted in the next sub-window that closes.
 * docs/decisions/0002-shared-quota-memory.md has the bounds of the error.
 *
 * Time is the consumer's tick clock: sub-window of the second (12.5 ms) << 16 | half milliseconds into it << 11 |
 * phase. A sub-window of the minute (750 ms) is 60 of them. The phase can move the boundaries of an idle consumer so that
 * its first call is at the end of a sub-window.
 */
import { RING_STEPS } from './window-abi'
import { Ring } from './window-slot'

/** Half milliseconds in a sub-window of the second. */
const SECOND_TICKS: i64 = 25
/** Sub-windows of the second in one of the minute. */
export const MINUTE_STEPS: i64 = 60
const STEPS: i64 = RING_STEPS
const MAX_COUNT: u64 = 255

// @ts-ignore: decorator
@inline
export function clockAt(ms: i64, phase: i64): i64 {
  const ticks = ms * 2 + phase
  // Exact below 2^53, and a third of the time that a division of 64-bit integers takes.
  const step = <i64>(<f64>ticks / <f64>SECOND_TICKS)
  return (step << 16) | ((ticks - step * SECOND_TICKS) << 11) | phase
}

/** The phase that makes `ms` the last half millisecond of a sub-window of the minute, and so of the second. */
export function phaseAt(ms: i64): i64 {
  const ticks = MINUTE_STEPS * SECOND_TICKS
  return (ticks - 1 + ticks - ((ms * 2) % ticks)) % ticks
}

// @ts-ignore: decorator
@inline
export function phaseOf(clock: i64): i64 {
  return clock & 2047
}

// @ts-ignore: decorator
@inline
export function secondStep(clock: i64): i64 {
  return clock >> 16
}

// @ts-ignore: decorator
@inline
export function minuteStep(clock: i64): i64 {
  return <i64>(<f64>(clock >> 16) / <f64>MINUTE_STEPS)
}

/** Milliseconds of a clock, rounded down. */
export function clockMs(clock: i64): i64 {
  return ((clock >> 16) * SECOND_TICKS + ((clock >> 11) & 31) - phaseOf(clock)) >> 1
}

/** Milliseconds, rounded up, from `clock` to the start of a sub-window of the second. */
export function untilSecond(clock: i64, step: i64): i64 {
  return ((step - (clock >> 16)) * SECOND_TICKS - ((clock >> 11) & 31) + 1) >> 1
}

/** The same for a sub-window of the minute. */
export function untilMinute(clock: i64, step: i64): i64 {
  return untilSecond(clock, step * MINUTE_STEPS)
}

/** Milliseconds, rounded down and never below 0, from the start of a past sub-window of the second to `clock`. */
export function agoMs(clock: i64, step: i64): i64 {
  return max<i64>((((clock >> 16) - step) * SECOND_TICKS + ((clock >> 11) & 31)) >> 1, 0)
}

// @ts-ignore: decorator
@inline
export function quantumOf(limit: u32): u32 {
  return limit <= <u32>MAX_COUNT ? 1 : <u32>((<u64>limit + MAX_COUNT - 1) / MAX_COUNT)
}

/** Closes the sub-windows from `from` up to before `to`, and frees units that are too old. */
export function advance(state: Ring, ring: usize, from: i64, to: i64): void {
  if (state.held == 0 || to <= from) return
  if (to - from > STEPS) {
    memory.fill(ring, 0, RING_STEPS)
    state.open = 0
    state.held = 0
    return
  }
  const quantum = state.quantum
  const closing = state.open
  // only a restore leaves more than a byte can count; the rest stays for the next sub-window
  const counts = min<u32>(quantum == 1 ? closing : closing / quantum, <u32>MAX_COUNT)
  const at = <u32>(from % STEPS)
  let freed: u32 = load<u8>(ring + at)
  store<u8>(ring + at, <u8>counts)
  state.open = closing - counts * quantum
  const skipped = <u32>(to - from - 1)
  if (skipped > 0) {
    const first = at + 1 == RING_STEPS ? 0 : at + 1
    const end = first + skipped
    freed += sweep(ring + first, ring + min<u32>(end, RING_STEPS))
    if (end > RING_STEPS) freed += sweep(ring, ring + end - RING_STEPS)
  }
  state.held -= freed * quantum
}

/** Sum of the bytes from `at` to `end`, which become 0. */
function sweep(at: usize, end: usize): u32 {
  let sum: u32 = 0
  for (; at + 8 <= end; at += 8) {
    const word = load<u64>(at)
    if (word == 0) continue
    const pairs = (word & 0x00ff00ff00ff00ff) + ((word >> 8) & 0x00ff00ff00ff00ff)
    sum += <u32>((pairs * 0x0001000100010001) >> 48)
    store<u64>(at, 0)
  }
  for (; at < end; at++) {
    sum += load<u8>(at)
    store<u8>(at, 0)
  }
  return sum
}

/** Whether the bytes count in a quantum other than that of `limit`. */
// @ts-ignore: decorator
@inline
export function misfit(state: Ring, limit: u32): bool {
  return state.quantum != quantumOf(limit)
}

/**
 * Converts the bytes to the quantum of `limit`. While more is held than the new quantum can express, nothing changes:
 * that many units exceed the limit in any case.
 * @param step current sub-window
 */
export function fit(state: Ring, ring: usize, step: i64, limit: u32): void {
  const wanted = quantumOf(limit)
  const quantum = state.quantum
  const held = state.held
  if (<u64>held > <u64>wanted * MAX_COUNT) return
  if (held > 0) {
    let carry: u32 = 0
    for (let i: i64 = 0; i < STEPS; i++) {
      const at = ring + <usize>((step + i) % STEPS)
      carry += <u32>load<u8>(at) * quantum
      const counts = carry / wanted
      store<u8>(at, <u8>counts)
      carry -= counts * wanted
    }
    state.open += carry
  }
  state.quantum = wanted
}

// @ts-ignore: decorator
@inline
export function held(state: Ring): u32 {
  return state.held
}

// @ts-ignore: decorator
@inline
export function add(state: Ring, units: u32): void {
  state.open += units
  state.held += units
}

/** The sub-window at whose start fewer than `limit` units are held, if nothing more is admitted. */
export function freeStep(state: Ring, ring: usize, step: i64, limit: u32): i64 {
  const quantum = state.quantum
  let left: i64 = state.held
  for (let i: i64 = 0; i < STEPS; i++) {
    left -= <i64>load<u8>(ring + <usize>((step + i) % STEPS)) * quantum
    if (left < <i64>limit) return step + 1 + i
  }
  return step + 1 + STEPS
}

/**
 * Adds units that were admitted in sub-window `then`, before `step`; for the restore of counters. What a byte cannot
 * count goes to the next younger sub-window.
 */
export function addAt(state: Ring, ring: usize, step: i64, then: i64, units: u32): void {
  const quantum = state.quantum
  let left = units
  for (let at = max(then, step - STEPS); at < step && left > 0; at++) {
    const byte = ring + <usize>(((at % STEPS) + STEPS) % STEPS)
    const counts = min<u32>(left / quantum, <u32>MAX_COUNT - load<u8>(byte))
    store<u8>(byte, <u8>(load<u8>(byte) + counts))
    left -= counts * quantum
  }
  state.open += left
  state.held += units
}
