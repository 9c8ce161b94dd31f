/** How the console writes durations: digits before the point are never lost to an exponent. */
import { expect, it } from 'vitest'
import { duration } from '../../../console/src/components/numbers.ts'

it.each([
  [undefined, '–'],
  [null, '–'],
  [0, '0.0 ms'],
  [0.0123, '0.012 ms'],
  [1.25, '1.3 ms'],
  [99.4, '99 ms'],
  [99.6, '100 ms'],
  [123.4, '123 ms'],
  [999.4, '999 ms'],
  [999.6, '1.00 s'],
  [1000, '1.00 s'],
  [12_345, '12.3 s'],
  [999_600, '1,000 s'],
  [1_234_000, '1,234 s'],
])('%s ms is %s', (ms, text) => {
  expect(duration(ms)).toBe(text)
})
