/** The plan of the shared memory: nothing overlaps, everything fits, and a plan that cannot be says which option to change. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ARENA_INPUT, ARENA_SIZE, BUCKET_SIZE, NODE_SIZE } from '../../../../src/data-plane/kernel/abi.ts'
import { createKernel } from '../../../../src/data-plane/kernel/create.ts'
import { arenaOf } from '../../../../src/data-plane/kernel/exports.ts'
import { planLayout, shareMemory } from '../../../../src/data-plane/kernel/layout.ts'

const options = fc.record({
  threads: fc.integer({ min: 1, max: 16 }),
  buckets: fc.nat(5000),
  quotaBytes: fc.nat(64 << 20),
  routeTableBytes: fc.integer({ min: 1024, max: 4 << 20 }),
})

describe('planLayout', () => {
  test('gives every part its own place, aligned as its structs need', () => {
    fc.assert(
      fc.property(options, wanted => {
        const layout = planLayout(wanted)
        const parts = [
          [layout.bucketBase, layout.bucketCount * BUCKET_SIZE],
          [layout.quotaBase, wanted.quotaBytes],
          ...Array.from({ length: wanted.threads }, (_, thread) => [
            arenaOf(layout, thread),
            ARENA_SIZE + 2 * (wanted.routeTableBytes + 64),
          ]),
        ] as [number, number][]
        for (const [i, [base, bytes]] of parts.entries()) {
          expect(base % NODE_SIZE).toBe(0)
          expect(base + bytes).toBeLessThanOrEqual(parts[i + 1]?.[0] ?? layout.pages * 65_536)
        }
        expect(parts[0]![0]).toBeGreaterThan(0)
      }),
    )
  })

  test.each([
    [{ threads: 0 }, /threads is 0/],
    [{ buckets: -1 }, /buckets is -1/],
    [{ quotaBytes: 1.5 }, /quotaBytes is 1.5/],
    [{ routeTableBytes: 10 }, /routeTableBytes is 10/],
    [
      { quotaBytes: 2 ** 31 },
      /16384, a limit in the code and not a setting; .*lower quotaBytes \(2147483648\)/,
    ],
  ])('refuses %j', (wanted, reason) => {
    expect(() => planLayout(wanted)).toThrow(reason)
  })
})

test('a kernel takes its own arena of a shared memory and leaves the others alone', () => {
  const shared = shareMemory({ threads: 3, buckets: 4, routeTableBytes: 4096 })
  const kernels = [0, 1, 2].map(thread => createKernel({ shared, thread }).kernel)
  for (const [i, kernel] of kernels.entries()) kernel.loadRoutes([{ method: 'GET', pattern: `/k${i}/{x}` }])
  kernels[0]!.setBucketRate(1, { tokens: 1, periodMs: 60_000, burst: 3 })
  const found = kernels.map((kernel, i) => kernel.admit(`/k${i}/v${i}`, 0))
  expect(found).toEqual([0, 0, 0])
  expect(kernels.map(kernel => kernel.param(0))).toEqual(['v0', 'v1', 'v2'])
  // The bucket is one for all of them.
  expect(kernels.map(kernel => kernel.takeTokens(1, 1, 1e12))).toEqual([0, 0, 0])
  expect(kernels[2]!.takeTokens(1, 1, 1e12)).toBeLessThan(0)
  const bytes = Buffer.from(shared.memory.buffer, arenaOf(shared.layout, 1) + ARENA_INPUT, 6)
  expect(bytes.toString()).toBe('/k1/v1')
  expect(() => createKernel({ shared, thread: 3 })).toThrow(
    /thread 3 has no arena; the layout was planned for 3 threads/,
  )
})
