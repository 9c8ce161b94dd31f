/** Long work in slices: everything is visited, and others get their turn in between. */
import { expect, it } from 'vitest'
import { inSlices, runInSlices } from '../../../../src/base/async/slices.ts'

function busy(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

it('lets the event loop turn while it goes over many items', async () => {
  let turns = 0
  const turn = (): void => {
    turns++
    handle = setImmediate(turn)
  }
  let handle = setImmediate(turn)
  const visited: number[] = []
  await inSlices(
    Array.from({ length: 2000 }, (_, at) => at),
    at => {
      visited.push(at)
      busy(0.05)
    },
  )
  clearImmediate(handle)
  expect(visited).toHaveLength(2000)
  // 100 ms of work in slices of a millisecond and a bit
  expect(turns).toBeGreaterThanOrEqual(20)
})

it('leaves time to work that fills the turns of the event loop', async () => {
  let turns = 0
  const turn = (): void => {
    turns++
    busy(0.3)
    handle = setImmediate(turn)
  }
  let handle = setImmediate(turn)
  const STEPS = 100
  await runInSlices(
    (function* () {
      for (let step = 0; step < STEPS; step++, yield) busy(1.1)
    })(),
  )
  clearImmediate(handle)
  // without a pause there is one for each slice
  expect(turns).toBeGreaterThan(1.5 * STEPS)
})

it('waits for a visit that returns a Promise, and continues in order', async () => {
  const visited: number[] = []
  await inSlices([1, 2, 3], async at => {
    await new Promise(resolve => setTimeout(resolve, 5 - at))
    visited.push(at)
  })
  expect(visited).toEqual([1, 2, 3])
})

it('visits what is added meanwhile, and not what was taken away', async () => {
  const items = new Set(Array.from({ length: 100 }, (_, at) => at))
  const visited: number[] = []
  await inSlices(items, at => {
    visited.push(at)
    if (at === 0) items.delete(99)
    if (at === 1) items.add(100)
  })
  expect(visited).not.toContain(99)
  expect(visited.at(-1)).toBe(100)
})
