/** The hints and tags of a tool, as its MCP server sends them, and the hints that its server and an accepted definition both claim. */
import { isObject } from '../../base/json/is-object.ts'
import { type Dict, own, strings } from '../compile/dict.ts'

/** Each hint with the value that protects most, which MCP assumes where a hint is absent ("ToolAnnotations"). */
const PROTECTING = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
} as const
type Hint = keyof typeof PROTECTING
type Hints = { readonly [hint in Hint]: boolean }
export const HINTS = Object.keys(PROTECTING) as readonly Hint[]

/** Absent hints have the defaults of MCP. */
export function hintsOf(tool: Dict): Hints {
  const given = own(tool, 'annotations')
  const said = HINTS.map(hint => [hint, isObject(given) ? own(given, hint) : undefined] as const)
  const sent = said.filter(([, value]) => typeof value === 'boolean')
  const hints: Hints = { ...PROTECTING, ...Object.fromEntries(sent) }
  // the two others say how a tool writes (MCP, ToolAnnotations)
  return hints.readOnlyHint ? { ...hints, destructiveHint: false, idempotentHint: true } : hints
}

/** @param accepted undefined: nothing is */
export function commonHints(sent: Hints, accepted: Hints | undefined): Hints {
  const common = HINTS.map(hint => [hint, accepted?.[hint] === sent[hint] ? sent[hint] : PROTECTING[hint]])
  return Object.fromEntries(common) as unknown as Hints
}

/** Not part of MCP: FastMCP writes them into `_meta`. */
export function tagsOf(tool: Dict): string[] {
  const meta = own(tool, '_meta')
  if (!isObject(meta)) return []
  const groups = [own(meta, 'fastmcp'), own(meta, '_fastmcp'), meta].filter(isObject)
  return [...new Set(groups.flatMap(group => strings(own(group, 'tags'))))]
}
