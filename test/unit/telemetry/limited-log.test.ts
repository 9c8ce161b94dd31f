/** Repeated log lines are left out for 30 s and counted. */
import { expect, it } from 'vitest'
import { limitRepeats } from '../../../src/telemetry/limited-log.ts'
import { SILENT } from '../../../src/telemetry/log.ts'

it('writes a message at once, then once in 30 s with the number left out', () => {
  const lines: unknown[] = []
  let nowMs = 1_000
  const log = limitRepeats(
    { ...SILENT, warn: (fields, message) => lines.push([message, fields]) },
    () => nowMs,
  )
  log.warn({ a: 1 }, 'down')
  for (; nowMs < 30_900; nowMs += 100) log.warn({ a: 2 }, 'down')
  expect(lines).toEqual([['down', { a: 1 }]])
  nowMs = 31_000
  log.warn({ a: 3 }, 'down')
  log.warn({ a: 4 }, 'another')
  expect(lines.slice(1)).toEqual([
    ['down', { a: 3, left_out: 299 }],
    ['another', { a: 4 }],
  ])
})
