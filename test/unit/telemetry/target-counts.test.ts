/** Labels of tools beyond their bound: a tool keeps its label in every metric, also after a reload has replaced its object. */
import { expect, it } from 'vitest'
import { TargetCounts } from '../../../src/telemetry/target-counts.ts'
import { aTool } from '../../fixtures/exchange.ts'

const MAX = 3

it('counts the durations of a known tool under its name after a reload at the bound', () => {
  const counts = new TargetCounts(MAX)
  const names = ['a', 'b', 'c', 'late']
  for (let reload = 0; reload < 3; reload++)
    for (const tool of names.map(name => aTool({ name })))
      counts.call({
        tool,
        tenant: undefined,
        upstream: undefined,
        outcome: 'success',
        seconds: 0.01,
        backendSeconds: -1,
      })
  expect([...counts.tools()].map(({ labels, calls }) => [labels.tool, calls])).toEqual([
    ['a', 3],
    ['b', 3],
    ['c', 3],
    ['other', 3],
  ])
  expect([...counts.duration.all].map(([tool, series]) => [tool, series.cumulated.at(-1)])).toEqual([
    ['a', 3],
    ['b', 3],
    ['c', 3],
    ['other', 3],
  ])
})
