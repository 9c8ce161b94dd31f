/** Schemas of query parameters, lists and fields of responses, and the body of a page. */
import { textField, word } from '../../../model/schema/fields.ts'
import { z } from '../../../model/schema/zod.ts'
import type { ListPage, PageRequest } from '../../store/repositories.ts'
import { EXPORT_FORMATS, MAX_EXPORT_ROWS } from '../http/export-rows.ts'

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

/** Names of the fields in responses; those that the schema of a request lacks are read-only. */
export function fieldNames(schema: z.ZodObject): readonly string[] {
  return Object.keys(schema.shape)
}
