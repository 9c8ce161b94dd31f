/** A table that stays readable on a phone, where each row becomes a block with labels. */
import type { ComponentChildren } from 'preact'

export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => ComponentChildren
  /** Right-aligned digits of equal width. */
  readonly numeric?: boolean
  /** Hidden on a narrow page. */
  readonly wide?: boolean
}

export interface TableProps<Row> {
  /** What the table lists, for screen readers. */
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  /** Instead of a table without rows. */
  readonly empty?: ComponentChildren
}

export function Table<Row>({ caption, columns, rows, keyOf, empty }: TableProps<Row>) {
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable with the keyboard
    <section class="table-frame" aria-label={caption} tabIndex={0}>
      <table>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(column => (
              <th key={column.title} scope="col" class={classOf(column)}>
                {column.title === '' ? <span class="hidden">Actions</span> : column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <tr key={keyOf(row)}>
              {columns.map(column => (
                <td key={column.title} class={classOf(column)} data-label={column.title}>
                  <div>{column.cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function classOf({ numeric, wide }: Pick<Column<never>, 'numeric' | 'wide'>): string {
  return [numeric === true ? 'num' : '', wide === true ? 'wide' : ''].filter(name => name !== '').join(' ')
}
