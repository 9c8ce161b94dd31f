/** Schemas of fields, query parameters and lists, with the body of a page and a check between two fields. */
import { isCalendarDate } from '../../../base/calendar-date.ts'
import { parseDurationMs } from '../../../base/duration.ts'
import { isUnixUrl, readUnixUrl } from '../../../model/upstream-url.ts'
import type { ListPage, PageRequest } from '../../store/repositories.ts'
import { EXPORT_FORMATS, MAX_EXPORT_ROWS } from '../http/export-rows.ts'
import { z } from './zod.ts'

/** PostgreSQL `integer`. */
const MAX_INTEGER = 2_147_483_647

/** Text of `min` to `max` characters without NUL, which PostgreSQL cannot store. */
export function textField(max: number, min = 1) {
  return z
    .string()
    .min(min, `must have at least ${min} character${min === 1 ? '' : 's'}.`)
    .max(max, `must have at most ${max} characters.`)
    .regex(/^[^\u0000]*$/, 'must not contain a NUL character.')
}

/** Text that matches a pattern; the pattern excludes NUL. */
export function shaped(form: RegExp, max: number, message: string) {
  return z.string().max(max, `must have at most ${max} characters.`).regex(form, message)
}

export function count(min: number, max = MAX_INTEGER) {
  return z.int('must be an integer.').min(min, `must be at least ${min}.`).max(max, `must be at most ${max}.`)
}

/** An absolute http(s) address without user name, password or fragment. */
export function httpUrl() {
  return z
    .string()
    .max(2048, 'must have at most 2048 characters.')
    .regex(/^https?:\/\/[^\s\u0000-\u0020\u007f]+$/, 'must be an absolute http or https address.')
    .refine(plainUrl, 'must be an absolute http or https address without user name, password or fragment.')
    .openapi({ format: 'uri', example: 'https://orders.example.com/v2' })
}

export const UPSTREAM_URL_TEXT =
  'Absolute http or https address, or the address of a Unix socket that EGRESS_ALLOW lists: `http+unix://%2Frun%2Forders.sock/v2` uses the socket `/run/orders.sock`.'
/** Of an address, for `changeText`. */
export const WITH_CREDENTIAL =
  'If `mcp` names a credential or `traffic.request_headers` sets a header, a change'
const UPSTREAM = 'must be an absolute http or https address, or http+unix:// for a Unix socket'

/** The address of an upstream: as `httpUrl`, or HTTP over a Unix socket. */
export function upstreamUrl() {
  return z
    .string()
    .max(2048, 'must have at most 2048 characters.')
    .regex(/^(?:https?|http\+unix):\/\/[^\s\u0000-\u0020\u007f]+$/, `${UPSTREAM}.`)
    .superRefine((value, context) => {
      const read = isUnixUrl(value) ? readUnixUrl(value) : undefined
      if (typeof read === 'string') context.addIssue({ code: 'custom', message: `is not usable: ${read}.` })
      else if (read === undefined ? !plainUrl(value) : value.includes('#'))
        context.addIssue({ code: 'custom', message: `${UPSTREAM}, without user name, password or fragment.` })
    })
    .openapi({
      format: 'uri',
      example: 'https://orders.example.com/v2',
      description: UPSTREAM_URL_TEXT,
    })
}

function plainUrl(value: string): boolean {
  if (!URL.canParse(value)) return false
  const url = new URL(value)
  return url.username === '' && url.password === '' && !value.includes('#') && url.hostname !== ''
}

/** ISO 8601 with offset. */
export function moment() {
  return z.iso
    .datetime({ offset: true, error: 'must be a date and time such as "2026-01-31T12:00:00Z".' })
    .openapi({ example: '2027-01-31T12:00:00Z' })
}

/** A day `YYYY-MM-DD` that exists, of the years from `minYear` to `maxYear`. */
export function calendarDay(minYear: number, maxYear: number) {
  const isAccepted = (value: string): boolean => {
    const year = Number(value.slice(0, 4))
    return isCalendarDate(value) && year >= minYear && year <= maxYear
  }
  return z
    .string()
    .refine(isAccepted, `must be a date from ${minYear} to ${maxYear} in the form YYYY-MM-DD.`)
    .openapi({ format: 'date', example: '2026-01-31' })
}

