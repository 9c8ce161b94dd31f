/**
 * Struct offsets, kinds and status codes of the quota table. No code, only integer constants;
 * `src/data-plane/quota/memory/abi.ts` repeats them for the host and a test compares the two.
 */

// ── Region header (offsets from the base of QUOTA) ──────────────────────────────────────────────────────────

/** u32, atomic: threads that attached so far; each gets a scratch area. */
export const HEAD_THREADS: i32 = 0
/** u32: which grants also need a reserved unit (`SLOT_TOKENS`): RESERVING_… flags. */
export const HEAD_RESERVING: i32 = 4
export const RESERVING_CONSUMERS: i32 = 1
export const RESERVING_TOOLS: i32 = 2
/** A call in flight beyond the reserved share of its limit has to ask for more. */
export const RESERVING_BURST: i32 = 4
/** u64, atomic: rank of the last change that was written down. */
export const HEAD_SEQUENCE: i32 = 8
/** Two u64: the secret of the key hash. */
export const HEAD_SEED: i32 = 16
/** Descriptor of the table of consumers. */
export const HEAD_CONSUMERS: i32 = 64
/** Descriptor of the table of tool buckets. */
export const HEAD_TOOLS: i32 = 128
/** First scratch area. */
export const HEAD_SCRATCH: i32 = 256
/** Threads that can attach. */
export const SCRATCH_COUNT: i32 = 64
/** Bytes of a scratch area: results first, then two hashed keys (consumer, tool), key bytes from SCRATCH_KEY on. */
export const SCRATCH_SIZE: i32 = 1024
export const SCRATCH_HASH: i32 = 64
export const SCRATCH_KEY: i32 = 128
/** Longest key and tool together. The host hashes longer ones down. */
export const MAX_KEY_BYTES: i32 = 896
/** Length of a key whose hash stands at SCRATCH_HASH already. */
export const HASHED: i32 = -1

// ── Table descriptor ────────────────────────────────────────────────────────────────────────────────────────

/** u32, atomic: held by the thread that inserts or evicts. Readers take no lock. */
export const TABLE_LOCK: i32 = 0
/** u32: bytes of a slot. */
export const TABLE_STRIDE: i32 = 4
/** u32: slots. */
export const TABLE_CAPACITY: i32 = 8
/** u32: entries of the index less one; a power of two, at least twice the slots. */
export const TABLE_MASK: i32 = 12
/** u32: index and slots, offsets from the base of QUOTA. */
export const TABLE_INDEX: i32 = 16
export const TABLE_SLOTS: i32 = 20
/** u32: slots handed out at least once. */
export const TABLE_USED: i32 = 24
/** u32: where the search for an idle slot goes on. */
export const TABLE_HAND: i32 = 28
/** u32, atomic: idle slots given to somebody else; newcomers turned away because none was idle. */
export const TABLE_EVICTED: i32 = 32
export const TABLE_TURNED_AWAY: i32 = 36

// ── Slot: the part that consumers and tool buckets share ────────────────────────────────────────────────────

/** Two u64: the hashed key. Both 0: nobody's. */
export const SLOT_KEY: i32 = 0
/** Newest time the slot has seen. Consumers: tick clock (window-ring.ts). Tool buckets: i64 milliseconds. */
export const SLOT_CLOCK: i32 = 16
/** u32, atomic: 0, or the thread (its scratch address) that holds the slot. */
export const SLOT_LOCK: i32 = 24
/** u32: units reserved and not yet spent; those still being reserved included in the second. */
export const SLOT_TOKENS: i32 = 52
export const SLOT_RESERVED: i32 = 56
/** u32: when the tokens lapse, in units of 16 ms of the monotonic clock; 0 = never. */
export const SLOT_UNTIL: i32 = 60

// ── Consumer slot ───────────────────────────────────────────────────────────────────────────────────────────

/** u32, atomic: calls in flight in the lower half; in the upper, how many may be, where that has to be reserved. */
export const SLOT_IN_FLIGHT: i32 = 28
export const IN_FLIGHT_MASK: i32 = 65_535
/** u16 days and u16 months since 1970-01 (UTC) that the counts below belong to. */
export const SLOT_DAY: i32 = 32
export const SLOT_MONTH: i32 = 34
export const SLOT_DAY_COUNT: i32 = 36
export const SLOT_MONTH_COUNT: i32 = 40
/** u32: the limits as last seen, for statistics and for the judgement of who is idle. */
export const SLOT_DAY_LIMIT: i32 = 44
export const SLOT_MONTH_LIMIT: i32 = 48
/** State of the rolling second and minute: RING_… below. */
export const SLOT_SECOND: i32 = 64
export const SLOT_MINUTE: i32 = 80
/** u32: what the day and the month before counted, for a clock that steps back over their end. */
export const SLOT_DAY_BEFORE: i32 = 76
export const SLOT_MONTH_BEFORE: i32 = 92
/** RING_STEPS bytes each. */
export const SLOT_SECOND_RING: i32 = 96
export const SLOT_MINUTE_RING: i32 = 176
export const CONSUMER_STRIDE: i32 = 256

