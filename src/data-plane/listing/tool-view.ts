/** Tools and tool results in the form of an MCP version or of REST; serialized lists, and estimates of tokens. */

import type { MaybePromise } from '../../base/and-then.ts'
import { beginInSlices } from '../../base/async/slices.ts'
import { writeJson } from '../../base/json/exact-number.ts'
import { unfoldSchema } from '../../base/json/unfold-schema.ts'
import { oncePer } from '../../base/once-per.ts'
import { type Feature, hasFeature, LATEST_LEGACY, type ProtocolVersion } from '../../mcp/versions.ts'
import type { Content, Tool, ToolAnnotations, ToolResult } from '../../model/tool.ts'
import type { ListingForm, ShortForm } from '../snapshot/snapshot.ts'
import { listedSchema, shortDescription } from './listed-schema.ts'

/** The form REST callers get: the fields of docs/reference/mcp.md, Tool objects. */
export type View = ProtocolVersion | 'rest'

/** The parts of a tool that a list shows. */
export type ListedTool = Pick<
  Tool,
  'name' | 'title' | 'description' | 'inputSchema' | 'outputSchema' | 'annotations' | 'deprecation' | 'tasks'
>

interface Listing {
  readonly tools: readonly { readonly tool: ListedTool }[]
  readonly forms: Map<string, MaybePromise<ListingForm>>
  /** In short descriptions. */
  readonly compact?: boolean
}

const has = (view: View, feature: Feature): boolean => view === 'rest' || hasFeature(view, feature)

export function toolView(tool: ListedTool, view: View, compact = false): object {
  const schemaView = has(view, 'schemaReferences') ? <T>(schema: T): T => schema : unfoldSchema
  const { outputSchema } = tool
  // one tool with a non-object outputSchema makes the whole list fail in legacy clients (docs/reference/mcp.md)
  const showOutput =
    outputSchema !== undefined &&
    has(view, 'structuredOutput') &&
    (has(view, 'anyOutput') || outputSchema.type === 'object')
  const inputSchema = schemaView(tool.inputSchema)
  if (view === 'rest') {
    const { name, title, description, annotations } = tool
    return { name, title, description, inputSchema, outputSchema, annotations, ...metaOf(tool) }
  }
  const showTitle =
    tool.title !== undefined && has(view, 'titles') && !tool.description.startsWith(tool.title)
  const annotations = has(view, 'annotations') ? annotationsOf(tool, showTitle) : {}
  return {
    name: tool.name,
    ...(showTitle ? { title: tool.title } : undefined),
    description: compact ? shortDescription(tool.description) : tool.description,
    inputSchema: listedSchema(inputSchema, has(view, 'schemaReferences'), compact),
    ...(showOutput ? { outputSchema: schemaView(outputSchema) } : undefined),
    ...(Object.keys(annotations).length > 0 ? { annotations } : undefined),
    ...(hasFeature(view, 'coreTasks') && tool.tasks !== undefined
      ? { execution: { taskSupport: tool.tasks } }
      : undefined),
    ...(has(view, 'titles') ? metaOf(tool) : undefined),
  }
}

/** Key in `_meta` of a listed tool whose API has an announced end. */
const DEPRECATION_META_KEY = 'toolgate.dev/deprecation'

function metaOf({ deprecation }: ListedTool): object | undefined {
  return deprecation === undefined ? undefined : { _meta: { [DEPRECATION_META_KEY]: deprecation } }
}

/** Bytes per token of JSON with English text; models differ by a fifth or so. */
const BYTES_PER_TOKEN = 4

/** Estimate of the tokens that the definition of a tool costs a model, as current clients list it. */
export function definitionTokens(tool: ListedTool, compact = false): number {
  return (compact ? compactTokens : fullTokens)(tool)
}
const fullTokens = oncePer((tool: ListedTool) => tokensOf(tool, false))
const compactTokens = oncePer((tool: ListedTool) => tokensOf(tool, true))

function tokensOf(tool: ListedTool, compact: boolean): number {
  return Math.ceil(Buffer.byteLength(writeJson(toolView(tool, LATEST_LEGACY, compact))) / BYTES_PER_TOKEN)
}