/** False when a value exceeds a limit that another field sets; a limit that is not valid is the only fault. */
export function isWithin(value: number, limit: number, minLimit: number): boolean {
  return value <= limit || !Number.isInteger(limit) || limit < minLimit
}

const MAX_LIFE_SECONDS = 10 * 365 * 86_400

/** OpenAPI fields of a duration, which the generator cannot read behind the transformation. */
export const LIFE = { pattern: '^([0-9]+[smhd])+$', maxLength: 32, example: '24h' } as const

/** A duration such as `30s`, `24h` or `1m10s`, from one second to ten years; the value is in seconds. */
export function life() {
  return z
    .string()
    .max(LIFE.maxLength, `must have at most ${LIFE.maxLength} characters.`)
    .regex(new RegExp(LIFE.pattern), 'must be a duration such as "30s", "24h" or "1m10s".')
    .transform((value, context) => {
      const seconds = (parseDurationMs(value) ?? 0) / 1000
      if (seconds >= 1 && seconds <= MAX_LIFE_SECONDS) return seconds
      context.addIssue({ code: 'custom', message: 'must be between one second and ten years.' })
      return z.NEVER
    })
    .openapi({ ...LIFE, type: 'string' })
}

/** Integers in a query: digits only, without sign, exponent or spaces. */
export function queryNumber(min: number, max: number) {
  const message = `must be a whole number from ${min} to ${max}.`
  return z
    .string()
    .regex(/^[0-9]{1,10}$/, message)
    .transform(Number)
    .refine(value => value >= min && value <= max, message)
    .openapi({ type: 'integer', minimum: min, maximum: max })
}

export function presetNumber(min: number, max: number, preset: number) {
  return queryNumber(min, max).default(preset).openapi({ default: preset })
}

/** The highest page number keeps the offset within a bigint. */
export const pageQuery = {
  page: presetNumber(1, 1_000_000, 1),
  limit: presetNumber(1, 100, 20),
  format: wordQuery(['json', ...EXPORT_FORMATS]).openapi({
    description: `With csv or ndjson, one response contains all items, and page and limit are ignored. A request for more than ${MAX_EXPORT_ROWS} items gets 413.`,
  }),
}

/** Orders of a list: by creation, and by these fields of its items. */
export function sortQuery<const F extends readonly string[]>(...fields: F) {
  const words = ['created_at', ...fields].flatMap(field => [field, `-${field}`])
  return wordQuery(words as [string, ...string[]]).openapi({
    description:
      'Field by which the list is sorted. A leading `-` reverses the order. Absent: the list is sorted by creation time.',
  })
}

/** Search text; `%` and `_` are literal. */
export const q = textField(200).optional()

export const booleanQuery = z
  .enum(['true', 'false'], 'must be true or false.')
  .transform(value => value === 'true')
  .openapi({ type: 'boolean' })

/** A filter with a closed set of values. */
export function wordQuery<const W extends readonly [string, ...string[]]>(words: W) {
  return word(words).optional()
}

export function word<const W extends readonly [string, ...string[]]>(words: W) {
  return z.enum(words, `must be one of ${words.join(', ')}.`)
}

/** A timestamp in a response. */
export const shownMoment = z.string().openapi({ format: 'date-time', example: '2026-01-31T12:00:00.000Z' })

export function shownId(prefix: string) {
  return z.string().openapi({ example: `${prefix}_01kaa3b8w5f0gvm2f7z2q9x4td` })
}

/** Schema of a page of a list. */
export function listOf(items: z.ZodType, name: string) {
  return z
    .object({
      items: z.array(items),
      total: z.int(),
      page: z.int(),
      limit: z.int(),
      total_pages: z.int(),
    })
    .openapi(name)
}

/** Body of a page of a list. */
export function envelope<T>(
  { items, total }: ListPage<T>,
  { page, limit }: PageRequest,
  show: (item: T) => unknown,
) {
  return { items: items.map(show), total, page, limit, total_pages: Math.ceil(total / limit) }
}
