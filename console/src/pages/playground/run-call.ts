/** Calls a tool over REST or MCP, returns status, selected headers, events and body of the response, and reads its questions. */
import type { Schema } from '../../api/admin-types.ts'
import { request } from '../../api/client.ts'

export type Protocol = 'rest' | 'mcp'

export interface Exchange {
  readonly protocol: Protocol
  readonly status: number
  readonly ms: number
  readonly requestId: string | null
  /** `X-RateLimit-*`, `Server-Timing` and others of the response. */
  readonly headers: readonly (readonly [string, string])[]
  readonly body: unknown
  /** The messages before the last one of an event stream, such as progress notifications. */
  readonly events: readonly unknown[]
}

const SHOWN = [
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-policy-revision',
  'retry-after',
  'server-timing',
  'x-trace-id',
]
const PROTOCOL_VERSION = '2026-07-28'
const META = 'io.modelcontextprotocol'

/** A question of the gateway to the user, such as a confirmation that the policy asks for. */
export interface Question {
  readonly id: string
  readonly message: string
  readonly schema: Schema
}

/** What a call waits for: the questions, and what is sent with the responses. */
export interface Inquiry {
  readonly questions: readonly Question[]
  readonly requestState: unknown
}

/** The result of an elicitation (MCP, elicitation). */
export interface Elicited {
  readonly action: 'accept' | 'decline' | 'cancel'
  readonly content?: object
}

/** The questions of a response that waits for them; undefined: the call has ended. */
export function inquiryOf({ body }: Exchange): Inquiry | undefined {
  const { result } = (body ?? {}) as { readonly result?: InputRequired }
  if (result?.resultType !== 'input_required') return undefined
  const questions = Object.entries(result.inputRequests ?? {}).map(([id, { params }]) => ({
    id,
    message: params?.message ?? '',
    schema: params?.requestedSchema ?? {},
  }))
  return { questions, requestState: result.requestState }
}

interface InputRequired {
  readonly resultType?: string
  readonly requestState?: unknown
  readonly inputRequests?: {
    readonly [id: string]: {
      readonly params?: { readonly message?: string; readonly requestedSchema?: Schema }
    }
  }
}

export interface CallOptions {
  readonly protocol: Protocol
  readonly tool: string
  readonly args: object
  readonly tenant: string | undefined
  /** Repeats a call that waited for responses. */
  readonly resume?: {
    readonly requestState: unknown
    readonly inputResponses: { readonly [id: string]: Elicited }
  }
}

export async function runCall({ protocol, tool, args, tenant, resume }: CallOptions): Promise<Exchange> {
  const path = protocol === 'rest' ? 'gateway/mcp/tools/call' : 'gateway/mcp'
  const _meta = {
    progressToken: 'playground',
    [`${META}/protocolVersion`]: PROTOCOL_VERSION,
    [`${META}/clientCapabilities`]: { elicitation: {} },
    [`${META}/clientInfo`]: { name: 'toolgate-console', version: '1' },
  }
  const params = { name: tool, arguments: args, ...resume, _meta }
  const body =
    protocol === 'rest'
      ? { name: tool, arguments: args }
      : { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
  const headers = {
    ...(tenant === undefined ? {} : { 'x-tenant-id': tenant }),
    'x-debug-timing': 'true',
    ...(protocol === 'rest'
      ? {}
      : {
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': PROTOCOL_VERSION,
          'mcp-method': 'tools/call',
          'mcp-name': tool,
        }),
  }
  const begin = performance.now()
  const response = await request(path, { method: 'POST', body, headers, anyStatus: true })
  const { value, events } = await readBody(response)
  return {
    protocol,
    status: response.status,
    ms: performance.now() - begin,
    requestId: response.headers.get('x-request-id'),
    headers: SHOWN.flatMap(name => {
      const text = response.headers.get(name)
      return text === null ? [] : [[name, text] as const]
    }),
    body: value,
    events,
  }
}

async function readBody(
  response: Response,
): Promise<{ readonly value: unknown; readonly events: readonly unknown[] }> {
  const text = await response.text()
  if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true)
    return { value: parse(text), events: [] }
  const messages = [...text.matchAll(/^data: ?(.*)$/gm)]
    .map(match => parse(match[1]!))
    .filter(value => value !== '')
  return { value: messages.at(-1), events: messages.slice(0, -1) }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
