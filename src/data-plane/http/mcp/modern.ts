/** Recognizes stateless requests (MCP 2026-07-28), and reads and checks `_meta` and headers. */

import {
  isModernVersion,
  LATEST_LEGACY,
  MODERN_VERSIONS,
  type ProtocolVersion,
} from '../../../mcp/versions.ts'
import { HEADER_MISMATCH, INVALID_PARAMS, UNSUPPORTED_VERSION } from '../../../model/rpc-errors.ts'
import type { HttpRequest } from '../../../net/server/listener.ts'
import type { RequestId, RpcMessage, RpcRequest } from './message.ts'
import { fault, type RpcReply } from './result.ts'

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'
export const LOG_LEVEL_KEY = 'io.modelcontextprotocol/logLevel'
const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities'

export interface Envelope {
  readonly version: ProtocolVersion
  readonly clientCapabilities: { readonly [name: string]: unknown }
}

/** A version header later than the newest legacy version, supported or not. */
export function isModernHeader(header: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(header) && header > LATEST_LEGACY
}

export function metaOf(message: RpcMessage): { readonly [key: string]: unknown } | undefined {
  if (message.kind !== 'request' && message.kind !== 'notification') return undefined
  const meta = message.params._meta
  return typeof meta === 'object' && meta !== null && !Array.isArray(meta)
    ? (meta as { readonly [key: string]: unknown })
    : undefined
}

/** True when `_meta` names a version, or the header a modern one. */
export function isModern(message: RpcMessage, header: string): boolean {
  return metaOf(message)?.[VERSION_KEY] !== undefined || isModernHeader(header)
}

/** Checks `_meta` and headers in the order that decides which error is reported. */
export function readEnvelope(request: RpcRequest, http: HttpRequest): Envelope | RpcReply {
  const { id, method } = request
  const meta = metaOf(request)
  const header = http.header('mcp-protocol-version')
  if (method === 'initialize' && meta?.[VERSION_KEY] === undefined) {
    return mismatch(
      id,
      `Protocol version ${header} has no method initialize. Send server/discover, or send initialize without the header MCP-Protocol-Version.`,
    )
  }
  const version = meta?.[VERSION_KEY]
  const clientCapabilities = meta?.[CAPABILITIES_KEY]
  if (typeof version !== 'string')
    return fault(id, INVALID_PARAMS, `params._meta["${VERSION_KEY}"] must be a string.`, undefined, 400)
  if (
    typeof clientCapabilities !== 'object' ||
    clientCapabilities === null ||
    Array.isArray(clientCapabilities)
  ) {
    return fault(id, INVALID_PARAMS, `params._meta["${CAPABILITIES_KEY}"] must be an object.`, undefined, 400)
  }
  if (header !== '' && header !== version) {
    return mismatch(
      id,
      `MCP-Protocol-Version is ${header.slice(0, 32)}, but _meta says ${version.slice(0, 32)}.`,
    )
  }
  if (!isModernVersion(version)) {
    const data = { supported: MODERN_VERSIONS, requested: version }
    return fault(
      id,
      UNSUPPORTED_VERSION,
      `Protocol version ${version.slice(0, 32)} is not supported.`,
      data,
      400,
    )
  }
  if (header === '') return mismatch(id, 'The header MCP-Protocol-Version is missing.')
  return (
    checkMethodHeaders(request, http) ?? {
      version,
      clientCapabilities: clientCapabilities as Envelope['clientCapabilities'],
    }
  )
}

const NAME_OF_METHOD: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
}

function checkMethodHeaders(request: RpcRequest, http: HttpRequest): RpcReply | undefined {
  const { id, method, params } = request
  const methodHeader = http.header('mcp-method').trim()
  if (methodHeader === '') return mismatch(id, 'The header Mcp-Method is missing.')
  if (methodHeader !== method)
    return mismatch(id, 'The header Mcp-Method differs from the method in the body.')
  const nameParam = Object.hasOwn(NAME_OF_METHOD, method) ? NAME_OF_METHOD[method] : undefined
  if (nameParam === undefined) return undefined
  const inBody = params[nameParam]
  const raw = http.header('mcp-name').trim()
  if (raw === '') return inBody === undefined ? undefined : mismatch(id, 'The header Mcp-Name is missing.')
  const inHeader = decodeHeader(raw)
  if (inHeader === undefined) return mismatch(id, 'The header Mcp-Name is not valid base64.')
  return inHeader === inBody
    ? undefined
    : mismatch(id, `The header Mcp-Name differs from params.${nameParam}.`)
}

/** Value of a header that mirrors an argument: undefined when it is absent, null when it is broken. */
export function mirroredHeader(http: HttpRequest, name: string): string | undefined | null {
  const raw = http.header(name)
  return raw === '' ? undefined : (decodeHeader(raw.trim()) ?? null)
}

/** `=?base64?…?=` holds UTF-8 (MCP 2026-07-28, "Header value encoding"); undefined when it is broken. */
function decodeHeader(value: string): string | undefined {
  const encoded = /^=\?base64\?(.*)\?=$/.exec(value)?.[1]
  if (encoded === undefined) return value
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(encoded)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(encoded, 'base64'))
  } catch {
    return undefined
  }
}

function mismatch(id: RequestId, message: string): RpcReply {
  return fault(id, HEADER_MISMATCH, message, undefined, 400)
}
