/** The bounded map against a plain one: never more entries than its bound, never a value that was not set, and what is in use stays. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { BoundedMap } from '../../../../src/base/async/bounded-map.ts'

it('has at most its bound of entries, and only what was set last under a key', () => {
  const step = fc.tuple(fc.constantFrom('set', 'get', 'delete'), fc.integer({ min: 0, max: 30 }))
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 12 }), fc.array(step, { maxLength: 200 }), (max, steps) => {
      const map = new BoundedMap<number, number>(max)
      const all = new Map<number, number>()
      for (const [at, [action, key]] of steps.entries()) {
        if (action === 'set') {
          map.set(key, at)
          all.set(key, at)
          expect(map.get(key)).toBe(at)
        } else if (action === 'delete') {
          map.delete(key)
          all.delete(key)
          expect(map.has(key)).toBe(false)
        } else if (map.has(key)) expect(map.get(key)).toBe(all.get(key))
        expect(map.size).toBeLessThanOrEqual(max)
        expect([...map].length).toBe(map.size)
      }
    }),
  )
})

it('keeps an entry that is read between others', () => {
  const map = new BoundedMap<string, number>(10)
  map.set('used', 1)
  for (let other = 0; other < 100; other++) {
    map.set(`${other}`, other)
    expect(map.get('used')).toBe(1)
  }
  map.clear()
  expect(map.size).toBe(0)
})
