/** Reads how many threads are to serve calls. */
import { availableParallelism } from 'node:os'
import { readCpuLimit } from './cpu-limit.ts'
import type { Reader } from './reader.ts'

const MAX_WORKERS = 64

/** `auto` counts the processors this process may use, by affinity and by the limit of its cgroup. */
export function readWorkers(
  read: Reader,
  limit = readCpuLimit(),
  processors = availableParallelism(),
): number {
  if (read.text('WORKERS', 'auto') === 'auto')
    return Math.min(Math.ceil(limit ?? processors), processors, MAX_WORKERS)
  return read.integer('WORKERS', 1, 1, MAX_WORKERS)
}
