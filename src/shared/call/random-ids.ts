/** Random ids of requests, traces and their steps. Nothing secret is made here: an id is told to whoever is called. */
import { randomBytes } from 'node:crypto'

/** Of one step of a trace (W3C Trace Context §3.2.2.4): 16 hex digits, never all zero. */
export function newSpanId(): string {
  return `${randomHex(7)}01`
}

const POOL_BYTES = 4096
let pool = ''
let poolAt = 0

/** Random bytes come in pools: asking the operating system for 16 at a time costs more than all that is done with them. */
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