/** Hints that differ from the default of MCP, and `destructiveHint`, which clients ask about before they call. No title that is listed elsewhere. */
function annotationsOf({ title: listed, description, annotations }: ListedTool, showTitle: boolean) {
  const { title, readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations
  const isRepeated = title === undefined || (showTitle && title === listed) || description.startsWith(title)
  const out: Partial<ToolAnnotations> = {
    ...(isRepeated ? undefined : { title: title! }),
    ...(readOnlyHint ? { readOnlyHint } : undefined),
    // both say how a tool writes (MCP, ToolAnnotations)
    ...(readOnlyHint || destructiveHint === undefined ? undefined : { destructiveHint }),
    ...(readOnlyHint || !idempotentHint ? undefined : { idempotentHint }),
    ...(openWorldHint ? undefined : { openWorldHint }),
  }
  return out
}

/** The JSON array of one page of a listing; made once per listing, view and page, in as many turns as it takes. */
export function toolsForm(
  listing: Listing,
  view: View,
  from = 0,
  to = listing.tools.length,
): MaybePromise<ListingForm> {
  // most lists have one page: the name of the view is a text that is there already
  const name = from === 0 && to === listing.tools.length ? view : `${view} ${from} ${to}`
  const made = listing.forms.get(name)
  if (made !== undefined) return made
  const form = beginInSlices(makingForm(listing.tools.slice(from, to), view, listing.compact))
  listing.forms.set(name, form)
  if (form instanceof Promise) {
    form.then(
      value => listing.forms.set(name, value),
      () => listing.forms.delete(name),
    )
  }
  return form
}

/** Characters of a long form that are encoded at once. */
const PIECE_CHARS = 64 * 1024
/** More are sent in several turns. */
const MAX_SHORT_PIECES = 8

/** Yields after each tool. */
function* makingForm(
  tools: Listing['tools'],
  view: View,
  compact: boolean | undefined,
): Generator<void, ListingForm> {
  const pieces: string[] = []
  let text = '['
  for (const [at, { tool }] of tools.entries()) {
    if (at > 0) text += ','
    text += writeJson(toolView(tool, view, compact))
    yield
    if (text.length < PIECE_CHARS) continue
    pieces.push(text)
    text = ''
  }
  pieces.push(`${text}]`)
  if (pieces.length <= MAX_SHORT_PIECES) return { json: pieces.join(''), tail: undefined }
  const encoded: Uint8Array[] = []
  for (const piece of pieces) {
    encoded.push(Buffer.from(piece))
    yield
  }
  return { pieces: encoded }
}

export function isSameForm(a: ListingForm, b: ListingForm): boolean {
  if ('json' in a || 'json' in b) return 'json' in a && 'json' in b && a.json === b.json
  return (
    a.pieces.length === b.pieces.length &&
    a.pieces.every((piece, at) => Buffer.compare(piece, b.pieces[at]!) === 0)
  )
}

/** For shorter lists, cached bytes gain nothing. */
const LONG_LIST_CHARS = 2048

/** The list and what follows it in UTF-8, made once; undefined where that would gain nothing. */
export function listTail(form: ShortForm, after: string): Uint8Array | undefined {
  if (form.json.length < LONG_LIST_CHARS) return undefined
  if (form.tail?.after !== after) form.tail = { after, bytes: Buffer.from(form.json + after) }
  return form.tail.bytes
}

/** A result without the fields and content types that the version does not know. */
export function resultView(result: ToolResult, view: View): ToolResult {
  const keepsStructured =
    has(view, 'structuredOutput') && (has(view, 'anyOutput') || isObject(result.structuredContent))
  const content = has(view, 'resourceLinks')
    ? result.content
    : result.content.map(part => olderContent(part, view))
  const { isError, structuredContent, _meta } = result
  return {
    content,
    isError,
    ...(keepsStructured && structuredContent !== undefined ? { structuredContent } : undefined),
    ...(_meta === undefined ? undefined : { _meta }),
  }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function olderContent(content: Content, view: View): Content {
  if (content.type === 'resource_link') {
    const said = content.size === undefined ? content.name : `${content.size} bytes`
    return { type: 'text', text: `[Left out: ${said}, at ${content.uri}]` }
  }
  if (content.type !== 'audio' || has(view, 'audio')) return content
  return {
    type: 'resource',
    resource: { uri: 'toolgate:answer', mimeType: content.mimeType, blob: content.data },
  }
}
