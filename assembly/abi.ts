/**
 * Integer constants of the kernel and its host, such as status codes, method numbers, limits and struct offsets. Those of the quota table are in
 * window-abi.ts.
 * Each is one `export const NAME: i32 = …` because the host's copy is made from these lines (`npm run build:kernel`).
 */

/** Incremented with every change of a struct or a call; the host rejects a kernel with another version. */
export const ABI_VERSION: i32 = 4

// ── Status: what `normalize`, `match` and `admit` return when it is below zero ──────────────────────────────

/** No pattern fits the path. */
export const NOT_FOUND: i32 = -1
/** Patterns fit, but none for this method; RESULT_ALLOWED holds the methods of all of them. */
export const METHOD_NOT_ALLOWED: i32 = -2
/** A path begins with `/` (RFC 9112 §3.2.1, origin-form). */
export const PATH_NOT_ABSOLUTE: i32 = -10
/** More than MAX_PATH_BYTES. */
export const PATH_TOO_LONG: i32 = -11
/** `%` without two hexadecimal digits (RFC 3986 §2.1). */
export const PATH_BAD_ESCAPE: i32 = -12
/** `%2F`: one server reads a separator where another reads data. */
export const PATH_ENCODED_SLASH: i32 = -13
/** `\` or `%5C`: a separator to some (WHATWG URL), data to others. */
export const PATH_BACKSLASH: i32 = -14
/** A zero byte, raw or as `%00`: C code of a backend may end the path there. */
export const PATH_NUL: i32 = -15
/** Another control character (1–1F, 7F), raw or escaped. */
export const PATH_CONTROL: i32 = -16
/** Escaped bytes that are not well-formed UTF-8 (RFC 3629 §4). */
export const PATH_INVALID_UTF8: i32 = -17
/** A raw byte above 7F: a URI has none, and listeners do not agree on its encoding. */
export const PATH_NOT_ASCII: i32 = -18
/** Space, `?` or `#`, raw: none can be inside the path of a request line. */
export const PATH_BAD_CHARACTER: i32 = -19

// ── Methods (RFC 9110 §9, RFC 5789) ─────────────────────────────────────────────────────────────────────────

export const METHOD_GET: i32 = 0
export const METHOD_HEAD: i32 = 1
export const METHOD_POST: i32 = 2
export const METHOD_PUT: i32 = 3
export const METHOD_DELETE: i32 = 4
export const METHOD_PATCH: i32 = 5
export const METHOD_OPTIONS: i32 = 6
export const METHOD_TRACE: i32 = 7
export const METHOD_CONNECT: i32 = 8
/** Any other token. Only a route with METHOD_ANY matches it. */
export const METHOD_OTHER: i32 = 9
/** In a route: every method without a separate route for the same pattern. Never the method of a request. */
export const METHOD_ANY: i32 = 10

// ── Limits ──────────────────────────────────────────────────────────────────────────────────────────────────

/** Longest path taken; the listeners stop at the same length. */
export const MAX_PATH_BYTES: i32 = 8192
/** Parameters in one pattern, catch-all included. */
export const MAX_PARAMS: i32 = 32
/** Segments in one pattern; bounds the stack of the search. */
export const MAX_SEGMENTS: i32 = 64

// ── Arena: what belongs to one thread (offsets from its base) ───────────────────────────────────────────────

/** Where the normalized path stands, as an offset from the arena's base: ARENA_INPUT, or ARENA_OUTPUT when it was rewritten. */
export const RESULT_PATH: i32 = 0
/** Its length in bytes. */
export const RESULT_PATH_LENGTH: i32 = 4
/** Parameters of the match. */
export const RESULT_PARAM_COUNT: i32 = 8
/** Bit per method number; set when `match` returned METHOD_NOT_ALLOWED. */
export const RESULT_ALLOWED: i32 = 12
/** Offset in the path as it was given, of the byte that was refused. */
export const RESULT_REFUSED_AT: i32 = 20
/** MAX_PARAMS pairs of u32: start and end of each parameter in the normalized path. */
export const RESULT_PARAMS: i32 = 64
/** The search's stack: MAX_SEGMENTS × 2 entries of 16 bytes. */
export const ARENA_STACK: i32 = 512
/** Byte classes (path.ts), written by `init`. */
export const ARENA_CLASSES: i32 = 3072
/** The window the host writes the path into; 64 bytes beyond its end may be read, never written. */
export const ARENA_INPUT: i32 = 4096
/** The normalized path when it was rewritten; one byte may become three. */
export const ARENA_OUTPUT: i32 = 12544
/** Bytes of an arena. Two route tables follow it, one in use and one to load into. */
export const ARENA_SIZE: i32 = 37248

// ── Route table: written by the host, only read here. All links are addresses, 0 for none ───────────────────
//
// A node is one cache line, so a step of the search touches one. The literal children of a node are an array of
// nodes, hashed by their own segment with linear probing.
//
//    0  u64 first 8 bytes of the segment that leads here ┐ of a segment shorter than 8 bytes both are the same:
//    8  u64 last 8 bytes of it                           ┘ its bytes, then zeros
//   16  i32 its length, −1: the slot is empty     32  u32 {param} child
//   20  u32 address of its middle, see below      36  u32 `*` child
//   24  u32 literal children                      40  u32 bit per method of the routes that end here
//   28  u32 their slots − 1, or −1: none          44  u32 their numbers (i32), lowest bit first        
//   56  u32 address of its run                    48  the number, when there is one; the address before points here
//   60  u32 length of its run, or 0
//
// Of a segment longer than 16 bytes, what lies between its first and last 8 stands elsewhere.
// A run is what must follow the node's segment in any case: the segments of only children that no route ends at, each
// with its slash behind it. Middles and runs are padded to a multiple of 8.

export const NODE_SIZE: i32 = 64
export const NODE_FIRST: i32 = 0
export const NODE_LAST: i32 = 8
export const NODE_LENGTH: i32 = 16
export const NODE_SEGMENT: i32 = 20
export const NODE_CHILDREN: i32 = 24
export const NODE_CHILD_MASK: i32 = 28
export const NODE_PARAM: i32 = 32
export const NODE_CATCH_ALL: i32 = 36
export const NODE_METHODS: i32 = 40
export const NODE_ROUTES: i32 = 44
export const NODE_ROUTE: i32 = 48
export const NODE_RUN: i32 = 56
export const NODE_RUN_LENGTH: i32 = 60
/** Bytes of a route's number. */
export const ROUTE_SIZE: i32 = 4

// ── Token bucket: one slot ──────────────────────────────────────────────────────────────────────────────────

/** A cache line to itself, so that two threads on two buckets do not slow each other. */
export const BUCKET_SIZE: i32 = 64
/** i64, atomic: when the bucket is full again, nanoseconds since the Unix epoch (a past time: it is full). */
export const BUCKET_FULL_AT: i32 = 0
/** i64: nanoseconds until one token has come back. */
export const BUCKET_INTERVAL: i32 = 8
/** i64: tokens it holds × interval. 0, as in an unconfigured slot, refuses every request. */
export const BUCKET_CAPACITY: i32 = 16
