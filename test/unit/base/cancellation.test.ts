/** A cancellation runs each listener that it still has once, in the order of adding. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Cancellation } from '../../../src/base/cancellation.ts'

it('runs the listeners that were not removed, in their order, and later ones at once', () => {
  const step = fc.record({ name: fc.integer({ min: 0, max: 5 }), removes: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), fc.boolean(), (steps, again) => {
      const cancellation = new Cancellation()
      const seen: number[] = []
      const listeners = [0, 1, 2, 3, 4, 5].map(name => ({ onCancelled: () => seen.push(name) }))
      const expected: number[] = []
      for (const { name, removes } of steps) {
        const listener = listeners[name]!
        if (removes) {
          cancellation.remove(listener)
          if (expected.includes(name)) expected.splice(expected.indexOf(name), 1)
        } else if (!expected.includes(name)) {
          cancellation.add(listener)
          expected.push(name)
        }
      }
      cancellation.cancel()
      if (again) cancellation.cancel()
      expect(seen).toEqual(expected)
      cancellation.add(listeners[0]!)
      expect(seen).toEqual([...expected, 0])
    }),
    { numRuns: 1_000 },
  )
})