// ── Rolling window ──────────────────────────────────────────────────────────────────────────────────────────

/** Closed sub-windows that are kept beside the current one; a window touches at most RING_STEPS + 1. */
export const RING_STEPS: i32 = 80
/** u32: admitted in the current sub-window, and what older ones left below a whole quantum. */
export const RING_OPEN: i32 = 0
/** u32: all that counts against the limit now. */
export const RING_HELD: i32 = 4
/** u32: units that one count in a ring byte stands for; 1 up to a limit of 255. */
export const RING_QUANTUM: i32 = 8

// ── Tool bucket slot ────────────────────────────────────────────────────────────────────────────────────────

/** i64: tokens × 3,600,000, so that the tokens of an hour are what flows in each millisecond. */
export const BUCKET_LEVEL: i32 = 32
/** u32: tokens it may hold, as last seen. */
export const BUCKET_BURST: i32 = 40
/** u32: tokens that flow in per hour, as last seen. */
export const BUCKET_RATE: i32 = 44
/** Bucket level of one token. */
export const BUCKET_TOKEN: i64 = 3_600_000
export const BUCKET_STRIDE: i32 = 64

// ── Results of a call (offsets in the scratch area) ─────────────────────────────────────────────────────────

export const OUT_SLOT: i32 = 0
/** u32: 1 when this call made the slot. */
export const OUT_NEW: i32 = 4
/** Standing of the tightest window: its kind (NO_KIND when none limits), limit, remaining, Unix seconds of the reset. */
export const OUT_KIND: i32 = 8
export const OUT_LIMIT: i32 = 12
export const OUT_REMAINING: i32 = 16
export const OUT_RESET: i32 = 20
/** u32: set on a refusal: units used, milliseconds until one is free. */
export const OUT_USED: i32 = 24
export const OUT_RETRY: i32 = 28
/** u32: unspent tokens after the call. */
export const OUT_TOKENS: i32 = 32
/** u32: address of the lock, when a call returned TAKE_BUSY or BUSY. */
export const OUT_STUCK: i32 = 36
/** What `quotaRead` and `quotaReset` return when a lock is not free. */
export const BUSY: i32 = -1
/** Nothing to read: a place for the sum of loads that are made for the cache's sake. */
export const OUT_TOUCHED: i32 = 124

// ── Results of `quotaRead` ──────────────────────────────────────────────────────────────────────────────────

/** u32: counts and limits as `SLOT_…`, 0 where their period is over. */
export const READ_DAY_COUNT: i32 = 0
export const READ_MONTH_COUNT: i32 = 4
export const READ_DAY_LIMIT: i32 = 8
export const READ_MONTH_LIMIT: i32 = 12
export const READ_IN_FLIGHT: i32 = 16
/** u32: held in the rolling second and minute. */
export const READ_SECOND: i32 = 20
export const READ_MINUTE: i32 = 24
/** u32: days and months since 1970-01 that the counts belong to. */
export const READ_DAY: i32 = 28
export const READ_MONTH: i32 = 32
/** u32: reserved and not spent; of these, ready to be spent. */
export const READ_RESERVED: i32 = 40
export const READ_TOKENS: i32 = 44
/** u32: quanta of the two rings, so that a restored ring counts as this one does. */
export const READ_SECOND_QUANTUM: i32 = 48
export const READ_MINUTE_QUANTUM: i32 = 52
/** u64: rank of this reading among all changes that are written down, of all consumers and threads. */
export const READ_SEQUENCE: i32 = 56
/** u32: pairs (age in ms, units), two u32 each, from SCRATCH_KEY on: what the rolling minute holds. */
export const READ_PAIRS: i32 = 104
/** u32: the reserved share of calls in flight. */
export const READ_SHARE: i32 = 108

// ── Kinds, in the order of `LimitKind` ──────────────────────────────────────────────────────────────────────

export const KIND_SECOND: i32 = 0
export const KIND_MINUTE: i32 = 1
export const KIND_DAY: i32 = 2
export const KIND_MONTH: i32 = 3
export const KIND_BURST: i32 = 4
export const KIND_TOOL: i32 = 5
export const NO_KIND: i32 = 6

// ── What `quotaTake` returns ────────────────────────────────────────────────────────────────────────────────

export const TAKE_GRANTED: i32 = 0
/** OUT_KIND and what follows say which limit. */
export const TAKE_REFUSED: i32 = 1
/** The windows would admit it, but the consumer (or, for the second, the tool bucket) has no reserved unit. */
export const TAKE_UNRESERVED: i32 = 2
export const TAKE_TOOL_UNRESERVED: i32 = 3
/** The limit on calls in flight would admit it, but not the reserved share of it. */
export const TAKE_BURST_UNRESERVED: i32 = 6
/** No slot is idle. */
export const TAKE_FULL: i32 = 4
/** A lock is not free; OUT_STUCK is its address. Wait for it to change and call again. */
export const TAKE_BUSY: i32 = 5
