/** Queries of the admin API: bounds of texts, and cursors of a process with many threads. */
import { expect, it } from 'vitest'
import { cursorOf } from '../../../../src/data-plane/calls/process-calls.ts'
import { ParameterFault, Parameters, positionsOf } from '../../../../src/data-plane/http/call-parameters.ts'

it('reads the cursor of a process with 64 threads that have recorded many calls', () => {
  const rings = Array.from({ length: 64 }, (_, n) => [n.toString(16).padStart(8, '0'), 10 ** 14 + n] as const)
  const positions = Object.fromEntries(rings)
  const query = new URLSearchParams({ cursor: cursorOf(positions) }).toString()
  expect(positionsOf(new Parameters(query).cursor(), 'cursor')).toEqual(positions)
})

it('refuses texts and cursors beyond their bounds', () => {
  const parameters = new Parameters(`tool=${'x'.repeat(201)}&cursor=${'0'.repeat(2_001)}`)
  expect(() => parameters.text('tool')).toThrow(ParameterFault)
  expect(() => parameters.cursor()).toThrow(ParameterFault)
})

it('refuses a time on a day that does not exist', () => {
  const parameters = new Parameters('since=2026-02-31T20:00:00Z&until=2026-02-28T20:00:00Z')
  expect(() => parameters.time('since')).toThrow('since must be a time such as 2026-11-22T20:00:00Z.')
  expect(parameters.time('until')).toBe(Date.UTC(2026, 1, 28, 20))
})
