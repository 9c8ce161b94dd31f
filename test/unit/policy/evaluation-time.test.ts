/** The time an evaluation may take: a pause of the machine does not count, and a policy that is slow itself is not served. */
import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createOpaWasmEngine } from '../../../src/policy/opa-wasm/engine.ts'
import { costly, inputOf, SHIPPED } from '../../fixtures/policy/inputs.ts'

afterEach(() => vi.restoreAllMocks())

/** The clock of a machine that stops before so many of its readings. */
function pauseBeforeReadings(readings: readonly number[], pauseMs: number): void {
  const read = performance.now.bind(performance)
  let count = 0
  let pausedMs = 0
  vi.spyOn(performance, 'now').mockImplementation(() => {
    if (readings.includes(++count)) pausedMs += pauseMs
    return read() + pausedMs
  })
}

describe('an evaluation that the machine interrupts', () => {
  it.each([
    ['once, for a moment', [2], 20],
    ['once, for a minute', [2], 60_000],
    ['twice', [2, 4], 100],
  ])('%s is a decision all the same', async (_, readings, pauseMs) => {
    const failures: string[] = []
    const engine = createOpaWasmEngine({
      // a busy test machine adds its own pauses
      maxEvaluationMs: 15,
      onFailure: (failure, detail) => failures.push(`${failure}: ${detail}`),
    })
    const policy = await engine.prepare(readFileSync(SHIPPED))
    pauseBeforeReadings(readings, pauseMs)
    const decision = await policy.decide(inputOf(), 'caller', 1)
    vi.restoreAllMocks()
    policy.close()
    expect(failures).toEqual([])
    expect(decision).toMatchObject({ allow: true })
    expect(decision.unavailable).toBeUndefined()
  })
})

describe('a policy that is too slow itself', () => {
  it('is unavailable, and says how long its fastest run took', async () => {
    const failures: string[] = []
    const engine = createOpaWasmEngine({
      maxEvaluationMs: 1,
      onFailure: (failure, detail) => failures.push(`${failure}: ${detail}`),
    })
    const policy = await engine.prepare(costly({ 'tools.call': 1500 }))
    expect(await policy.decide(inputOf(), 'caller', 1)).toMatchObject({ allow: false, unavailable: true })
    expect(failures).toEqual([
      expect.stringMatching(
        /^overtime: the evaluation took [\d.]+ ms in the fastest of \d runs, more than the limit of 1\.0 ms$/,
      ),
    ])
    policy.close()
  })
})
