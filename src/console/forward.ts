/** Forwards requests of console and portal to the planes, and decides which headers may pass. */
import { isWithheldFromUpstream, NEVER_FORWARDED } from '../model/passthrough.ts'
import type { Egress } from '../net/egress/egress.ts'
import { PRIVATE, problem } from './problem.ts'

/** Timeout of a request that is not an event stream. */
const TIMEOUT_MS = 65_000
const STREAM_TIMEOUT_MS = 3600_000

/** Between checks whether the session of an event stream has ended. */
const CHECK_STREAM_MS = 5_000

const REQUEST_HEADERS = [
  'accept',
  'content-type',
  'idempotency-key',
  'if-match',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
  'x-debug-timing',
  'x-request-id',
  'x-tenant-id',
  'x-token-optimization',
]
const RESPONSE_HEADERS = [
  'content-type',
  'etag',
  'idempotency-replayed',
  'location',
  'mcp-session-id',
  'retry-after',
  'server-timing',
  'www-authenticate',
  'x-policy-revision',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-request-id',
  'x-token-optimization-saved',
  'x-trace-id',
]

/** For the browser, the proxy or this page, besides those that the gateway never forwards. */
const NEVER_CHOSEN =
  /^(?:cookie2|set-cookie2?|origin|referer|content-length|x-csrf-token|(?:sec|proxy|access-control|x-portal)-.*)$/

/** The control plane of this process. */
export type ControlPlaneHandler = (request: Request) => Promise<Response>

/** Header that carries the token of the session. */
type Credential = Readonly<Record<string, string>>

export function bearer(token: string): Credential {
  return { authorization: `Bearer ${token}` }
}

/** @param added headers that replace those of the request */
function forwardedHeaders(request: Request, added: Readonly<Record<string, string>>): Headers {
  const headers = new Headers()
  for (const name of REQUEST_HEADERS) {
    const value = request.headers.get(name)
    if (value !== null) headers.set(name, value)
  }
  for (const [name, value] of Object.entries(added)) headers.set(name, value)
  return headers
}

/** A header that the user of a trial may choose: no credential, none of the connection, none that says who calls or from where. @param name in lower case */
export function mayBeChosen(name: string): boolean {
  if (REQUEST_HEADERS.includes(name)) return true
  return !NEVER_FORWARDED.has(name) && !isWithheldFromUpstream(name) && !NEVER_CHOSEN.test(name)
}

function toResponse(
  status: number,
  read: (name: string) => string | null,
  body: ReadableStream<Uint8Array> | null,
): Response {
  const headers = new Headers(PRIVATE)
  for (const name of RESPONSE_HEADERS) {
    const value = read(name)
    if (value !== null && value !== '') headers.set(name, value)
  }
  if (headers.get('content-type')?.startsWith('text/event-stream')) headers.set('x-accel-buffering', 'no')
  return new Response(status === 204 || status === 304 ? null : body, { status, headers })
}

/** @param path with query, below the root of the control plane */
export async function forwardToControlPlane(
  handle: ControlPlaneHandler,
  path: string,
  request: Request,
  credential: Credential,
): Promise<Response> {
  const init: RequestInit & { duplex: 'half' } = {
    method: request.method,
    headers: forwardedHeaders(request, credential),
    body: request.body,
    signal: request.signal,
    duplex: 'half',
  }
  const response = await handle(new Request(new URL(path, request.url), init))
  return toResponse(response.status, name => response.headers.get(name), response.body)
}

/** @param url of the gateway, with path and query. @param added the credential, and headers that the user has chosen */
export async function forwardToGateway(
  egress: Egress,
  url: string,
  request: Request,
  added: Readonly<Record<string, string>>,
): Promise<Response> {
  const isStream = request.headers.get('accept')?.includes('text/event-stream') === true
  // with a declared length: some listeners refuse chunked requests; the mount has bounded the body
  const body = request.body === null ? undefined : new Uint8Array(await request.arrayBuffer())
  const response = await egress.stream({
    method: request.method,
    url,
    headers: [
      ...[...forwardedHeaders(request, added)].flat(),
      ...(body === undefined ? [] : ['content-length', String(body.byteLength)]),
    ],
    ...(body === undefined ? {} : { body: piecesOf(body) }),
    timeoutMs: isStream ? STREAM_TIMEOUT_MS : TIMEOUT_MS,
  })
  if (response.kind === 'failure')
    return problem(
      'unavailable',
      `The gateway cannot be reached (${response.reason}). Retry, or check that the gateway runs.`,
    )
  const { body: pieces, headers, status } = response
  request.signal.addEventListener('abort', () => pieces.destroy(), { once: true })
  return toResponse(status, name => headers.get(name), streamOf(pieces))
}

async function* piecesOf(body: Uint8Array): AsyncIterable<Uint8Array> {
  yield body
}

/** Pulls one piece at a time, so that a page that does not read holds the gateway back. */
function streamOf(body: AsyncIterable<Uint8Array> & { destroy(): void }): ReadableStream<Uint8Array> {
  const pieces = body[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const piece = await pieces.next()
      if (piece.done === true) controller.close()
      else controller.enqueue(piece.value)
    },
    cancel: () => body.destroy(),
  })
}

/** Ends an event stream with its session. @param hasEnded also rejects, when that is not known */
export function endWithSession(response: Response, hasEnded: () => Promise<boolean>): Response {
  const { body, headers, status } = response
  if (body === null || !headers.get('content-type')?.startsWith('text/event-stream')) return response
  const events = body.getReader()
  const end = (): void => void events.cancel().catch(() => {})
  const timer = setInterval(() => void hasEnded().then(ended => ended && end(), end), CHECK_STREAM_MS).unref()
  const bounded = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await events.read()
      if (!done) return controller.enqueue(value)
      clearInterval(timer)
      controller.close()
    },
    cancel(reason) {
      clearInterval(timer)
      return events.cancel(reason)
    },
  })
  return new Response(bounded, { status, headers })
}
