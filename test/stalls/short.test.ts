/** The short form of the stall search: one seed, and an installation of 2,000 tools. `npm run stalls` is the long one. */
import { expect, it } from 'vitest'
import { searchStalls } from './search.ts'

const SEED = 4

it('one round of generated documents and arguments blocks no serving thread for more than 20 ms of CPU', {
  timeout: 300_000,
}, async () => {
  const result = await searchStalls({ seed: SEED, forMs: 0, maxRounds: 1, largeInstall: 2_000, workers: 2 })
  expect(result.findings, `npm run stalls -- --seed ${SEED} --rounds 1`).toEqual([])
  expect(result.calls).toBeGreaterThan(30)
  // a call that is refused before its work blocks nothing
  const { 200: successful = 0, ...others } = result.statuses
  expect(successful, JSON.stringify(result.statuses)).toBeGreaterThan(result.calls / 2)
  expect(Object.keys(others).filter(status => !['400', '413'].includes(status))).toEqual([])
})
