/** Repeats a request on a number of connections and checks the responses. */
import { connect } from 'node:net'
import type { ResponseHead } from '../../src/net/egress/http1/response-head.ts'
import { ResponseParser } from '../../src/net/egress/http1/response-parser.ts'
import type { WorkRequest } from './work.ts'

export interface LoadOptions {
  readonly url: string
  readonly request: WorkRequest
  readonly connections: number
}

/** A running load. */
export interface Load {
  /** Correct responses so far. */
  responses(): number
  /** Rejects at the first wrong response or failed connection; resolves after `stop`. */
  readonly ended: Promise<void>
  stop(): void
}

/** One request in flight on each connection, the next one when the response is complete (closed loop). */
export function startLoad({ url, request, connections }: LoadOptions): Load {
  const { hostname, port, host } = new URL(url)
  const bytes = Buffer.from(serialize(request, host))
  const sockets = new Set<ReturnType<typeof connect>>()
  let responses = 0
  let stopped = false
  let fail: (error: Error) => void = () => {}
  let resolve: () => void = () => {}
  const ended = new Promise<void>((done, failed) => {
    resolve = done
    fail = failed
  })
  // the caller may not be awaiting it yet
  ended.catch(() => {})
  const stop = (): void => {
    stopped = true
    for (const socket of sockets) socket.destroy()
    resolve()
  }
  const abort = (reason: string): void => {
    if (stopped) return
    fail(new Error(`${request.method} ${request.path}: ${reason}`))
    stop()
  }

  function open(): void {
    let status = 0
    let keepAlive = true
    let body: Uint8Array[] = []
    const parser = new ResponseParser({
      head(head: ResponseHead) {
        status = head.status
        keepAlive = head.keepAlive
      },
      data(chunk) {
        body.push(chunk)
      },
    })
    const socket = connect({ host: hostname, port: Number(port), noDelay: true })
    sockets.add(socket)
    const send = (): void => {
      body = []
      parser.begin(request.method)
      socket.write(bytes)
    }
    socket.on('connect', send)
    socket.on('error', error => abort(error.message))
    socket.on('close', () => {
      sockets.delete(socket)
      if (!stopped && keepAlive) abort('the gateway closed a connection of the load test unexpectedly')
    })
    socket.on('data', chunk => {
      try {
        parser.feed(chunk, chunk.length)
      } catch (error) {
        return abort((error as Error).message)
      }
      if (!parser.done) return
      const payload =
        body.length === 1
          ? Buffer.from(body[0]!.buffer, body[0]!.byteOffset, body[0]!.length)
          : Buffer.concat(body)
      if (status !== 200 || !payload.includes(request.expectedText))
        return abort(
          `expected 200 with ${request.expectedText}, got ${status} ${payload.toString().slice(0, 500)}`,
        )
      responses++
      if (keepAlive) return send()
      socket.destroy()
      open()
    })
  }

  for (let opened = 0; opened < connections; opened++) open()
  return { responses: () => responses, ended, stop }
}

function serialize({ method, path, headers, body }: WorkRequest, host: string): string {
  const lines = Object.entries({
    host,
    ...headers,
    ...(method === 'POST' ? { 'content-length': String(Buffer.byteLength(body)) } : {}),
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}
