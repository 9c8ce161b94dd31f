/** One token from one of 4,096 buckets in shared memory, by slot; beside buckets in plain JavaScript that threads can share. */
import { createKernel } from '../../src/data-plane/kernel/create.ts'
import { createTwin } from '../../test/oracles/kernel/twin.ts'
import type { Suite } from '../suite.ts'
import { BestJsBuckets } from './best-js.ts'

const SLOTS = 4096
const PER_RUN = 1024
const RATE = { tokens: 1_000_000, periodMs: 1000, burst: 1_000_000_000 }

export default {
  id: 'kernel/bucket',
  title: 'Take a token by slot, 4,096 slots in shared memory',
  reference: 'best-js',
  cases() {
    const { kernel } = createKernel()
    const { kernel: twin } = createTwin()
    const buckets = new BestJsBuckets(SLOTS)
    for (let slot = 0; slot < SLOTS; slot++) {
      kernel.setBucketRate(slot, RATE)
      twin.setBucketRate(slot, RATE)
      buckets.setRate(slot, RATE.tokens, RATE.periodMs, RATE.burst)
    }
    // Slots in no order that a prefetcher knows.
    const slots = Int32Array.from({ length: PER_RUN }, (_, i) => (i * 2_654_435_761) % SLOTS)
    let nowMs = Date.now()
    const prepare = (): void => {
      nowMs++
    }
    const check = (refused: number): void => {
      if (refused !== 0) throw new Error(`${refused} tokens were refused`)
    }
    return [
      {
        id: 'wasm',
        perRun: PER_RUN,
        prepare,
        run() {
          let refused = 0
          for (let i = 0; i < PER_RUN; i++) refused += kernel.takeTokens(slots[i]!, 1, nowMs)
          check(refused)
        },
      },
      {
        id: 'twin',
        perRun: PER_RUN,
        prepare,
        run() {
          let refused = 0
          for (let i = 0; i < PER_RUN; i++) refused += twin.takeTokens(slots[i]!, 1, nowMs)
          check(refused)
        },
      },
      {
        id: 'best-js',
        perRun: PER_RUN,
        prepare,
        run() {
          let refused = 0
          for (let i = 0; i < PER_RUN; i++) if (!buckets.take(slots[i]!, nowMs)) refused++
          check(refused)
        },
      },
    ]
  },
} satisfies Suite
