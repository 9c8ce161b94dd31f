/** Decides one call against every limit of its consumer, all or nothing. Both slots are locked by whoever calls. */
import {
  BUCKET_BURST,
  BUCKET_LEVEL,
  BUCKET_RATE,
  BUCKET_TOKEN,
  HEAD_RESERVING,
  IN_FLIGHT_MASK,
  KIND_BURST,
  KIND_DAY,
  KIND_MINUTE,
  KIND_MONTH,
  KIND_SECOND,
  KIND_TOOL,
  NO_KIND,
  OUT_KIND,
  OUT_LIMIT,
  OUT_REMAINING,
  OUT_RESET,
  OUT_RETRY,
  OUT_TOKENS,
  OUT_USED,
  RESERVING_BURST,
  RESERVING_CONSUMERS,
  RESERVING_TOOLS,
  SLOT_CLOCK,
  SLOT_DAY,
  SLOT_DAY_BEFORE,
  SLOT_DAY_COUNT,
  SLOT_DAY_LIMIT,
  SLOT_IN_FLIGHT,
  SLOT_MINUTE,
  SLOT_MINUTE_RING,
  SLOT_MONTH,
  SLOT_MONTH_BEFORE,
  SLOT_MONTH_COUNT,
  SLOT_MONTH_LIMIT,
  SLOT_RESERVED,
  SLOT_SECOND,
  SLOT_SECOND_RING,
  SLOT_TOKENS,
  SLOT_UNTIL,
  TAKE_BURST_UNRESERVED,
  TAKE_GRANTED,
  TAKE_REFUSED,
  TAKE_TOOL_UNRESERVED,
  TAKE_UNRESERVED,
} from './window-abi'
import { day, month, monthStart } from './window-calendar'
import {
  add,
  advance,
  clockAt,
  clockMs,
  fit,
  freeStep,
  held,
  minuteStep,
  misfit,
  phaseAt,
  phaseOf,
  secondStep,
  untilMinute,
  untilSecond,
} from './window-ring'
import { base, scratch } from './window-table'

/** Brings clock and rings of a consumer to now. The clock never goes back, whatever the caller's does. */
export function tick(slot: usize, nowMs: i64): void {
  const before = load<i64>(slot, SLOT_CLOCK)
  let now = clockAt(nowMs, phaseOf(before))
  if (now > before) {
    const second = slot + SLOT_SECOND
    const minute = slot + SLOT_MINUTE
    const step = secondStep(now)
    if (step != secondStep(before)) {
      advance(second, slot + SLOT_SECOND_RING, secondStep(before), step)
      if (held(minute) != 0) advance(minute, slot + SLOT_MINUTE_RING, minuteStep(before), minuteStep(now))
      if (held(second) == 0 && held(minute) == 0) {
        const aligned = clockAt(nowMs, phaseAt(nowMs))
        if (clockMs(aligned) >= clockMs(before)) now = aligned
      }
    }
    store<i64>(slot, now, SLOT_CLOCK)
  }
}

/** `tick`, and the calendar counts to the periods of `setCalendar`. */
export function settle(slot: usize, nowMs: i64): void {
  tick(slot, nowMs)
  const ofDay = <u32>load<u16>(slot, SLOT_DAY)
  if (day > ofDay) {
    // What was reserved was written down for the day that is over.
    store<u32>(slot, load<u32>(slot, SLOT_RESERVED) - load<u32>(slot, SLOT_TOKENS), SLOT_RESERVED)
    store<u32>(slot, 0, SLOT_TOKENS)
    store<u32>(slot, day == ofDay + 1 ? load<u32>(slot, SLOT_DAY_COUNT) : 0, SLOT_DAY_BEFORE)
    store<u32>(slot, 0, SLOT_DAY_COUNT)
    store<u16>(slot, <u16>day, SLOT_DAY)
  }
  const ofMonth = <u32>load<u16>(slot, SLOT_MONTH)
  if (month > ofMonth) {
    store<u32>(slot, month == ofMonth + 1 ? load<u32>(slot, SLOT_MONTH_COUNT) : 0, SLOT_MONTH_BEFORE)
    store<u32>(slot, 0, SLOT_MONTH_COUNT)
    store<u16>(slot, <u16>month, SLOT_MONTH)
  }
}

function refuse(kind: i32, used: u32, limit: u32, retryMs: i64, resetSecs: u32): i32 {
  store<u32>(scratch, kind, OUT_KIND)
  store<u32>(scratch, used, OUT_USED)
  store<u32>(scratch, limit, OUT_LIMIT)
  store<u32>(scratch, 0, OUT_REMAINING)
  store<u32>(scratch, <u32>min<i64>(max<i64>(retryMs, 1), u32.MAX_VALUE), OUT_RETRY)
  store<u32>(scratch, resetSecs, OUT_RESET)
  return TAKE_REFUSED
}

