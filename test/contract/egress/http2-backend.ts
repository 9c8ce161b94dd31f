/** An HTTP/2 server on the loopback interface, with and without TLS, that counts what it receives. */
import {
  createSecureServer,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import type { TestBackend } from './backend.ts'
import { certificate } from './certificate.ts'
import { RequestLog } from './request-log.ts'

export interface Http2Backend extends TestBackend {
  /** Method and path, as they came. */
  readonly requests: readonly string[]
  /** Those that are open. */
  readonly sessions: ReadonlySet<ServerHttp2Session>
  /** Highest number of streams that one connection had at a time. */
  readonly maxStreams: number
  readonly lastHeaders: IncomingHttpHeaders
  /** Resolves when so many requests have come. */
  seen(count: number): Promise<void>
  /** Resolves when the clients have read everything that was sent to them. */
  readBySessions(): Promise<void>
  destroySockets(): void
  /** The sockets that are open read no more. */
  pauseSockets(): void
}

export async function http2Backend(
  { isTls, maxStreams }: { readonly isTls: boolean; readonly maxStreams: number },
  respond: (stream: ServerHttp2Stream, path: string) => void,
): Promise<Http2Backend> {
  const settings = { maxConcurrentStreams: maxStreams }
  const server = isTls ? createSecureServer({ ...certificate(), settings }) : createServer({ settings })
  const log = new RequestLog()
  const sessions = new Set<ServerHttp2Session>()
  const sockets = new Set<Socket>()
  let connections = 0
  let maxSeen = 0
  let lastHeaders: IncomingHttpHeaders = {}
  server.on('connection', (socket: Socket) => {
    connections++
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.on('session', session => {
    sessions.add(session)
    session.on('error', () => {})
    session.on('close', () => sessions.delete(session))
    let streams = 0
    session.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
      maxSeen = Math.max(maxSeen, ++streams)
      stream.on('close', () => streams--)
      stream.on('error', () => {})
      lastHeaders = headers
      log.add(`${headers[':method']} ${headers[':path']}`)
      respond(stream, headers[':path']!)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: isTls ? `https://localhost:${port}` : `http://127.0.0.1:${port}`,
    port,
    requests: log.requests,
    sessions,
    get maxStreams() {
      return maxSeen
    },
    get lastHeaders() {
      return lastHeaders
    },
    connections: () => connections,
    seen: count => log.seen(count),
    async readBySessions() {
      // a ping may pass what waits to be sent, so the response to the first one only shows that this was sent
      for (let time = 0; time < 2; time++)
        await Promise.all(
          [...sessions].map(session => new Promise<void>(resolve => void session.ping(() => resolve()))),
        )
    },
    destroySockets() {
      for (const socket of sockets) socket.destroy()
    },
    pauseSockets() {
      for (const socket of sockets) socket.pause()
    },
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
