/** Shortens or replaces the parts of a tool result that exceed its limits. `mcp/dispatch.ts` applies it to results for MCP clients. */
import { beginsAsContainer } from '../../base/json/json-text.ts'
import type { Content, Tool, ToolResult } from '../../model/tool.ts'
import { leftOutParts } from '../stages/shared/left-out-parts.ts'

/** Base64 of an image or sound is not read as text. */
const MAX_MEDIA_CHARS = 7 * 1024 * 1024
/** Arguments by which APIs select a part of a list. */
const PAGING =
  /^(?:page|limit|offset|cursor|after|before|first|last|top|skip|count|size|per_?page|page_?(?:size|token|number)|max_?(?:results|items)|starting_after|ending_before|start|fields|select|filter|q|query|search)$/i

const MAX_LINK_CHARS = 512

/** For parts that are left out; further ones are counted in one sentence. */
const MAX_NOTES = 16

/** @param maxBytes of all texts, links and embedded resources together, measured in UTF-16 code units */
export function boundedResult(result: ToolResult, maxBytes: number, tool: Tool): ToolResult {
  if (!isTooLong(result, maxBytes)) return result
  let left = maxBytes
  let notes = 0
  const content = result.content.flatMap((part): Content[] => {
    const chars = charsOf(part)
    const isMedia = part.type === 'image' || part.type === 'audio'
    if (chars <= (isMedia ? MAX_MEDIA_CHARS : left)) {
      if (!isMedia) left -= chars
      return [part]
    }
    if (++notes > MAX_NOTES) return []
    if (part.type !== 'text') return [describeOmission(part, result)]
    const text = startOf(part.text, left)
    left = 0
    return [
      { ...part, text },
      { type: 'text', text: leftOut(chars - text.length, chars, tool) },
    ]
  })
  const more = notes - MAX_NOTES
  if (more > 0) content.push(leftOutParts(more))
  const { structuredContent, ...rest } = result
  // a part of it would not match the outputSchema, and clients check it only in results without an error
  const isCut = structuredContent !== undefined
  return { ...rest, content, isError: result.isError || isCut }
}

function isTooLong({ content }: ToolResult, maxBytes: number): boolean {
  let texts = 0
  for (const part of content) {
    const chars = charsOf(part)
    if (part.type === 'image' || part.type === 'audio') {
      if (chars > MAX_MEDIA_CHARS) return true
    } else texts += chars
  }
  return texts > maxBytes
}

function charsOf(part: Content): number {
  switch (part.type) {
    case 'text':
      return part.text.length
    case 'resource':
      return part.resource.uri.length + (part.resource.text ?? part.resource.blob ?? '').length
    case 'resource_link':
      return part.uri.length + part.name.length
    default:
      return part.data.length
  }
}

/** JSON stays JSON: it ends after an item, and what is open is closed. */
function startOf(text: string, max: number): string {
  const cut = beginsAsContainer(text) ? jsonStart(text, max) : undefined
  if (cut !== undefined) return cut
  const code = text.charCodeAt(max - 1)
  return text.slice(0, code >= 0xd800 && code <= 0xdbff ? max - 1 : max)
}

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const LIST = 0x5b
const OBJECT = 0x7b
/** The closing bracket of each kind is two places behind the opening one. */
const TO_CLOSING = 2

function jsonStart(text: string, max: number): string | undefined {
  let depth = 0
  let end = 0
  scanJson(text, max, (code, at) => {
    if (isOpening(code)) depth++
    else if (code !== COMMA) depth--
    else if (at + depth <= max) end = at
  })
  return end === 0 ? undefined : text.slice(0, end) + closersAt(text, end)
}

/** What closes all that is open there. */
function closersAt(text: string, end: number): string {
  const open: string[] = []
  scanJson(text, end, code => {
    if (isOpening(code)) open.push(code === LIST ? ']' : '}')
    else if (code !== COMMA) open.pop()
  })
  return open.reverse().join('')
}

/** Visits the brackets and commas outside of strings. */
function scanJson(text: string, to: number, visit: (code: number, at: number) => void): void {
  let isInString = false
  for (let at = 0; at < to; at++) {
    const code = text.charCodeAt(at)
    if (isInString) {
      if (code === BACKSLASH) at++
      else if (code === QUOTE) isInString = false
    } else if (code === QUOTE) isInString = true
    else if (code === COMMA || isOpening(code) || isOpening(code - TO_CLOSING)) visit(code, at)
  }
}

function isOpening(code: number): boolean {
  return code === LIST || code === OBJECT
}

function leftOut(chars: number, all: number, { inputSchema }: Tool): string {
  const paging = Object.keys(inputSchema.properties ?? {}).filter(name => PAGING.test(name))
  const narrower =
    paging.length === 0
      ? 'make several calls with narrower arguments'
      : `use the arguments ${paging.slice(0, 8).join(', ')}`
  return `[Left out: the last ${chars} of ${all} characters. To get the rest, ${narrower}. For shorter results, the client can send the header X-Token-Optimization: aggressive. The operator can change the limit with the setting RESULT_MAX or with maxResultKiB in the ToolSet.]`
}

/** What may be replaced by its address. */
type Embedded = Exclude<Content, { type: 'text' | 'resource_link' }>

function describeOmission(part: Exclude<Content, { type: 'text' }>, { _meta }: ToolResult): Content {
  if (part.type === 'resource_link') return shortLink(part)
  const bytes = bytesOf(part)
  const mimeType = part.type === 'resource' ? part.resource.mimeType : part.mimeType
  const uri = addressOf(part, _meta)
  if (uri !== undefined)
    return {
      type: 'resource_link',
      uri,
      name: 'response',
      size: bytes,
      ...(mimeType ? { mimeType } : undefined),
    }
  return {
    type: 'text',
    text: `[Left out: ${bytes} bytes of ${mimeType ?? 'unknown type'}. The content exceeds the size limit for a result, and the backend gives no URL for it. Call the tool through REST to get the content.]`,
  }
}

/** The link without what only describes it: as short as the sentence that would replace it. */
function shortLink(link: Extract<Content, { type: 'resource_link' }>): Content {
  const chars = charsOf(link)
  const { type, uri, name, mimeType, size } = link
  if (chars <= MAX_LINK_CHARS)
    return {
      type,
      uri,
      name,
      ...(mimeType ? { mimeType } : undefined),
      ...(size === undefined ? undefined : { size }),
    }
  return {
    type: 'text',
    text: `[Left out: a link of ${chars} characters, more than the limit of ${MAX_LINK_CHARS} characters.]`,
  }
}

function bytesOf(part: Embedded): number {
  if (part.type !== 'resource') return Buffer.byteLength(part.data, 'base64')
  const { text, blob = '' } = part.resource
  return text === undefined ? Buffer.byteLength(blob, 'base64') : Buffer.byteLength(text)
}

/** An absolute address that the backend gave for the content (RFC 9110 §8.7), or the location of the part. */
function addressOf(part: Embedded, meta: ToolResult['_meta']): string | undefined {
  const backend = meta?.['toolgate.dev/backend'] as { readonly contentLocation?: string } | undefined
  const given =
    part.type === 'resource' && /^https?:/.test(part.resource.uri)
      ? part.resource.uri
      : backend?.contentLocation
  return given !== undefined && /^https?:\/\//i.test(given) ? given : undefined
}