// @ts-ignore: decorator
@inline
function secsAfter(unixMs: i64, ms: i64): u32 {
  return <u32>(<f64>(unixMs + ms + 999) / 1000)
}

/** The tightest window so far: what remains of it, its limit, its kind. */
let tightest: u32 = 0
let tightLimit: u32 = 0
let tightKind: i32 = NO_KIND

// @ts-ignore: decorator
@inline
function standing(kind: i32, limit: u32, used: u32): void {
  const remaining = limit - min(used, limit)
  if (tightKind != NO_KIND && remaining > tightest) return
  tightest = remaining
  tightLimit = limit
  tightKind = kind
}

/** Writes the tightest window out. `toolFullMs`: until the tool's bucket is full. */
function report(unixMs: i64, toolFullMs: i64): void {
  store<u32>(scratch, tightKind, OUT_KIND)
  store<u32>(scratch, tightLimit, OUT_LIMIT)
  store<u32>(scratch, tightest, OUT_REMAINING)
  let reset: u32
  if (tightKind == KIND_DAY) reset = (day + 1) * 86_400
  else if (tightKind == KIND_MONTH) reset = monthStart(month + 1)
  else if (tightKind == KIND_MINUTE) reset = secsAfter(unixMs, 60_000)
  else if (tightKind == KIND_SECOND) reset = secsAfter(unixMs, 1000)
  else reset = secsAfter(unixMs, tightKind == KIND_TOOL ? toolFullMs : 0)
  store<u32>(scratch, reset, OUT_RESET)
}

/** Refills a bucket to now; a new one is full. */
function refill(tool: usize, nowMs: i64, rate: u32, burst: u32): i64 {
  const before = load<i64>(tool, SLOT_CLOCK)
  const full = <i64>burst * BUCKET_TOKEN
  // A forward jump of the clock must not overflow; 2^31 ms fill every bucket.
  const passed = min<i64>(max<i64>(nowMs - before, 0), i32.MAX_VALUE)
  const level = before == 0 ? full : min<i64>(full, load<i64>(tool, BUCKET_LEVEL) + passed * rate)
  store<i64>(tool, level, BUCKET_LEVEL)
  store<i64>(tool, max(nowMs, before), SLOT_CLOCK)
  store<u32>(tool, rate, BUCKET_RATE)
  store<u32>(tool, burst, BUCKET_BURST)
  return level
}

/** No unit to spend, or none that has not lapsed. */
// @ts-ignore: decorator
@inline
export function unreserved(slot: usize, nowMs: i64): bool {
  const until = load<u32>(slot, SLOT_UNTIL)
  return load<u32>(slot, SLOT_TOKENS) == 0 || (until != 0 && <u32>(nowMs >> 4) >= until)
}

// @ts-ignore: decorator
@inline
function spend(slot: usize): void {
  store<u32>(slot, load<u32>(slot, SLOT_TOKENS) - 1, SLOT_TOKENS)
  store<u32>(slot, load<u32>(slot, SLOT_RESERVED) - 1, SLOT_RESERVED)
}

/**
 * Address of the count of the caller's period: this one, the one before when the caller's clock has stepped back over
 * its end, or 0: further back nobody knows what was counted, so a limit counts as reached.
 */
// @ts-ignore: decorator
@inline
function countAt(slot: usize, newest: u32, asked: u32, current: usize, before: usize): usize {
  return newest == asked ? slot + current : newest == asked + 1 ? slot + before : 0
}

