/** Reads how many threads serve calls. It starts none. */
import { availableParallelism } from 'node:os'
import type { Reader } from './reader.ts'

const MAX_WORKERS = 64

/** `auto` counts the processors this process may use. */
export function readWorkers(read: Reader): number {
  if (read.text('WORKERS', 'auto') === 'auto') return Math.min(availableParallelism(), MAX_WORKERS)
  return read.integer('WORKERS', 1, 1, MAX_WORKERS)
}
