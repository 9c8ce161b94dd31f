/** Tools and results as each protocol version may see them: no version sees another's fields. Pure. */

import { writeJson } from '../../model/exact-number.ts'
import type { Content, Tool, ToolResult } from '../../model/tool.ts'
import { unfoldSchema } from '../../model/unfold-schema.ts'
import type { CompiledTool, ListingForm, ToolListing } from '../snapshot/snapshot.ts'
import type { ProtocolVersion } from './mcp/versions.ts'

/** The form REST callers get: the fields of docs/reference/mcp.md, Tool objects. */
export type View = ProtocolVersion | 'rest'

const since = (view: View, version: ProtocolVersion): boolean => view === 'rest' || view >= version

function toolView(tool: Tool, view: View): object {
  // JSON Schema 2020-12 and with it `$defs` came in 2025-11-25: older clients follow no references
  const schemaView = since(view, '2025-11-25') ? <T>(schema: T): T => schema : unfoldSchema
  const { outputSchema } = tool
  // one tool with a non-object outputSchema makes the whole list fail in legacy clients (docs/reference/http.md)
  const showOutput =
    outputSchema !== undefined &&
    since(view, '2025-06-18') &&
    (view === '2026-07-28' || outputSchema.type === 'object')
  return {
    name: tool.name,
    ...(tool.title !== undefined && since(view, '2025-06-18') ? { title: tool.title } : undefined),
    description: tool.description,
    inputSchema: schemaView(tool.inputSchema),
    ...(showOutput ? { outputSchema: schemaView(outputSchema) } : undefined),
    ...(since(view, '2025-03-26') ? { annotations: annotationsOf(tool, view) } : undefined),
  }
}

/** Without the title, where the tool itself has one. */
function annotationsOf({ title, annotations }: Tool, view: View): object {
  if (title === undefined || annotations.title !== title || !since(view, '2025-06-18')) return annotations
  const { title: _, ...hints } = annotations
  return hints
}

/** The JSON array of one page of a listing; made once per listing and view. */
export function toolsForm(
  listing: ToolListing,
  view: View,
  from = 0,
  to = listing.tools.length,
): ListingForm {
  const name = `${view} ${from} ${to}`
  const made = listing.forms.get(name)
  if (made !== undefined) return made
  const json = `[${listing.tools
    .slice(from, to)
    .map((entry: CompiledTool) => writeJson(toolView(entry.tool, view)))
    .join(',')}]`
  const form = { json, tail: undefined }
  listing.forms.set(name, form)
  return form
}

/** Of all tools. */
export function toolsJson(listing: ToolListing, view: View): string {
  return toolsForm(listing, view).json
}

/** For shorter lists, cached bytes gain nothing. */
const LONG_LIST_CHARS = 2048

/** The list and what follows it in UTF-8, made once; undefined where that would gain nothing. */
export function listTail(form: ListingForm, after: string): Uint8Array | undefined {
  if (form.json.length < LONG_LIST_CHARS) return undefined
  if (form.tail?.after !== after) form.tail = { after, bytes: Buffer.from(form.json + after) }
  return form.tail.bytes
}

/** A result without the fields and content types that the version does not know. */
export function resultView(result: ToolResult, view: View): ToolResult {
  const keepsStructured =
    since(view, '2025-06-18') && (view === '2026-07-28' || isObject(result.structuredContent))
  const content = view === '2024-11-05' ? result.content.map(withoutAudio) : result.content
  const { isError, structuredContent } = result
  return keepsStructured && structuredContent !== undefined
    ? { content, isError, structuredContent }
    : { content, isError }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function withoutAudio(content: Content): Content {
  if (content.type !== 'audio') return content
  return {
    type: 'resource',
    resource: { uri: 'toolgate:answer', mimeType: content.mimeType, blob: content.data },
  }
}
