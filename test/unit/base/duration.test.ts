/** The grammar of durations: what is accepted, and what it means in milliseconds. */
import { describe, expect, it } from 'vitest'
import { parseDurationMs } from '../../../src/base/duration.ts'

describe('a duration', () => {
  it.each([
    ['0s', 0],
    ['500ms', 500],
    ['30s', 30_000],
    ['1m10s', 70_000],
    ['1.5h', 5_400_000],
    ['24h', 86_400_000],
    ['7d', 604_800_000],
    ['0.1ms', 0],
  ])('%s', (text, ms) => {
    expect(parseDurationMs(text)).toBe(ms)
  })

  it.each([
    '',
    '5',
    's',
    '-1s',
    '1 s',
    '1S',
    '1w',
    '.5s',
    '1.s',
    '1s ',
    `${'9'.repeat(30)}d`,
    '1s'.repeat(20),
  ])('is not %j', text => {
    expect(parseDurationMs(text)).toBeUndefined()
  })
})
