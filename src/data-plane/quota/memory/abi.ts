/** The host's copy of `assembly/window-abi.ts`, as far as the host needs it: integer constants only. A test compares the two. */

export const HEAD_FLIGHTS = 0
export const HEAD_RESERVING = 4
export const RESERVING_CONSUMERS = 1
export const RESERVING_TOOLS = 2
export const RESERVING_BURST = 4
export const HEAD_SEQUENCE = 8
export const HEAD_SEED = 16
export const HEAD_CONSUMERS = 64
export const HEAD_TOOLS = 128
export const HEAD_SCRATCH = 256
export const SCRATCH_COUNT = 64
export const SCRATCH_SIZE = 1024
export const SCRATCH_HASH = 64
export const SCRATCH_KEY = 128
export const MAX_KEY_BYTES = 896
export const HASHED = -1

export const TABLE_STRIDE = 4
export const TABLE_CAPACITY = 8
export const TABLE_MASK = 12
export const TABLE_INDEX = 16
export const TABLE_SLOTS = 20
export const TABLE_USED = 24
export const TABLE_EVICTED = 32
export const TABLE_TURNED_AWAY = 36

export const CONSUMER_STRIDE = 256
export const BUCKET_STRIDE = 64

export const OUT_SLOT = 0
export const OUT_NEW = 4
export const OUT_KIND = 8
export const OUT_LIMIT = 12
export const OUT_REMAINING = 16
export const OUT_RESET = 20
export const OUT_USED = 24
export const OUT_RETRY = 28
export const OUT_TOKENS = 32
export const OUT_STUCK = 36
export const BUSY = -1

export const READ_DAY_COUNT = 0
export const READ_MONTH_COUNT = 4
export const READ_DAY_LIMIT = 8
export const READ_MONTH_LIMIT = 12
export const READ_IN_FLIGHT = 16
export const READ_SECOND = 20
export const READ_MINUTE = 24
export const READ_DAY = 28
export const READ_MONTH = 32
export const READ_RESERVED = 40
export const READ_TOKENS = 44
export const READ_SECOND_QUANTUM = 48
export const READ_MINUTE_QUANTUM = 52
export const READ_SEQUENCE = 56
export const READ_PAIRS = 104
export const READ_SHARE = 108
export const READ_SECOND_AGE = 112

export const KIND_SECOND = 0
export const KIND_MINUTE = 1
export const NO_KIND = 6

export const TAKE_GRANTED = 0
export const TAKE_REFUSED = 1
export const TAKE_UNRESERVED = 2
export const TAKE_TOOL_UNRESERVED = 3
export const TAKE_FULL = 4
export const TAKE_BUSY = 5
export const TAKE_BURST_UNRESERVED = 6
