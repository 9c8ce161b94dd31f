/** Progress of backends that stream many short lines, or a JSON text sequence with totals and messages. */
import { expect, it } from 'vitest'
import { ProgressLines } from '../../../../../src/data-plane/stages/5-invoke/progress-lines.ts'

it.each([
  ['in one piece', 100_000, 1],
  ['in pieces of one line', 1, 100_000],
])(
  'of a hundred thousand short lines %s is notified a bounded number of times, the first hundred in order',
  (_, lines, pieces) => {
    const seen: number[] = []
    const progress = new ProgressLines(step => seen.push(step))
    progress.begin('application/x-ndjson')
    const startedAt = performance.now()
    const piece = Buffer.from('1\n'.repeat(lines))
    for (let at = 0; at < pieces; at++) progress.chunk(piece)
    const windows = 1 + Math.ceil((performance.now() - startedAt) / 100)
    expect(seen.length).toBeGreaterThanOrEqual(100)
    expect(seen.length).toBeLessThanOrEqual(100 * windows)
    expect(seen.slice(0, 100)).toEqual(Array.from({ length: 100 }, (_, at) => at + 1))
  },
)

it('of a JSON text sequence has the total and the message of each record', () => {
  const seen: unknown[] = []
  const progress = new ProgressLines((...step) => seen.push(step))
  progress.begin('application/json-seq')
  // the record before the last was cut off (RFC 7464, section 2.3)
  progress.chunk(Buffer.from('\u001e{"total":3,"message":"one"}\n\u001e{"total":3,'))
  progress.chunk(Buffer.from('"message":"two"}\n\u001e\n\u001e{"tot\u001e{"total":3,"message":"three"}\n'))
  expect(seen).toEqual([
    [1, 3, 'one'],
    [2, 3, 'two'],
    [3, 3, 'three'],
  ])
})
