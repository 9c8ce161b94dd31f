/** JSON-RPC messages of a server: reads them within a bound of cost, and writes those of a client. */
import { EXACT_COST_FACTOR, lookingForExact, readJson, writeJson } from '../../base/json/exact-number.ts'
import { isObject } from '../../base/json/is-object.ts'
import { plainJson } from '../../base/json/plain-json.ts'
import { parseCost } from '../../base/parse-cost.ts'
import type { Dict, RequestId, RpcError, RpcResult } from '../protocol.ts'

/** `id` of a response is one of ours; that of a request is returned as it came. */
export type ServerMessage =
  | { readonly kind: 'response'; readonly id: unknown; readonly outcome: RpcResult | RpcError }
  | { readonly kind: 'request'; readonly id: unknown; readonly method: string; readonly params: Dict }
  | { readonly kind: 'notification'; readonly method: string; readonly params: Dict }

/** The text is not MCP, or reading it would block the thread. The message is for operators. */
export class MessageError extends Error {}

/** Nanoseconds that parsing one message may take in a thread that serves calls. */
const MAX_PARSE_NS = 10_000_000
/** Shorter texts cannot reach the bound. */
const CHECKED_FROM_CHARS = 8_192
/** Writing a deeper value would exhaust the stack. */
const MAX_DEPTH = 200
const QUOTE = 0x22
const BACKSLASH = 0x5c
/** For a batch (2025-03-26). */
const MAX_BATCH = 100

/** The messages of one text: one, or those of a batch. @throws MessageError */
export function readMessages(text: string, maxParseNs = MAX_PARSE_NS): readonly ServerMessage[] {
  if (isShort(text)) {
    checkDepth(text)
    return messagesOf(parseMessage(text))
  }
  const reading = readingMessages(text, maxParseNs)
  let step = reading.next()
  while (step.done !== true) step = reading.next()
  return step.value
}

/** The same, interruptible: each step takes milliseconds for a text of megabytes. */
export function* readingMessages(
  text: string,
  maxParseNs = MAX_PARSE_NS,
): Generator<void, readonly ServerMessage[]> {
  checkDepth(text)
  if (!isShort(text)) {
    yield
    const costNs = parseCost(Buffer.from(text), maxParseNs)
    yield
    if (costNs * ((yield* lookingForExact(text)) ? EXACT_COST_FACTOR : 1) > maxParseNs)
      throw new MessageError(`a message of ${text.length} characters with too many values to be read in time`)
    yield
  }
  return messagesOf(parseMessage(text))
}

/** Reading it needs no bound of cost. */
export function isShort(text: string): boolean {
  return text.length <= CHECKED_FROM_CHARS
}

function messagesOf(value: unknown): readonly ServerMessage[] {
  if (!Array.isArray(value)) return [messageOf(value)]
  if (value.length > MAX_BATCH) throw new MessageError(`a batch of ${value.length} messages`)
  return value.map(messageOf)
}

function checkDepth(text: string): void {
  if (isDeep(text)) throw new MessageError(`a message that is nested deeper than ${MAX_DEPTH} levels`)
}

function parseMessage(text: string): unknown {
  try {
    return readJson(text)
  } catch {
    throw new MessageError('text that is not JSON')
  }
}

function isDeep(text: string): boolean {
  // what is opened is closed
  if (text.length < 2 * MAX_DEPTH) return false
  let depth = 0
  let isInString = false
  for (let at = 0, { length } = text; at < length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) isInString = !isInString
    else if (isInString) at += code === BACKSLASH ? 1 : 0
    else if (code === 0x7b || code === 0x5b) depth++
    else if (code === 0x7d || code === 0x5d) depth--
    if (depth > MAX_DEPTH) return true
  }
  return false
}

function messageOf(value: unknown): ServerMessage {
  if (!isObject(value) || value.jsonrpc !== '2.0')
    throw new MessageError('JSON that is not a JSON-RPC 2.0 message')
  const { id, method, params, result, error } = value
  if (typeof method === 'string') {
    const named = isObject(params) ? params : {}
    return id === undefined
      ? { kind: 'notification', method, params: named }
      : { kind: 'request', id, method, params: named }
  }
  if (isObject(result)) return { kind: 'response', id, outcome: { kind: 'result', result } }
  if (isObject(error)) return { kind: 'response', id, outcome: errorOf(error) }
  throw new MessageError('a message that is neither a request nor a response')
}

function errorOf({ code, message, data }: Dict): RpcError {
  return {
    kind: 'error',
    code: typeof code === 'number' ? code : 0,
    message: typeof message === 'string' ? message : '',
    ...(data === undefined ? {} : { data }),
  }
}

/** The error in the body of a refused request; undefined when it holds none. */
export function errorIn(text: string): RpcError | undefined {
  try {
    for (const message of readMessages(text))
      if (message.kind === 'response' && message.outcome.kind === 'error') return message.outcome
  } catch {
    // a page of a proxy
  }
  return undefined
}

/**
 * @param method of MCP, which needs no escape
 * @param meta JSON of the `_meta` of the parameters, in place of one that they have
 */
export function requestText(id: RequestId, method: string, params: Dict, meta?: string): string {
  return `{"jsonrpc":"2.0","id":${typeof id === 'number' ? id : JSON.stringify(id)},"method":"${method}","params":${paramsText(params, meta)}}`
}

function paramsText(params: Dict, meta: string | undefined): string {
  const own = meta === undefined || params._meta === undefined ? params : { ...params, _meta: undefined }
  const text = plainJson(own) ?? writeJson(own)
  if (meta === undefined) return text
  return text === '{}' ? `{"_meta":${meta}}` : `${text.slice(0, -1)},"_meta":${meta}}`
}

export function notificationText(method: string, params?: Dict): string {
  return writeJson({ jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) })
}

export function responseText(
  id: unknown,
  response: { readonly result: Dict } | { readonly error: Dict },
): string {
  return writeJson({ jsonrpc: '2.0', id, ...response })
}
