/** The backend of a chaos run: it logs each call with its request id and the times between which it worked on it, and it can reset or slow down. */
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

export interface BackendCall {
  /** `X-Request-ID`, which names consumer and call. */
  readonly requestId: string
  readonly path: string
  /** Milliseconds since the epoch, with fractions. */
  readonly beganAt: number
  /** undefined when the caller disconnected first: when its slot was released is not known. */
  endedAt: number | undefined
}

export interface Backend {
  readonly url: string
  readonly calls: BackendCall[]
  /** New and open connections are reset. */
  reset(active: boolean): void
  /** Added to every response. */
  slow(ms: number): void
  close(): void
}

export const now = (): number => performance.timeOrigin + performance.now()

/** `GET /…/<ms>` responds after so many milliseconds, any other path at once; the body names the path. */
export async function startBackend(name: string): Promise<Backend> {
  const calls: BackendCall[] = []
  const sockets = new Set<Socket>()
  let resetting = false
  let slowMs = 0
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const path = request.url!
    const call: BackendCall = {
      requestId: String(request.headers['x-request-id'] ?? ''),
      path,
      beganAt: now(),
      endedAt: undefined,
    }
    calls.push(call)
    const end = (): void => {
      if (response.destroyed) return
      call.endedAt = now()
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ backend: name, path }))
    }
    request.resume()
    const waitMs = slowMs + Number(/\/(\d+)$/.exec(path)?.[1] ?? 0)
    if (waitMs === 0) end()
    else setTimeout(end, waitMs)
  })
  server.on('connection', socket => {
    if (resetting) return void socket.resetAndDestroy()
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    reset(active) {
      resetting = active
      if (active) for (const socket of sockets) socket.resetAndDestroy()
    },
    slow(ms) {
      slowMs = ms
    },
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
