/** The watch of memory and heap: when it is full, when it is free again, and how often garbage is collected meanwhile. */
import { afterEach, expect, test } from 'vitest'
import { MemoryWatch } from '../../../../src/app/main/memory-watch.ts'

const opened: MemoryWatch[] = []
afterEach(() => {
  for (const watch of opened.splice(0)) watch.close()
})

function watched() {
  const made = {
    use: { process: 0.5, heap: 0.5 },
    nowMs: 0,
    faults: [] as (string | undefined)[],
    collected: 0,
  }
  const watch = new MemoryWatch({
    onChange: fault => made.faults.push(fault),
    read: () => made.use,
    collect: () => void made.collected++,
    nowMs: () => made.nowMs,
  })
  opened.push(watch)
  const look = (process: number, heap: number, times = 1): void => {
    made.use = { process, heap }
    for (let at = 0; at < times; at++) {
      watch.check()
      made.nowMs += 500
    }
  }
  return { made, watch, look }
}

test.each([
  ['memory of the process', 0.9, 0.1],
  ['heap of a thread', 0.1, 0.95],
])('it is full when nine tenths of the %s are used in two looks', (which, process, heap) => {
  const { made, watch, look } = watched()
  look(process, heap)
  look(0.5, 0.5)
  look(process, heap)
  expect([watch.isFull, made.faults]).toEqual([false, []])
  look(process, heap)
  expect(watch.isFull).toBe(true)
  expect(made.faults).toEqual([expect.stringContaining(`the ${which} is full to 9`)])
})

test('it stays full until less than 85 % are used, and says so once', () => {
  const { made, watch, look } = watched()
  look(0.95, 0.2, 3)
  look(0.86, 0.2, 3)
  expect(watch.isFull).toBe(true)
  look(0.84, 0.2, 3)
  expect([watch.isFull, made.faults.length, made.faults[1]]).toEqual([false, 2, undefined])
})

test('garbage is collected at once, and every 10 s while it is full', () => {
  const { made, look } = watched()
  look(0.95, 0.2, 2)
  expect(made.collected).toBe(1)
  look(0.95, 0.2, 19)
  expect(made.collected).toBe(1)
  look(0.95, 0.2, 2)
  expect(made.collected).toBe(2)
  look(0.5, 0.2, 40)
  expect(made.collected).toBe(2)
})
