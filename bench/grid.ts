/** Rows of text in columns. */

/** @param right indexes of the columns that hold figures: they end flush */
export function grid(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly number[] = [],
): string {
  const widths = head.map((name, column) => Math.max(name.length, ...rows.map(row => row[column]!.length)))
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) =>
        right.includes(column) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!),
      )
      .join('  ')
      .trimEnd()
  return [line(head), widths.map(width => '─'.repeat(width)).join('  '), ...rows.map(line)].join('\n')
}
