/** Dates and times as text that exist and do not exist. Requests with them are tested with their endpoints. */
import { expect, it } from 'vitest'
import { isCalendarDate, parseTimeMs } from '../../../src/base/calendar-date.ts'

it.each(['2026-01-31', '2024-02-29', '2000-02-29', '1970-01-01', '0001-01-01'])('%s is a date', text => {
  expect(isCalendarDate(text)).toBe(true)
})

it.each([
  '2026-02-29',
  '2026-02-31',
  '2026-04-31',
  '1900-02-29',
  '2026-13-01',
  '2026-00-10',
  '2026-01-00',
  '2026-1-1',
  '2026-01-31T00:00:00Z',
  '+02026-01-31',
  '',
])('"%s" is not a date', text => {
  expect(isCalendarDate(text)).toBe(false)
})

it.each([
  ['2026-01-31T12:00:00Z', Date.UTC(2026, 0, 31, 12)],
  ['2026-01-31', Date.UTC(2026, 0, 31)],
  ['Sat, 31 Jan 2026 12:00:00 GMT', Date.UTC(2026, 0, 31, 12)],
])('reads the time %s', (text, ms) => {
  expect(parseTimeMs(text)).toBe(ms)
})

it.each(['2026-02-31T12:00:00Z', '2026-02-31', '2026-04-31T00:00:00+02:00', 'soon', ''])(
  'reads no time from "%s"',
  text => {
    expect(parseTimeMs(text)).toBeUndefined()
  },
)
