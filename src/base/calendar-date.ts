/** Checks and reads dates and times as text. */

const DATE = /^\d{4}-\d{2}-\d{2}$/
/** `Date.parse` accepts the 31st in every month, and counts on into the next month. */
const LEADING_DATE = /^\d{4}-\d{2}-\d{2}(?!\d)/

/** True for `YYYY-MM-DD` of a day that exists; false for 2026-02-30. */
export function isCalendarDate(text: string): boolean {
  if (!DATE.test(text)) return false
  const at = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text)
}

/** Unix ms of every form that `Date.parse` accepts; undefined for other text, and for a day that does not exist. */
export function parseTimeMs(text: string): number | undefined {
  const [date] = LEADING_DATE.exec(text) ?? []
  const ms = Date.parse(text)
  return Number.isNaN(ms) || (date !== undefined && !isCalendarDate(date)) ? undefined : ms
}
