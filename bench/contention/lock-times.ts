/** Measures how long the kernel tries a lock that is not released, and how long the host sleeps then. It takes the lock by hand. */
import { TAKE_BUSY } from '../../src/data-plane/quota/memory/abi.ts'
import { createQuotaRegion } from '../../src/data-plane/quota/memory/kernel.ts'
import { QuotaTable } from '../../src/data-plane/quota/memory/table.ts'
import { CONSUMER } from './fields.ts'
import type { LockTimes } from './simulate.ts'

const RUNS = 200
const CALLS = 100
const SLEEPS = 40
/** As `LOCK_SLEEP_MS` of src/data-plane/quota/memory/table.ts. */
const SLEEP_MS = 0.1
const [LOCK_AT] = CONSUMER.find(([, name]) => name === 'lock')!

/** The fastest of many runs: other programs can only add to them. */
export function measureLockTimes(): LockTimes {
  const region = createQuotaRegion({ consumers: 64, toolBuckets: 64 })
  const table = new QuotaTable(region)
  const key = table.key('acme/agent')
  const take = (): number =>
    region.kernel.quotaTake(table.placeKey(key), 0, 200_000, Date.now(), 0, 0, 0, 0, 0, 0, 0)
  const fastestNs = (run: () => void, times: number): number => {
    let bestMs = Number.POSITIVE_INFINITY
    for (let at = 0; at < RUNS; at++) {
      const beganMs = performance.now()
      for (let i = 0; i < times; i++) run()
      bestMs = Math.min(bestMs, (performance.now() - beganMs) / times)
    }
    return bestMs * 1e6
  }
  if (take() !== 0) throw new Error('a free lock could not be taken')
  const slot = table.out[0]!
  key.at = slot
  const freeNs = fastestNs(() => {
    take()
    region.kernel.quotaRelease(slot)
  }, CALLS)
  const words = new Int32Array(region.memory.buffer)
  const word = (slot + LOCK_AT) / 4
  words[word] = 1
  if (take() !== TAKE_BUSY)
    throw new Error('a lock that is held was taken; has the layout of a slot changed?')
  const busyNs = fastestNs(take, CALLS)
  let sleepMs = Number.POSITIVE_INFINITY
  for (let at = 0; at < SLEEPS; at++) {
    const beganMs = performance.now()
    Atomics.wait(words, word, 1, SLEEP_MS)
    sleepMs = Math.min(sleepMs, performance.now() - beganMs)
  }
  // half of a call precedes the lock
  return { spinNs: Math.max(0, busyNs - freeNs / 2), sleepNs: sleepMs * 1e6 }
}
