/**
 * A rolling window as a ring of sub-window counts. It decides nothing about other windows and takes no lock: whoever
 * calls holds the slot.
 *
 * A window of length W, wherever it starts, touches at most RING_STEPS + 1 sub-windows of W / RING_STEPS. What those
 * admitted together never exceeds the limit, so no window does. A unit comes back once its whole sub-window has left:
 * at most W / 80 late. A byte counts quanta of ⌈limit / 255⌉ units; what does not fill a quantum stays for the next
 * sub-window that closes, so it too can only come back late, and never more than limit / 255 of it.
 * Together that is less than one sixtieth of the limit.
 *
 * Time is the consumer's own tick clock: sub-window of the second (12.5 ms) << 16 | half milliseconds into it << 11 |
 * phase. A sub-window of the minute (750 ms) is 60 of them. The phase moves the boundaries of an idle consumer so that
 * its first call is the last of its sub-window: then it comes back exactly W later.
 */
import { RING_HELD, RING_OPEN, RING_QUANTUM, RING_STEPS } from './window-abi'

/** Half milliseconds in a sub-window of the second. */
const SECOND_TICKS: i64 = 25
/** Sub-windows of the second in one of the minute. */
export const MINUTE_STEPS: i64 = 60
const STEPS: i64 = RING_STEPS
const MOST: u64 = 255

// @ts-ignore: decorator
@inline
export function clockAt(ms: i64, phase: i64): i64 {
  const ticks = ms * 2 + phase
  // Exact below 2^53, and a third of the time that a division of 64-bit integers takes.
  const step = <i64>(<f64>ticks / <f64>SECOND_TICKS)
  return (step << 16) | ((ticks - step * SECOND_TICKS) << 11) | phase
}

/** The phase that makes `ms` the last half millisecond but one of a sub-window of the minute, and so of the second. */
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
  return limit <= <u32>MOST ? 1 : <u32>((<u64>limit + MOST - 1) / MOST)
}

/** Closes the sub-windows from `from` up to before `to`, giving back what is too old. */
export function advance(state: usize, ring: usize, from: i64, to: i64): void {
  if (load<u32>(state, RING_HELD) == 0 || to <= from) return
  if (to - from > STEPS) {
    memory.fill(ring, 0, RING_STEPS)
    store<u32>(state, 0, RING_OPEN)
    store<u32>(state, 0, RING_HELD)
    return
  }
  const quantum = load<u32>(state, RING_QUANTUM)
  const closing = load<u32>(state, RING_OPEN)
  // More than a byte can say comes only of a restore; it stays for the next one.
  const counts = min<u32>(quantum == 1 ? closing : closing / quantum, <u32>MOST)
  const at = <u32>(from % STEPS)
  let freed: u32 = load<u8>(ring + at)
  store<u8>(ring + at, <u8>counts)
  store<u32>(state, closing - counts * quantum, RING_OPEN)
  const skipped = <u32>(to - from - 1)
  if (skipped > 0) {
    const first = at + 1 == RING_STEPS ? 0 : at + 1
    const end = first + skipped
    freed += sweep(ring + first, ring + min<u32>(end, RING_STEPS))
    if (end > RING_STEPS) freed += sweep(ring, ring + end - RING_STEPS)
  }
  store<u32>(state, load<u32>(state, RING_HELD) - freed * quantum, RING_HELD)
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

/** Whether the bytes count in another quantum than that of `limit`. */
// @ts-ignore: decorator
@inline
export function misfit(state: usize, limit: u32): bool {
  return load<u32>(state, RING_QUANTUM) != quantumOf(limit)
}

/**
 * Makes the bytes count in the quantum of `limit`. As long as more is held than the new quantum can express nothing
 * changes, and nothing has to: so much is above the limit.
 * @param step current sub-window
 */
export function fit(state: usize, ring: usize, step: i64, limit: u32): void {
  const wanted = quantumOf(limit)
  const quantum = load<u32>(state, RING_QUANTUM)
  const held = load<u32>(state, RING_HELD)
  if (<u64>held > <u64>wanted * MOST) return
  if (held > 0) {
    let carry: u32 = 0
    for (let i: i64 = 0; i < STEPS; i++) {
      const at = ring + <usize>((step + i) % STEPS)
      carry += <u32>load<u8>(at) * quantum
      const counts = carry / wanted
      store<u8>(at, <u8>counts)
      carry -= counts * wanted
    }
    store<u32>(state, load<u32>(state, RING_OPEN) + carry, RING_OPEN)
  }
  store<u32>(state, wanted, RING_QUANTUM)
}

// @ts-ignore: decorator
@inline
export function held(state: usize): u32 {
  return load<u32>(state, RING_HELD)
}

// @ts-ignore: decorator
@inline
export function add(state: usize, units: u32): void {
  store<u32>(state, load<u32>(state, RING_OPEN) + units, RING_OPEN)
  store<u32>(state, load<u32>(state, RING_HELD) + units, RING_HELD)
}

/** The sub-window at whose start fewer than `limit` units are held, if nothing more is admitted. */
export function freeStep(state: usize, ring: usize, step: i64, limit: u32): i64 {
  const quantum = load<u32>(state, RING_QUANTUM)
  let left: i64 = load<u32>(state, RING_HELD)
  for (let i: i64 = 0; i < STEPS; i++) {
    left -= <i64>load<u8>(ring + <usize>((step + i) % STEPS)) * quantum
    if (left < <i64>limit) return step + 1 + i
  }
  return step + 1 + STEPS
}

/**
 * Puts units in that were admitted in sub-window `then`, before `step`; for the restore of counters.
 * A byte that would overflow passes the rest on to the next younger sub-window.
 */
export function addAt(state: usize, ring: usize, step: i64, then: i64, units: u32): void {
  const quantum = load<u32>(state, RING_QUANTUM)
  let left = units
  for (let at = max(then, step - STEPS); at < step && left > 0; at++) {
    const byte = ring + <usize>(((at % STEPS) + STEPS) % STEPS)
    const counts = min<u32>(left / quantum, <u32>MOST - load<u8>(byte))
    store<u8>(byte, <u8>(load<u8>(byte) + counts))
    left -= counts * quantum
  }
  store<u32>(state, load<u32>(state, RING_OPEN) + left, RING_OPEN)
  store<u32>(state, load<u32>(state, RING_HELD) + units, RING_HELD)
}
