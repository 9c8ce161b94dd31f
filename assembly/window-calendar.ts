/** UTC days and months as numbers since 1970, from Unix milliseconds, and the start of a month. */

const DAY_MS: i64 = 86_400_000

/** Set by the last `setCalendar` of this instance: the day, the month, and the start of the day. */
export let day: u32 = 0
export let month: u32 = 0
let began: i64 = -1

/** Times before 1970 count as its first day. */
export function setCalendar(unixMs: i64): void {
  const since = unixMs - began
  if (began >= 0 && since >= 0 && since < DAY_MS) return
  day = unixMs < 0 ? 0 : <u32>(unixMs / DAY_MS)
  began = <i64>day * DAY_MS
  month = monthOfDay(day)
}

/** Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": civil_from_days. */
export function monthOfDay(days: u32): u32 {
  const z = days + 719_468
  const era = z / 146_097
  const ofEra = z - era * 146_097
  const yearOfEra = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365
  const ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
  const fromMarch = (5 * ofYear + 2) / 153
  const months = (yearOfEra + era * 400) * 12 + fromMarch + 2
  return months - 1970 * 12
}

/** Unix seconds at which a month begins (the same source: days_from_civil). */
export function monthStart(months: u32): u32 {
  const fromMarch = months + 1970 * 12 - 2
  const year = fromMarch / 12
  const ofYear = (153 * (fromMarch % 12) + 2) / 5
  const era = year / 400
  const yearOfEra = year - era * 400
  const days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + ofYear - 719_468
  return days * 86_400
}
