/**
 * The common timer: an item is late after the timeout, by at most half of it more, and never after it was removed.
 */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Deadlines, NOT_WATCHED, type Watched } from '../../../../src/base/async/deadlines.ts'

interface Item extends Watched {
  readonly name: string
}

let late: string[]
let deadlines: Deadlines<Item>

beforeEach(() => {
  vi.useFakeTimers()
  late = []
  deadlines = new Deadlines<Item>(1000, item => late.push(item.name))
})

afterEach(() => {
  deadlines.stop()
  vi.useRealTimers()
})

function item(name: string): Item {
  return { name, watchedSinceMs: NOT_WATCHED, previous: undefined, next: undefined }
}

it('fires after the time-out, within half of it more', () => {
  for (const name of ['a', 'b', 'c']) {
    deadlines.watch(item(name))
    vi.advanceTimersByTime(100)
  }
  vi.advanceTimersByTime(690)
  expect(late).toEqual([])
  vi.advanceTimersByTime(510)
  expect(late[0]).toBe('a')
  vi.advanceTimersByTime(300)
  expect(late).toEqual(['a', 'b', 'c'])
  vi.advanceTimersByTime(5_000)
  expect(late).toHaveLength(3)
})

it('never fires for what was removed, wherever it stood', () => {
  const items = ['a', 'b', 'c', 'd', 'e'].map(item)
  for (const one of items) deadlines.watch(one)
  for (const at of [0, 2, 4]) deadlines.unwatch(items[at]!)
  deadlines.unwatch(items[2]!)
  vi.advanceTimersByTime(2_000)
  expect(late).toEqual(['b', 'd'])
})

it('starts the time again when an item is watched again', () => {
  const [a, b] = [item('a'), item('b')]
  deadlines.watch(a)
  deadlines.watch(b)
  vi.advanceTimersByTime(800)
  deadlines.watch(a)
  vi.advanceTimersByTime(700)
  expect(late).toEqual(['b'])
  vi.advanceTimersByTime(1_000)
  expect(late).toEqual(['b', 'a'])
})

it('lets its callback unwatch and watch others', () => {
  const [a, b, c] = [item('a'), item('b'), item('c')]
  const chained = new Deadlines<Item>(100, one => {
    late.push(one.name)
    if (one === a) {
      chained.unwatch(b)
      chained.watch(c)
    }
  })
  chained.watch(a)
  chained.watch(b)
  vi.advanceTimersByTime(1_000)
  chained.stop()
  expect(late).toEqual(['a', 'c'])
})
