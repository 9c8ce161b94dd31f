/** Policies that follow each other on a busy machine: 4 swaps, 10 in the long check; `npm run chaos -- --policy-swaps 100 --busy 20` is the long form. */
import { expect, it } from 'vitest'
import { sized } from '../fixtures/check.ts'
import { swapPolicies } from './policy-swaps.ts'

const SWAPS = sized(4, 10)

it('after a swap is announced only the new revision responds, on every thread, and no call fails', {
  timeout: 300_000,
}, async () => {
  const { findings, ...figures } = await swapPolicies({ swaps: SWAPS, busy: 4, workers: 2 })
  expect(findings).toEqual([])
  expect(figures.swaps).toBe(SWAPS)
  expect(figures.afterAnnouncement).toBeGreaterThanOrEqual(SWAPS * 20)
})
