/** Mounts a web-standard handler (`Request` → `Response`) on a listener, with bounded request bodies, aborts and streamed responses. */
import { byteString } from './byte-string.ts'
import type { HeaderList, HttpHandler, HttpRequest, HttpResponse, ResponseStream } from './listener.ts'
import { NOSNIFF } from './pages.ts'

/** What the handler learns of the other end of the connection. */
export type WebPeer = Pick<HttpRequest, 'peerVerified' | 'peerAddress'>

export type WebHandler = (request: Request, peer: WebPeer) => Response | Promise<Response>

export interface WebMountOptions {
  /** Reading a longer request body rejects with BodyTooLarge. */
  readonly maxBodyBytes: number
  /** Scheme of the URLs the handler sees; the authority is the request's Host. */
  readonly scheme: 'http' | 'https'
  /**
   * Called with every error of the handler or its body stream except BodyTooLarge (413) and errors after a disconnect; the client
   * gets 500, or a broken connection once the response has begun.
   * @param path of the request, without query
   */
  readonly onError: (error: unknown, path: string) => void
}

/** Set by the listener, or without meaning beyond one connection. */
const DROPPED = new Set([
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'upgrade',
  'date',
  'trailer',
])

/** The handler's `request.signal` fires when the client disconnects. */
export function mountWeb(handler: WebHandler, options: WebMountOptions): HttpHandler {
  return (request, response) => void respond(handler, options, request, response)
}

/** Rejects the body of a request that is larger than the mount takes. */
export class BodyTooLarge extends Error {}

/** The body as a stream of one piece; it is read from the connection at once, as the listener requires. */
function bodyOf(request: HttpRequest, maxBytes: number): ReadableStream<Uint8Array> | undefined {
  if (request.contentLength === 0) return undefined
  const whole = new Promise<Uint8Array>((resolve, reject) =>
    request.readBody(maxBytes, resolve, () =>
      reject(new BodyTooLarge(`The request body is larger than ${maxBytes} bytes.`)),
    ),
  )
  // a handler may respond without reading it
  whole.catch(() => {})
  return new ReadableStream(
    {
      async pull(controller) {
        const bytes = await whole
        if (bytes.byteLength > 0) controller.enqueue(bytes)
        controller.close()
      },
    },
    { highWaterMark: 0 },
  )
}

async function respond(
  handler: WebHandler,
  options: WebMountOptions,
  request: HttpRequest,
  response: HttpResponse,
): Promise<void> {
  const gone = new AbortController()
  try {
    const standard = webRequest(request, options, gone.signal)
    response.onAbort(() => {
      // a Request that is collected no longer follows the signal it was given: this keeps it until here
      void standard
      gone.abort()
    })
    const reply = await handler(standard, request)
    await deliver(reply, request.method === 'HEAD', response, gone.signal)
  } catch (error) {
    // An error that follows from the client's disconnect is not a fault.
    if (gone.signal.aborted) return
    if (error instanceof BodyTooLarge) return refuse(response, 413, 'payload_too_large', error.message)
    options.onError(error, request.path)
    // Once a response has begun this breaks the connection, so that half a response never looks whole.
    refuse(response, 500, 'internal_error', 'the request failed because of an internal error')
  }
}

function webRequest(
  request: HttpRequest,
  { scheme, maxBodyBytes }: WebMountOptions,
  signal: AbortSignal,
): Request {
  const body = bodyOf(request, maxBodyBytes)
  const headers = new Headers()
  const { rawHeaders } = request
  for (let at = 0; at < rawHeaders.length; at += 2)
    headers.append(rawHeaders[at]!, byteString(rawHeaders[at + 1]!))
  const search = request.query === '' ? '' : `?${request.query}`
  const init: RequestInit & { duplex?: 'half' } = { method: request.method, headers, signal }
  if (body !== undefined && !BODILESS.has(request.method)) {
    init.body = body
    init.duplex = 'half'
  }
  return new Request(`${scheme}://${request.header('host')}${request.path}${search}`, init)
}

/** A `Request` of these methods has no body (Fetch, "new Request"). */
const BODILESS = new Set(['GET', 'HEAD'])

type Piece = Awaited<ReturnType<ReadableStreamDefaultReader<Uint8Array>['read']>>

async function deliver(
  reply: Response,
  isHead: boolean,
  response: HttpResponse,
  gone: AbortSignal,
): Promise<void> {
  const headers = headerList(reply.headers)
  const declared = declaredLength(reply)
  if (reply.body === null || isHead) {
    await reply.body?.cancel()
    if (isHead) response.stream(reply.status, headers, declared)
    else response.send(reply.status, headers)
    return
  }
  const reader: ReadableStreamDefaultReader<Uint8Array> = reply.body.getReader()
  const cancel = (): void => void reader.cancel().catch(() => {})
  if (gone.aborted) cancel()
  else gone.addEventListener('abort', cancel, { once: true })
  // Nearly every response is one piece in memory: it goes out in one write, with its length.
  const first = await reader.read()
  const next = reader.read()
  const early = first.done ? first : await Promise.race([next, oneTurn()])
  if (early?.done) response.send(reply.status, headers, first.value)
  else await pump(first.value!, next, reader, response.stream(reply.status, headers, declared), gone)
}

/** What has not come after one turn of the event loop is waited for as a stream. */
function oneTurn(): Promise<undefined> {
  return new Promise(resolve => setImmediate(resolve, undefined))
}

async function pump(
  first: Uint8Array,
  next: Promise<Piece>,
  reader: ReadableStreamDefaultReader<Uint8Array>,
  stream: ResponseStream,
  gone: AbortSignal,
): Promise<void> {
  let wake = (): void => {}
  stream.onDrain(() => wake())
  gone.addEventListener('abort', () => wake(), { once: true })
  const write = async (piece: Uint8Array): Promise<void> => {
    if (stream.write(piece) || gone.aborted) return
    await new Promise<void>(resolve => {
      wake = resolve
    })
  }
  await write(first)
  for (let piece = await next; !piece.done && !gone.aborted; piece = await reader.read())
    await write(piece.value)
  stream.end()
}

function headerList(headers: Headers): HeaderList {
  const list: string[] = []
  for (const [name, value] of headers) if (!DROPPED.has(name)) list.push(name, value)
  return list
}

function declaredLength(reply: Response): number | undefined {
  const text = reply.headers.get('content-length')
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

function refuse(response: HttpResponse, status: number, error: string, message: string): void {
  response.send(status, ['content-type', 'application/json', ...NOSNIFF], JSON.stringify({ error, message }))
}
