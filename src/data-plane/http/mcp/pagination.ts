/** Pages of a tool list. A cursor names the tool after which the page starts, so it survives a change of the list. Pure. */

/** Large enough that clients which never ask for a second page see all of an ordinary list. */
export const PAGE_SIZE = 500

export interface ToolPage {
  readonly from: number
  readonly to: number
  readonly nextCursor: string | undefined
}

/** @returns undefined when the cursor is not one of ours. */
export function pageOf(
  tools: readonly { readonly tool: { readonly name: string } }[],
  cursor: string | undefined,
): ToolPage | undefined {
  let from = 0
  if (cursor !== undefined) {
    const after = decodeCursor(cursor)
    if (after === undefined) return undefined
    from = tools.findIndex(entry => entry.tool.name > after)
    if (from < 0) from = tools.length
  }
  const to = Math.min(from + PAGE_SIZE, tools.length)
  const last = tools[to - 1]
  return {
    from,
    to,
    nextCursor: to < tools.length && last !== undefined ? encodeCursor(last.tool.name) : undefined,
  }
}

function encodeCursor(name: string): string {
  return Buffer.from(`after:${name}`, 'utf8').toString('base64url')
}

function decodeCursor(cursor: string): string | undefined {
  const text = Buffer.from(cursor, 'base64url').toString('utf8')
  return text.startsWith('after:') && encodeCursor(text.slice(6)) === cursor ? text.slice(6) : undefined
}
