/**
 * Integer constants of the quota table, such as offsets, kinds and status codes. `src/data-plane/quota/memory/abi.ts` repeats those that the host
 * needs, and a test compares the two.
 */

// ── Region header (offsets from the base of QUOTA) ──────────────────────────────────────────────────────────

/** u32: calls in flight of each thread but the first, offset from the base of QUOTA: a u16 for each slot of a consumer. */
export const HEAD_FLIGHTS: i32 = 0
/** u32: which grants also need a reserved unit (`Slot.tokens`): RESERVING_… flags. */
export const HEAD_RESERVING: i32 = 4
export const RESERVING_CONSUMERS: i32 = 1
export const RESERVING_TOOLS: i32 = 2
/** Calls in flight beyond the reserved share of their limit are not granted. */
export const RESERVING_BURST: i32 = 4
/** u64, atomic: rank of the last change written to the journal. */
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
/** Longest key and tool together. The host replaces longer ones by a hash. */
export const MAX_KEY_BYTES: i32 = 896
/** Length of a key whose hash is already at SCRATCH_HASH. */
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
/** u32: slots used at least once. */
export const TABLE_USED: i32 = 24
/** u32: where the search for an idle slot continues. */
export const TABLE_HAND: i32 = 28
/** u32, atomic: idle slots that were evicted; new keys that were refused because no slot was idle. */
export const TABLE_EVICTED: i32 = 32
export const TABLE_TURNED_AWAY: i32 = 36

// ── Slots (window-slot.ts) ──────────────────────────────────────────────────────────────────────────────────

export const CONSUMER_STRIDE: i32 = 256
export const BUCKET_STRIDE: i32 = 64
/** Calls in flight of a consumer are counted in 16 bits. */
export const IN_FLIGHT_MASK: i32 = 65_535
/** Closed sub-windows that are kept beside the current one; a window touches at most RING_STEPS + 1. */
export const RING_STEPS: i32 = 80
/** Bucket level of one token. */
export const BUCKET_TOKEN: i64 = 3_600_000

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
/** u32: unspent units of the consumer after a granted call; written only while HEAD_RESERVING is not 0. */
export const OUT_TOKENS: i32 = 32
/** u32: address of the lock, when a call returned TAKE_BUSY or BUSY. */
export const OUT_STUCK: i32 = 36
/** What a call other than `quotaTake` returns when a lock is not free. */
export const BUSY: i32 = -1
/** What such a call returns when the key has no slot (any more); `quotaReset` returns 0 then. */
export const UNKNOWN: i32 = -2
/** Not a result: it receives loads whose only purpose is to fill the cache. */
export const OUT_TOUCHED: i32 = 124

// ── Results of `quotaRead`, `quotaExport`, `quotaBegin`, `quotaReserve`, `quotaPairs` ───────────────────────

/** u32: counts, 0 when their period is over, and limits, as in Consumer. */
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
/** u32: quanta of the two rings, so that a restored ring has the same precision. */
export const READ_SECOND_QUANTUM: i32 = 48
export const READ_MINUTE_QUANTUM: i32 = 52
/** u64: rank of this reading among the journal entries of all consumers and threads. */
export const READ_SEQUENCE: i32 = 56
/** u32: pairs (age in ms, units), two u32 each, from SCRATCH_KEY on: what a rolling window holds (`writePairs`). */
export const READ_PAIRS: i32 = 104
/** u32: the reserved share of calls in flight. */
export const READ_SHARE: i32 = 108
/** u32: age in ms, rounded down, of the newest unit that the rolling second holds (`quotaExport`). */
export const READ_SECOND_AGE: i32 = 112

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
/** OUT_KIND and the fields after it describe the limit. */
export const TAKE_REFUSED: i32 = 1
/** The windows admit the call, but the consumer (or, for the second, the tool bucket) has no reserved unit. */
export const TAKE_UNRESERVED: i32 = 2
export const TAKE_TOOL_UNRESERVED: i32 = 3
/** The limit on calls in flight admits the call, but its reserved share does not. */
export const TAKE_BURST_UNRESERVED: i32 = 6
/** No slot is idle. */
export const TAKE_FULL: i32 = 4
/** A lock is not free; OUT_STUCK is its address. Wait for it to change and call again. */
export const TAKE_BUSY: i32 = 5
