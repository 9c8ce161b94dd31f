/** A process that replaces old objects by new ones, as a control plane does with each change, and reports how far its heap grows. */
import { getHeapStatistics } from 'node:v8'
import { limitHeapGrowth } from '../../../src/app/main/release-start-memory.ts'

const IN_USE_BYTES = 40 * 1024 ** 2
const ROUNDS = 8
const OBJECT_BYTES = 1024

limitHeapGrowth()
const inUse: object[] = []
let highestBytes = 0
for (let at = 0; at < (ROUNDS * IN_USE_BYTES) / OBJECT_BYTES; at++) {
  // each lives long enough to become old
  inUse[at % (IN_USE_BYTES / OBJECT_BYTES)] = Array.from({ length: OBJECT_BYTES / 8 }, () => at)
  if (at % 100 === 0) highestBytes = Math.max(highestBytes, getHeapStatistics().used_heap_size)
}
process.send!({ highestMiB: highestBytes / 1024 ** 2 })
