/** The interface of the kernel, and the types of its arguments and results. It contains no code; `wasm.ts` implements it. */

/** One row of a route table. */
export interface RouteDefinition {
  /** Upper case, or `*` for every method without a separate row for the same pattern. */
  readonly method: string
  /**
   * Canonical path. `{name}` stands for one whole segment, not empty; a last segment `*` for the rest, which may be empty.
   * At each segment a literal has priority over `{name}`, and that over `*`.
   */
  readonly pattern: string
}

/** A loaded table. A route number is the index of a row of **this** table: keep the table beside the number. */
export interface RouteTable {
  readonly routes: readonly RouteDefinition[]
}

/** Refill and size of a token bucket. */
export interface BucketRate {
  /** Tokens refilled, evenly, in `periodMs`. Integer, at least 1. */
  readonly tokens: number
  /** Integer milliseconds, at least 1. */
  readonly periodMs: number
  /** Tokens the full bucket holds. Integer, at least 1. */
  readonly burst: number
}

/**
 * One per thread. Results are those of the last call and valid until the next one: read them before other code runs.
 * Only `loadRoutes`, `setBucketRate` and `fillBucket` throw.
 */
export interface Kernel {
  /**
   * Compiles a table and makes it the one in use. Results of the last call stay readable. When it throws, the previous table stays in use.
   * @throws Error naming the row: a pattern that is not canonical, two rows for the same method and pattern, or a table that does not fit.
   */
  loadRoutes(routes: readonly RouteDefinition[]): RouteTable
  /** The table in use; empty at first. */
  readonly table: RouteTable

  /**
   * Normalize and match, in one crossing.
   * @param path raw path of the request line, without query.
   * @param method METHOD_… (`methodNumber`).
   * @returns the route's number, or a negative status of `abi.ts`.
   */
  admit(path: string, method: number): number
  /** The first part of `admit`. @returns 0, or a PATH_… status. */
  normalize(path: string): number
  /** The second part, on the path normalized last. @returns the route's number, NOT_FOUND or METHOD_NOT_ALLOWED. */
  match(method: number): number

  /**
   * The canonical path; '' after a refused one.
   * @param given the path that was passed in, returned as it is when nothing had to change: the kernel keeps no string.
   */
  normalizedPath(given?: string): string
  /** Parameters of the route that was found, `*` included; 0 when none was. */
  readonly paramCount: number
  /**
   * Value of the nth parameter in canonical spelling: percent-escapes stay, and always decode. '' when there is none.
   * @param given as for `normalizedPath`; then no string is created from bytes.
   */
  param(index: number, given?: string): string
  /** Bit per METHOD_… that the path has, after METHOD_NOT_ALLOWED; bit METHOD_ANY never. */
  readonly allowedMethods: number
  /** Index of the character that was refused, after a PATH_… status. */
  readonly refusedAt: number

  /** Sets a bucket's rate. Tokens taken stay taken; a bucket never used is full. @throws RangeError naming what is out of range. */
  setBucketRate(slot: number, rate: BucketRate): void
  /** Fills a bucket, as when a slot goes to a new owner. @throws RangeError when the slot does not exist. */
  fillBucket(slot: number): void
  /**
   * Takes `tokens` (at least 1), all or none.
   * @returns 0; below zero: minus the milliseconds, rounded up, until they are available (−(2³¹−1): never, as from a bucket
   *   without a rate).
   */
  takeTokens(slot: number, tokens: number, nowMs: number): number
  /** Whole tokens a bucket holds; it takes none. */
  tokensLeft(slot: number, nowMs: number): number
}
