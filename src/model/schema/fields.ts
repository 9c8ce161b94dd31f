/** Fields of resources: schemas of texts, numbers, addresses, times and words with the messages of their faults, and a check between two fields. */
import { isCalendarDate } from '../../base/calendar-date.ts'
import { parseDurationMs } from '../../base/duration.ts'
import { TRAFFIC_METHODS } from '../traffic.ts'
import { isUnixUrl, readUnixUrl } from '../upstream-url.ts'
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

const UPSTREAM_URL_TEXT =
  'Absolute http or https address, or the address of a Unix socket that EGRESS_ALLOW lists: `http+unix://%2Frun%2Forders.sock/v2` uses the socket `/run/orders.sock`.'
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

export function word<const W extends readonly [string, ...string[]]>(words: W) {
  return z.enum(words, `must be one of ${words.join(', ')}.`)
}

/** The name of a header (RFC 9110 §5.1) in lower case. */
export function headerName() {
  return shaped(/^[a-z0-9!#$%&'*+.^_`|~-]+$/, 100, 'must be a header name in lower case.')
}

/** Methods of calls; GET includes HEAD. */
export function methods() {
  return z.array(word(TRAFFIC_METHODS)).min(1, 'must have at least one method.')
}

type Defaults<Shape extends z.ZodRawShape> = {
  readonly [Field in keyof Shape]?: z.util.NoUndefined<z.output<Shape[Field]>>
}

/** The fields of a new resource: those with a default may be absent. */
export function withDefaults<Shape extends z.ZodRawShape, const Given extends Defaults<Shape>>(
  fields: Shape,
  defaults: Given,
): { [Field in keyof Shape]: Field extends keyof Given ? z.ZodDefault<Shape[Field]> : Shape[Field] } {
  const entries = Object.entries(fields).map(([name, field]) => {
    const value = (defaults as { readonly [field: string]: unknown })[name]
    return [name, value === undefined ? field : (field as z.ZodType).default(value)]
  })
  return Object.fromEntries(entries) as never
}
