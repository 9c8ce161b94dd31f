/** A server that receives several requests on each connection (a line) and responds when the test says so. */

import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import type { TestBackend } from './backend.ts'
import { RequestLog } from './request-log.ts'

export interface Line {
  readonly socket: Socket
  /** Method and path of requests without a response. */
  readonly pending: string[]
  reads: number
}

export interface LineBackend extends TestBackend {
  /** Method and path, as they came. */
  readonly requests: readonly string[]
  /** Those that are open. */
  readonly lines: readonly Line[]
  /** Highest number of requests that one connection had in flight. */
  readonly maxPending: number
  /** Resolves when so many requests have come. */
  seen(count: number): Promise<void>
  /** Responds with the path, in order, to what is pending and what comes; not on the lines given. */
  respondAlways(except?: readonly Line[]): void
  /** Responds no more. */
  hold(): void
}

export async function lineBackend(): Promise<LineBackend> {
  const log = new RequestLog()
  const lines: Line[] = []
  let connections = 0
  let maxPending = 0
  let responds: ((line: Line) => boolean) | undefined

  function respond(line: Line): void {
    if (responds?.(line) !== true) return
    for (const request of line.pending.splice(0)) {
      const path = request.split(' ')[1]!
      line.socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${path.length}\r\n\r\n${path}`)
    }
  }

  const server = createServer({ allowHalfOpen: true }, socket => {
    connections++
    const line: Line = { socket, pending: [], reads: 0 }
    lines.push(line)
    let received = ''
    let skipBytes = 0
    socket.on('error', () => {})
    socket.on('end', () => socket.end())
    socket.on('close', () => lines.splice(lines.indexOf(line), 1))
    socket.on('data', chunk => {
      line.reads++
      received += chunk.toString('latin1')
      for (;;) {
        const skipped = Math.min(skipBytes, received.length)
        received = received.slice(skipped)
        skipBytes -= skipped
        const end = received.indexOf('\r\n\r\n')
        if (skipBytes > 0 || end < 0) break
        const head = received.slice(0, end)
        skipBytes = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
        received = received.slice(end + 4)
        const request = head.split(' ').slice(0, 2).join(' ')
        log.add(request)
        line.pending.push(request)
        maxPending = Math.max(maxPending, line.pending.length)
      }
      respond(line)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests: log.requests,
    lines,
    get maxPending() {
      return maxPending
    },
    connections: () => connections,
    seen: count => log.seen(count),
    respondAlways(except = []) {
      responds = line => !except.includes(line)
      for (const line of [...lines]) respond(line)
    },
    hold() {
      responds = undefined
    },
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const { socket } of [...lines]) socket.destroy()
      }),
  }
}
