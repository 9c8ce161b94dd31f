/** The structs of the slots of the quota table, and the addresses of their parts. */
import { RING_STEPS } from './window-abi'
import { monthOfDay } from './window-calendar'

/** The part that consumers and tool buckets share. */
@unmanaged
export class Slot {
  /** The hashed key; both 0: the slot is free. */
  keyLow: u64
  keyHigh: u64
  /** Newest time the slot has seen. Consumers: tick clock (window-ring.ts). Tool buckets: milliseconds. */
  clock: i64
  /** Atomic: 0, or the thread (its scratch address) that holds the slot. */
  lock: u32
  private own28: u32
  private own32: u64
  private own40: u64
  private own48: u32
  /** Units reserved and not yet spent; `reserved` includes those still being reserved. */
  tokens: u32
  reserved: u32
  /** When the tokens expire, in units of 16 ms of the monotonic clock; 0 = never. */
  until: u32
}

@unmanaged
export class Consumer {
  private shared0: u64
  private shared8: u64
  clock: i64
  private shared24: u32
  /** Atomic: calls in flight in the lower half; in the upper half how many may be, where that is reserved. */
  inFlight: u32
  /** Days since 1970-01-01 (UTC): the one of the counts, and the one counted before it, which may be later. */
  day: u16
  otherDay: u16
  dayCount: u32
  monthCount: u32
  /** The limits as last seen, for statistics and to decide whether the consumer is idle. */
  dayLimit: u32
  monthLimit: u32
  tokens: u32
  reserved: u32
  until: u32
  /** The rolling second: the fields of a Ring. */
  secondOpen: u32
  private secondHeld: u32
  private secondQuantum: u32
  /** Counts of the other day and of its month, for a clock that is set; that of the month is not valid where both days are of one month. */
  otherDayCount: u32
  /** The rolling minute: the fields of a Ring. */
  minuteOpen: u32
  private minuteHeld: u32
  private minuteQuantum: u32
  otherMonthCount: u32
}

/** The count of one of the two days that a slot knows; 0 for every other day. */
export function countOfDay(consumer: Consumer, day: u32): u32 {
  if (<u32>consumer.day == day) return consumer.dayCount
  return <u32>consumer.otherDay == day ? consumer.otherDayCount : 0
}

export function countOfMonth(consumer: Consumer, month: u32): u32 {
  if (monthOfDay(consumer.day) == month) return consumer.monthCount
  return monthOfDay(consumer.otherDay) == month ? consumer.otherMonthCount : 0
}

/** A rolling window; its bytes of closed sub-windows are separate. */
@unmanaged
export class Ring {
  /** Units admitted in the current sub-window, and what older ones left below a whole quantum. */
  open: u32
  /** Units that count against the limit now. */
  held: u32
  /** Units that one count in a byte represents; 1 up to a limit of 255. 0: never used. */
  quantum: u32
}

/** A tool's token bucket. */
@unmanaged
export class Bucket {
  private shared0: u64
  private shared8: u64
  clock: i64
  private shared24: u64
  /** Tokens × 3,600,000, so that the tokens of an hour are what flows in each millisecond. */
  level: i64
  /** Tokens it may hold, as last seen. */
  burst: u32
  /** Tokens that flow in per hour, as last seen. */
  rate: u32
}

// @ts-ignore: decorator
@inline
export function lockOf(slot: usize): usize {
  return slot + offsetof<Slot>('lock')
}

// @ts-ignore: decorator
@inline
export function inFlightOf(slot: usize): usize {
  return slot + offsetof<Consumer>('inFlight')
}

// @ts-ignore: decorator
@inline
export function secondOf(slot: usize): Ring {
  return changetype<Ring>(slot + offsetof<Consumer>('secondOpen'))
}

// @ts-ignore: decorator
@inline
export function minuteOf(slot: usize): Ring {
  return changetype<Ring>(slot + offsetof<Consumer>('minuteOpen'))
}

/** RING_STEPS bytes behind the fields of a consumer. */
// @ts-ignore: decorator
@inline
export function secondCountsOf(slot: usize): usize {
  return slot + offsetof<Consumer>()
}

/** RING_STEPS bytes behind those of the second. */
// @ts-ignore: decorator
@inline
export function minuteCountsOf(slot: usize): usize {
  return slot + offsetof<Consumer>() + RING_STEPS
}
