/** Policies that follow each other on a busy machine: 10 swaps; `npm run chaos -- --policy-swaps 100 --busy 20` is the long form. */
import { expect, it } from 'vitest'
import { swapPolicies } from './policy-swaps.ts'

it('after a swap is announced only the new revision responds, on every thread, and no call fails', {
  timeout: 300_000,
}, async () => {
  const { findings, ...figures } = await swapPolicies({ swaps: 10, busy: 4, workers: 2 })
  expect(findings).toEqual([])
  expect(figures.swaps).toBe(10)
  expect(figures.afterAnnouncement).toBeGreaterThanOrEqual(10 * 20)
})
