/** The accepted tools of an MCP server, in the stored list that was served last and the tools that the server has removed since. */
import { readJson, writeJson } from '../../base/json/exact-number.ts'
import type { ToolSet } from '../../model/tool-set.ts'
import type { AcceptedTools } from '../mcp/hold-changes.ts'
import type { StoredDocument, StoredFile } from './document-store.ts'

const REMOVED = 'removed'

/** undefined: no list was accepted before, here or at another gateway. */
export function acceptedTools(
  stored: StoredDocument | undefined,
  { acceptedSpecHash }: ToolSet,
): AcceptedTools | undefined {
  if (stored === undefined) return acceptedSpecHash === undefined ? undefined : { served: [], removed: [] }
  const { bytes, files } = stored
  const { tools } = readStored(bytes) as { readonly tools: readonly unknown[] }
  const removed = files.get(REMOVED)
  return { served: tools, removed: removed === undefined ? [] : (readStored(removed.bytes) as unknown[]) }
}

function readStored(bytes: Uint8Array): unknown {
  return readJson(Buffer.from(bytes).toString('utf8'))
}

export function filesOf(removed: readonly unknown[]): ReadonlyMap<string, StoredFile> {
  if (removed.length === 0) return new Map()
  return new Map([[REMOVED, { etag: undefined, bytes: Buffer.from(writeJson(removed)) }]])
}
