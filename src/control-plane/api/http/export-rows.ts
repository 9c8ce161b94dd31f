/** Writes lists as CSV or NDJSON up to a number of rows, and reads the requested format. It does not query the rows. */
import { writeJson } from '../../../base/json/exact-number.ts'
import { NDJSON } from './endpoint.ts'
import { Problem } from './problem.ts'

export const EXPORT_FORMATS = ['csv', 'ndjson'] as const
type ExportFormat = (typeof EXPORT_FORMATS)[number]

/** In place of the page that the caller asked for. */
export const MAX_EXPORT_ROWS = 10_000

export const CONTENT_TYPES: { readonly [format in ExportFormat]: string } = {
  csv: 'text/csv; charset=utf-8',
  ndjson: NDJSON,
}

/** The format that the query asks for; undefined = a page as JSON. */
export function exportFormat(query: unknown): ExportFormat | undefined {
  const { format } = query as { readonly format?: string }
  return EXPORT_FORMATS.find(each => each === format)
}

/** @throws Problem payload_too_large when there are more rows than one response may have */
export function exportRows(body: unknown, format: ExportFormat): string {
  const { items, total } = body as { readonly items: readonly object[]; readonly total: number }
  if (total > MAX_EXPORT_ROWS)
    throw new Problem(
      'payload_too_large',
      `The filter matches at least ${total} rows; an export has at most ${MAX_EXPORT_ROWS} rows. Narrow the filter, for example with the query parameter q.`,
    )
  if (format === 'ndjson') return items.map(item => `${writeJson(item)}\n`).join('')
  const [first] = items
  if (first === undefined) return ''
  const names = Object.keys(first).filter(name => items.some(item => fieldOf(item, name) !== undefined))
  const lines = [names, ...items.map(item => names.map(name => fieldOf(item, name)))]
  return lines.map(line => `${line.map(cellOf).join(',')}\r\n`).join('')
}

function fieldOf(item: object, name: string): unknown {
  return (item as { readonly [field: string]: unknown })[name]
}

/** Objects are JSON within the cell. A text that a spreadsheet would run as a formula begins with an apostrophe. */
function cellOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  const text = typeof value === 'string' ? value.replace(/^(?=[=+@\t\r-])/, "'") : writeJson(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
