/** Loopback servers for the egress tests (plain HTTP, and raw sockets that misbehave on purpose), and a deferred promise. Nothing is mocked. */
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'

export interface TestBackend {
  readonly url: string
  readonly port: number
  /** TCP connections accepted so far. */
  connections(): number
  close(): Promise<void>
}

export function httpBackend(handler: RequestListener, host = '127.0.0.1'): Promise<TestBackend> {
  const server = createServer(handler)
  return listen(server as unknown as Server, host)
}

/** Calls `onRequest` with the text received since its last call, once that contains the end of a request head. */
export function rawBackend(
  onRequest: (socket: Socket, received: string) => void,
  onConnection: (socket: Socket) => void = () => {},
): Promise<TestBackend> {
  return listen(
    createTcpServer({ allowHalfOpen: true }, socket => {
      onConnection(socket)
      let received = ''
      socket.on('error', () => {})
      socket.on('data', chunk => {
        received += chunk.toString('latin1')
        if (!received.includes('\r\n\r\n')) return
        const request = received
        received = ''
        onRequest(socket, request)
      })
    }),
    '127.0.0.1',
  )
}

async function listen(server: Server, host: string): Promise<TestBackend> {
  const sockets = new Set<Socket>()
  let connections = 0
  server.on('connection', socket => {
    connections++
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, host, resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    connections: () => connections,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

/** Lets both ends of the open connections read what the other has sent or closed: after a sleep, a busy process may not have. */
export async function readArrived(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise(resolve => setImmediate(resolve))
}

/** A promise and the function that keeps it (Node 20 has no Promise.withResolvers). */
export function deferred<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve!: (value: T) => void
  const promise = new Promise<T>(keep => {
    resolve = keep
  })
  return { promise, resolve }
}
