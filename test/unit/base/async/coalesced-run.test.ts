/** Requests during a run lead to one more run, at whatever moment they come; none follows a stop. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { CoalescedRun } from '../../../../src/base/async/coalesced-run.ts'

it('joins requests during a run into one more run', async () => {
  let runs = 0
  const run = new CoalescedRun(async () => {
    runs++
    await sleep(5)
  })
  run.request()
  for (let count = 0; count < 5; count++) run.request()
  await sleep(30)
  expect(runs).toBe(2)
  run.request()
  await sleep(30)
  expect(runs).toBe(3)
})

it.each([0, 1, 2, 3, 4, 5, 6, 7, 8])('loses no request %d microtasks after the work', async depth => {
  let runs = 0
  const run = new CoalescedRun(async () => {
    if (++runs > 1) return
    let later = Promise.resolve()
    for (let count = 0; count < depth; count++) later = later.then(() => {})
    void later.then(() => run.request())
  })
  run.request()
  await sleep(5)
  expect(runs).toBe(2)
})

it('runs no more once it is stopped, and waits for the last run', async () => {
  let runs = 0
  let ended = 0
  const run = new CoalescedRun(async () => {
    runs++
    await sleep(5)
    ended++
  })
  run.request()
  run.request()
  await run.stop()
  run.request()
  await sleep(30)
  expect([runs, ended]).toEqual([1, 1])
})
