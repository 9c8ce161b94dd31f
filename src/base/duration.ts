/** Reads durations such as `30s` or `1m10s`. */

/** An expression of RE2. */
export const DURATION = /^([0-9]+(\.[0-9]+)?(ms|s|m|h|d))+$/
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/g
export const MAX_DURATION_CHARS = 32
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Rounded to whole milliseconds; undefined when the text is not a duration, has more than 32 characters, or is beyond the safe integers. */
export function parseDurationMs(text: string): number | undefined {
  if (text.length > MAX_DURATION_CHARS || !DURATION.test(text)) return undefined
  let totalMs = 0
  for (const [, count, unit] of text.matchAll(PART)) totalMs += Number(count) * UNIT_MS[unit!]!
  const roundedMs = Math.round(totalMs)
  return Number.isSafeInteger(roundedMs) ? roundedMs : undefined
}
