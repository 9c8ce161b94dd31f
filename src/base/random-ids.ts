/** Random ids of requests, traces and spans. They are not secret. */
import { randomBytes } from 'node:crypto'

/** For a span (W3C Trace Context §3.2.2.4): 16 hex digits, never all zero. */
export function newSpanId(): string {
  const id = randomHex(8)
  return id === ZERO_ID ? newSpanId() : id
}

const ZERO_ID = '0'.repeat(16)
const POOL_BYTES = 4096
let pool = ''
let poolAt = 0

/** Taken from a pool: a system call for each id would dominate its cost. */
export function randomHex(bytes: number): string {
  const end = poolAt + 2 * bytes
  if (end > pool.length) {
    pool = randomBytes(POOL_BYTES).toString('hex')
    poolAt = 0
    return randomHex(bytes)
  }
  const hex = pool.slice(poolAt, end)
  poolAt = end
  return hex
}