/** @param tool 0 when no tool limit applies */
export function decide(
  slot: usize,
  tool: usize,
  nowMs: i64,
  unixMs: i64,
  perSecond: u32,
  perMinute: u32,
  perDay: u32,
  perMonth: u32,
  burst: u32,
  toolRate: u32,
  toolBurst: u32,
): i32 {
  settle(slot, nowMs)
  store<u32>(slot, perDay, SLOT_DAY_LIMIT)
  store<u32>(slot, perMonth, SLOT_MONTH_LIMIT)
  const clock = load<i64>(slot, SLOT_CLOCK)
  const second = slot + SLOT_SECOND
  const minute = slot + SLOT_MINUTE
  const dayAt = countAt(slot, <u32>load<u16>(slot, SLOT_DAY), day, SLOT_DAY_COUNT, SLOT_DAY_BEFORE)
  const monthAt = countAt(slot, <u32>load<u16>(slot, SLOT_MONTH), month, SLOT_MONTH_COUNT, SLOT_MONTH_BEFORE)
  const ofDay = dayAt == 0 ? perDay : load<u32>(dayAt)
  const ofMonth = monthAt == 0 ? perMonth : load<u32>(monthAt)
  const flight = atomic.load<u32>(slot + SLOT_IN_FLIGHT)
  const inFlight = flight & IN_FLIGHT_MASK

  // The longest wait first: it is the one the caller has to hear of.
  if (perMonth != 0 && ofMonth >= perMonth) {
    const reset = monthStart(month + 1)
    return refuse(KIND_MONTH, ofMonth, perMonth, <i64>reset * 1000 - unixMs, reset)
  }
  if (perDay != 0 && ofDay >= perDay) {
    const reset = (day + 1) * 86_400
    return refuse(KIND_DAY, ofDay, perDay, <i64>reset * 1000 - unixMs, reset)
  }
  if (perMinute != 0) {
    if (misfit(minute, perMinute)) fit(minute, slot + SLOT_MINUTE_RING, minuteStep(clock), perMinute)
    if (held(minute) >= perMinute) {
      const free = freeStep(minute, slot + SLOT_MINUTE_RING, minuteStep(clock), perMinute)
      const wait = untilMinute(clock, free)
      return refuse(KIND_MINUTE, held(minute), perMinute, wait, secsAfter(unixMs, wait))
    }
  }
  if (perSecond != 0) {
    if (misfit(second, perSecond)) fit(second, slot + SLOT_SECOND_RING, secondStep(clock), perSecond)
    if (held(second) >= perSecond) {
      const free = freeStep(second, slot + SLOT_SECOND_RING, secondStep(clock), perSecond)
      const wait = untilSecond(clock, free)
      return refuse(KIND_SECOND, held(second), perSecond, wait, secsAfter(unixMs, wait))
    }
  }
  let level: i64 = 0
  if (tool != 0) {
    level = refill(tool, nowMs, toolRate, toolBurst)
    if (level < BUCKET_TOKEN) {
      const wait = (BUCKET_TOKEN - level + toolRate - 1) / toolRate
      return refuse(KIND_TOOL, toolBurst, toolBurst, wait, secsAfter(unixMs, wait))
    }
  }
  // One more would run over into the share.
  if ((burst != 0 && inFlight >= burst) || inFlight == IN_FLIGHT_MASK)
    return refuse(KIND_BURST, inFlight, burst, 1, secsAfter(unixMs, 0))

  const reserving = load<u32>(base, HEAD_RESERVING)
  if (reserving != 0) {
    if (burst != 0 && (reserving & RESERVING_BURST) != 0 && inFlight >= flight >>> 16) return TAKE_BURST_UNRESERVED
    const counted = (perSecond | perMinute | perDay | perMonth) != 0 && (reserving & RESERVING_CONSUMERS) != 0
    if (counted && unreserved(slot, nowMs)) return TAKE_UNRESERVED
    const bucket = tool != 0 && (reserving & RESERVING_TOOLS) != 0
    if (bucket && unreserved(tool, nowMs)) return TAKE_TOOL_UNRESERVED
    if (counted) spend(slot)
    if (bucket) spend(tool)
    store<u32>(scratch, load<u32>(slot, SLOT_TOKENS), OUT_TOKENS)
  }

  atomic.add<u32>(slot + SLOT_IN_FLIGHT, 1)
  if (dayAt != 0) store<u32>(dayAt, ofDay + 1)
  if (monthAt != 0) store<u32>(monthAt, ofMonth + 1)
  tightKind = NO_KIND
  if (perSecond != 0) {
    add(second, 1)
    standing(KIND_SECOND, perSecond, held(second))
  }
  if (perMinute != 0) {
    add(minute, 1)
    standing(KIND_MINUTE, perMinute, held(minute))
  }
  if (perDay != 0) standing(KIND_DAY, perDay, ofDay + 1)
  if (perMonth != 0) standing(KIND_MONTH, perMonth, ofMonth + 1)
  let toolFullMs: i64 = 0
  if (tool != 0) {
    level -= BUCKET_TOKEN
    store<i64>(tool, level, BUCKET_LEVEL)
    toolFullMs = (<i64>toolBurst * BUCKET_TOKEN - level + toolRate - 1) / toolRate
    standing(KIND_TOOL, toolBurst, toolBurst - <u32>(level / BUCKET_TOKEN))
  }
  // Calls in flight are not a window: they speak only when nothing else does.
  if (tightKind == NO_KIND && burst != 0) standing(KIND_BURST, burst, inFlight + 1)
  report(unixMs, toolFullMs)
  return TAKE_GRANTED
}
