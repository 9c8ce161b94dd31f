/** Decides a call by the limits of its consumer and tool, counts a granted one, and advances the counts of a slot to the present. */
import {
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
  TAKE_BURST_UNRESERVED,
  TAKE_GRANTED,
  TAKE_REFUSED,
  TAKE_TOOL_UNRESERVED,
  TAKE_UNRESERVED,
} from './window-abi'
import { Bucket, Consumer, Slot, countOfDay, countOfMonth, inFlightOf, minuteCountsOf, minuteOf, secondCountsOf, secondOf } from './window-slot'
import { day, month, monthOfDay, monthStart } from './window-calendar'
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
import { addInFlight } from './window-thread'

/** Advances clock and rings of a consumer to now. The clock never goes back, even if the caller's does. */
export function tick(slot: usize, nowMs: i64): void {
  const consumer = changetype<Consumer>(slot)
  const before = consumer.clock
  let now = clockAt(nowMs, phaseOf(before))
  if (now > before) {
    const second = secondOf(slot)
    const minute = minuteOf(slot)
    const step = secondStep(now)
    if (step != secondStep(before)) {
      advance(second, secondCountsOf(slot), secondStep(before), step)
      if (held(minute) != 0) advance(minute, minuteCountsOf(slot), minuteStep(before), minuteStep(now))
      if (held(second) == 0 && held(minute) == 0) {
        const aligned = clockAt(nowMs, phaseAt(nowMs))
        if (clockMs(aligned) >= clockMs(before)) now = aligned
      }
    }
    consumer.clock = now
  }
}

/** As `tick`, and turns the calendar counts to the day of `setCalendar`. */
export function settle(slot: usize, nowMs: i64): void {
  tick(slot, nowMs)
  const consumer = changetype<Consumer>(slot)
  if (<u32>consumer.day == day) return
  // reserved units were written to the journal for the day before
  consumer.reserved -= consumer.tokens
  consumer.tokens = 0
  turn(slot, day)
}

/**
 * Turns the calendar counts to a day and its month. The other day stays known, in either direction: a clock that was set to
 * a wrong day and is put right finds the counts of the right one, and what was counted on the wrong day limits no other.
 */
export function turn(slot: usize, to: u32): void {
  const consumer = changetype<Consumer>(slot)
  const ofDay = countOfDay(consumer, to)
  const ofMonth = countOfMonth(consumer, monthOfDay(to))
  if (monthOfDay(to) != monthOfDay(consumer.day)) consumer.otherMonthCount = consumer.monthCount
  consumer.monthCount = ofMonth
  consumer.otherDayCount = consumer.dayCount
  consumer.dayCount = ofDay
  consumer.otherDay = consumer.day
  consumer.day = <u16>to
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

/** Writes the tightest window to OUT_…. `toolFullMs`: until the tool's bucket is full. */
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
  const bucket = changetype<Bucket>(tool)
  const before = bucket.clock
  const full = <i64>burst * BUCKET_TOKEN
  // A forward jump of the clock must not overflow; 2^31 ms fill every bucket.
  const passed = min<i64>(max<i64>(nowMs - before, 0), i32.MAX_VALUE)
  const level = before == 0 ? full : min<i64>(full, bucket.level + passed * rate)
  bucket.level = level
  bucket.clock = max(nowMs, before)
  bucket.rate = rate
  bucket.burst = burst
  return level
}

/** The lease of units and slots has ended. */
// @ts-ignore: decorator
@inline
function expired(slot: usize, nowMs: i64): bool {
  const until = changetype<Slot>(slot).until
  return until != 0 && <u32>(nowMs >> 4) >= until
}

/** There is no unit to spend, or it has expired. */
// @ts-ignore: decorator
@inline
export function unreserved(slot: usize, nowMs: i64): bool {
  return changetype<Slot>(slot).tokens == 0 || expired(slot, nowMs)
}

// @ts-ignore: decorator
@inline
function spend(slot: usize): void {
  const shared = changetype<Slot>(slot)
  shared.tokens -= 1
  shared.reserved -= 1
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
  const consumer = changetype<Consumer>(slot)
  const bucket = changetype<Bucket>(tool)
  settle(slot, nowMs)
  consumer.dayLimit = perDay
  consumer.monthLimit = perMonth
  const clock = consumer.clock
  const second = secondOf(slot)
  const minute = minuteOf(slot)
  const ofDay = consumer.dayCount
  const ofMonth = consumer.monthCount
  const flight = atomic.load<u32>(inFlightOf(slot))
  const inFlight = flight & IN_FLIGHT_MASK

  // the longest window first: the first that refuses is reported
  if (perMonth != 0 && ofMonth >= perMonth) {
    const reset = monthStart(month + 1)
    return refuse(KIND_MONTH, ofMonth, perMonth, <i64>reset * 1000 - unixMs, reset)
  }
  if (perDay != 0 && ofDay >= perDay) {
    const reset = (day + 1) * 86_400
    return refuse(KIND_DAY, ofDay, perDay, <i64>reset * 1000 - unixMs, reset)
  }
  if (perMinute != 0) {
    if (misfit(minute, perMinute)) fit(minute, minuteCountsOf(slot), minuteStep(clock), perMinute)
    if (held(minute) >= perMinute) {
      const free = freeStep(minute, minuteCountsOf(slot), minuteStep(clock), perMinute)
      const wait = untilMinute(clock, free)
      return refuse(KIND_MINUTE, held(minute), perMinute, wait, secsAfter(unixMs, wait))
    }
  }
  if (perSecond != 0) {
    if (misfit(second, perSecond)) fit(second, secondCountsOf(slot), secondStep(clock), perSecond)
    if (held(second) >= perSecond) {
      const free = freeStep(second, secondCountsOf(slot), secondStep(clock), perSecond)
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
  // one more would overflow into the upper half
  if ((burst != 0 && inFlight >= burst) || inFlight == IN_FLIGHT_MASK)
    return refuse(KIND_BURST, inFlight, burst, 1, secsAfter(unixMs, 0))

  const reserving = load<u32>(base, HEAD_RESERVING)
  if (reserving != 0) {
    if (burst != 0 && (reserving & RESERVING_BURST) != 0 && (inFlight >= flight >>> 16 || expired(slot, nowMs)))
      return TAKE_BURST_UNRESERVED
    const counted = (perSecond | perMinute | perDay | perMonth) != 0 && (reserving & RESERVING_CONSUMERS) != 0
    if (counted && unreserved(slot, nowMs)) return TAKE_UNRESERVED
    const metered = tool != 0 && (reserving & RESERVING_TOOLS) != 0
    if (metered && unreserved(tool, nowMs)) return TAKE_TOOL_UNRESERVED
    if (counted) spend(slot)
    if (metered) spend(tool)
    store<u32>(scratch, consumer.tokens, OUT_TOKENS)
  }

  addInFlight(slot)
  consumer.dayCount = ofDay + 1
  consumer.monthCount = ofMonth + 1
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
    bucket.level = level
    toolFullMs = (<i64>toolBurst * BUCKET_TOKEN - level + toolRate - 1) / toolRate
    standing(KIND_TOOL, toolBurst, toolBurst - <u32>(level / BUCKET_TOKEN))
  }
  // calls in flight are not a window: they are reported only when there is no other limit
  if (tightKind == NO_KIND && burst != 0) standing(KIND_BURST, burst, inFlight + 1)
  report(unixMs, toolFullMs)
  return TAKE_GRANTED
}
