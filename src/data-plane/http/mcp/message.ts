/** JSON-RPC 2.0 messages and their ids: reads messages of a POST body, and writes responses. */

import { ExactNumber, writeJson } from '../../../base/json/exact-number.ts'
import { isObject } from '../../../base/json/is-object.ts'
import { namedMembers } from '../../../base/json/named-members.ts'

export type RequestId = string | number | ExactNumber

export interface RpcRequest {
  readonly kind: 'request'
  readonly id: RequestId
  readonly method: string
  readonly params: { readonly [name: string]: unknown }
}

export interface RpcNotification {
  readonly kind: 'notification'
  readonly method: string
  readonly params: { readonly [name: string]: unknown }
}

/** A client's response to a request of the server. */
export interface RpcResponse {
  readonly kind: 'response'
  readonly id: RequestId
  readonly result?: unknown
  readonly error?: unknown
}

/** `id` is that of the error response: null when the message has no usable id. */
interface RpcInvalid {
  readonly kind: 'invalid'
  readonly id: RequestId | null
  readonly reason: string
}

export type RpcMessage = RpcRequest | RpcNotification | RpcResponse | RpcInvalid

export function isId(value: unknown): value is RequestId {
  return typeof value === 'string' || typeof value === 'number' || value instanceof ExactNumber
}

/** An id as session stores keep and send it: equal for equal ids. */
export function storedId(id: RequestId): string | number {
  return id instanceof ExactNumber ? `number ${id.canonical}` : id
}

/** Sorts one element of a body into what it is (JSON-RPC 2.0 §4; MCP narrows ids to string or number, never null). */
export function readMessage(value: unknown): RpcMessage {
  if (!isObject(value)) return invalid(null, 'a message must be a JSON object')
  const { jsonrpc, id, method, params } = value
  const usableId = isId(id) ? id : null
  if (jsonrpc !== '2.0') return invalid(usableId, 'jsonrpc must be "2.0"')
  if (method === undefined) {
    if (usableId !== null && ('result' in value || 'error' in value)) {
      return {
        kind: 'response',
        id: usableId,
        ...('result' in value ? { result: value.result } : { error: value.error }),
      }
    }
    return invalid(usableId, 'method is missing')
  }
  if (typeof method !== 'string' || method === '') return invalid(usableId, 'method must be a string')
  const named = namedMembers(params)
  if (named === undefined) return invalid(usableId, 'params must be an object')
  if (id === undefined) return { kind: 'notification', method, params: named }
  if (usableId === null) return invalid(null, 'id must be a string or a number')
  return { kind: 'request', id: usableId, method, params: named }
}

function invalid(id: RequestId | null, reason: string): RpcInvalid {
  return { kind: 'invalid', id, reason }
}

/** Nearly all ids are numbers, of which a text is made for less than `JSON.stringify` takes. One that a double does not hold is an `ExactNumber`. */
export function idJson(id: RequestId): string {
  return typeof id === 'number' ? String(id) : writeJson(id)
}

/** @param resultJson the result, serialized already */
export function resultMessage(id: RequestId, resultJson: string): string {
  return `{"jsonrpc":"2.0","id":${idJson(id)},"result":${resultJson}}`
}

/** Legacy errors without a request id carry `id: null`. */
export function errorMessage(
  id: RequestId | null,
  error: { readonly code: number; readonly message: string; readonly data?: unknown },
): string {
  return writeJson({ jsonrpc: '2.0', id, error })
}

export function isInitialize(message: RpcMessage): boolean {
  return message.kind === 'request' && message.method === 'initialize'
}

/** @returns the cursor of a list; undefined for the first page, which some clients write as '' or null; false for any other value */
export function readCursor({ cursor }: RpcRequest['params']): string | undefined | false {
  if (cursor === undefined || cursor === null || cursor === '') return undefined
  return typeof cursor === 'string' && cursor
}
