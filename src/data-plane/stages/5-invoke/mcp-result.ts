/** Turns the tool result of an MCP server into one of the gateway, and checks and rewrites parts of MCP results. */
import { isObject } from '../../../base/json/is-object.ts'
import type { Content, ToolResult } from '../../../model/tool.ts'
import { MAX_TEXT_BYTES } from '../../pipeline/text-reply.ts'
import { leftOutParts } from '../shared/left-out-parts.ts'

type Dict = { readonly [name: string]: unknown }

/** A result with more parts ends with their number. */
const MAX_PARTS = 1_000
/** Prefixes of keys by which the gateway and MCP itself say something. */
const RESERVED_META = /^(?:toolgate\.dev|io\.modelcontextprotocol)\//

/** @returns undefined when the server did not send a tool result */
export function mcpResult(result: Dict, uriPrefix: string): ToolResult | undefined {
  const { content, isError, structuredContent, _meta } = result
  if (!Array.isArray(content) && structuredContent === undefined) return undefined
  const given: readonly unknown[] = Array.isArray(content) ? content : []
  const parts = given.slice(0, MAX_PARTS).map(part => withUris(contentOf(part), uriPrefix))
  const more = given.length - parts.length
  if (more > 0) parts.push(leftOutParts(more))
  const meta = metaOf(_meta)
  return {
    content: parts,
    isError: isError === true,
    ...(structuredContent === undefined ? {} : { structuredContent }),
    ...(meta === undefined ? {} : { _meta: meta }),
  }
}

/** The UTF-8 of a result that is one short text and nothing else; the caller gets the same bytes with less work. */
export function plainTextOf({
  content,
  isError,
  structuredContent,
  _meta,
}: ToolResult): Uint8Array | undefined {
  const part = content[0]
  if (content.length !== 1 || part!.type !== 'text' || isError) return undefined
  if (structuredContent !== undefined || _meta !== undefined) return undefined
  const { text } = part as { readonly text: string }
  if (3 * text.length > MAX_TEXT_BYTES) return undefined
  for (const name in part) if (name !== 'type' && name !== 'text') return undefined
  // a byte order mark would be taken away, and half a surrogate pair has no bytes
  return text.charCodeAt(0) === 0xfeff || !text.isWellFormed() ? undefined : Buffer.from(text)
}

/** The URIs of links and embedded resources, as clients may read them. */
export function withUris<T extends object>(part: T, uriPrefix: string): T {
  if (uriPrefix === '') return part
  const { type, uri, resource } = part as Dict
  if (type === 'resource_link') return { ...part, uri: uriPrefix + String(uri) }
  if (type === 'resource' && isObject(resource))
    return { ...part, resource: { ...resource, uri: uriPrefix + String(resource.uri) } }
  return part
}

/** Without what only the gateway and MCP may say. */
export function metaOf(meta: unknown): Dict | undefined {
  const kept = isObject(meta) ? Object.entries(meta).filter(([key]) => !RESERVED_META.test(key)) : []
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}

/** The part as it is, with its annotations; a part that no client could read is named. */
function contentOf(part: unknown): Content {
  const { type } = isObject(part) ? part : {}
  if (isObject(part) && isContent(part)) return part as unknown as Content
  const name = typeof type === 'string' ? type.slice(0, 40) : 'unknown'
  return { type: 'text', text: `[Left out: a part of the type ${name} that is not valid MCP content.]` }
}

/** For a type that MCP knows, with the members that the type needs. */
export function isContent({ type, text, data, mimeType, uri, name, resource }: Dict): boolean {
  switch (type) {
    case 'text':
      return typeof text === 'string'
    case 'image':
    case 'audio':
      return typeof data === 'string' && typeof mimeType === 'string'
    case 'resource_link':
      return typeof uri === 'string' && typeof name === 'string'
    case 'resource':
      return (
        isObject(resource) &&
        typeof resource.uri === 'string' &&
        (typeof resource.text === 'string' || typeof resource.blob === 'string')
      )
    default:
      return false
  }
}
