/** Pages of a list of tools, resources or prompts, and their cursors. Pure. */

/** Large enough that clients which never ask for a second page see all of an ordinary list. */
export const PAGE_SIZE = 500

export interface ToolPage {
  readonly from: number
  readonly to: number
  readonly nextCursor: string | undefined
}

type Entries = readonly { readonly tool: { readonly name: string } }[]

interface Place {
  readonly name: string
  /** For the entry after it, when the cursor was issued; undefined: a cursor of an older gateway. */
  readonly next: number | undefined
}

/** @returns undefined when the cursor is not one of ours. */
export function pageOf(tools: Entries, cursor: string | undefined): ToolPage | undefined {
  let from = 0
  if (cursor !== undefined) {
    const place = decodeCursor(cursor)
    if (place === undefined) return undefined
    from = startAfter(tools, place)
  }
  const to = Math.min(from + PAGE_SIZE, tools.length)
  const last = tools[to - 1]
  return {
    from,
    to,
    nextCursor: to < tools.length && last !== undefined ? encodeCursor(last.tool.name, to) : undefined,
  }
}

function startAfter(tools: Entries, { name, next }: Place): number {
  const at = tools.findIndex(entry => entry.tool.name === name)
  if (at >= 0) return at + 1
  // the entry has gone: the one after it has moved to its place
  if (next !== undefined && !isByName(tools)) return Math.min(tools.length, Math.max(0, next - 1))
  const after = tools.findIndex(entry => entry.tool.name > name)
  return after < 0 ? tools.length : after
}

/** ToolViews have an order that is not that of the names. */
function isByName(tools: Entries): boolean {
  return tools.every(({ tool }, at) => at === 0 || tools[at - 1]!.tool.name < tool.name)
}

/** The position is last, so that an older gateway of the same fleet reads the whole as a name that sorts behind the entry. */
function encodeCursor(name: string, next: number): string {
  return Buffer.from(`after:${name}\n${next}`, 'utf8').toString('base64url')
}

function decodeCursor(cursor: string): Place | undefined {
  const text = Buffer.from(cursor, 'base64url').toString('utf8')
  if (!text.startsWith('after:') || Buffer.from(text, 'utf8').toString('base64url') !== cursor)
    return undefined
  const end = text.lastIndexOf('\n')
  if (end < 0) return { name: text.slice(6), next: undefined }
  const next = text.slice(end + 1)
  return /^\d{1,9}$/.test(next) ? { name: text.slice(6, end), next: Number(next) } : undefined
}
