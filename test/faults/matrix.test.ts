/** The matrix is complete: every combination is a row or has a reason why it cannot occur, and the short form has rows of every dependency. */
import { describe, expect, it } from 'vitest'
import { cellsOf, FAULTS, MOMENTS, rowsOf } from './matrix.ts'
import { TABLES } from './tables/index.ts'

describe.each(TABLES)('$dependency', table => {
  const cells = cellsOf(table)

  it('has a row or a reason for each fault at each moment', () => {
    expect(cells).toHaveLength(FAULTS.length * MOMENTS.length)
    for (const cell of cells)
      if (cell.kind === 'never') expect(cell.reason.length, cell.name).toBeGreaterThan(20)
      else expect(cell.calls.length, cell.name).toBeGreaterThan(0)
  })

  it('names only combinations that occur', () => {
    const rows = new Set(rowsOf(table).map(({ name }) => name))
    const named = [...table.short, ...Object.keys(table.cells ?? {}), ...Object.keys(table.open ?? {})]
    expect(named.filter(name => !rows.has(name as never))).toEqual([])
  })

  it('has a short form without outages of a minute', () => {
    expect(table.short.length).toBeGreaterThan(0)
    expect(table.short.filter(name => name.startsWith('back after 60 s'))).toEqual([])
  })
})
