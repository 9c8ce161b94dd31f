/** The listeners under a closed loop of raw connections: a JSON-RPC POST and its echo, ours beside bare uWS. */
import { connect, type Socket } from 'node:net'
import type { BenchCase, Suite } from '../suite.ts'
import { BODY, CASES, HEADERS, type ListenerCase, startEchoServer } from './listener-process.ts'

const CONNECTIONS = 32
const PER_CONNECTION = 20

const suite: Suite = {
  id: 'http/listener',
  title: `POST of ${BODY.length} bytes JSON, echoed: one request in flight on each of ${CONNECTIONS} connections; wall time per request, client included`,
  cases: () => Promise.all(CASES.map(echoCase)),
}
export default suite

async function echoCase(name: ListenerCase): Promise<BenchCase> {
  const { port } = await startEchoServer(name)
  let clients: Client[] = []
  return {
    id: `echo/${name}`,
    perRun: CONNECTIONS * PER_CONNECTION,
    async run() {
      // A server closes what was idle for 10 s while other cases had their turn.
      if (clients.length === 0 || clients.some(client => client.closed)) {
        clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => openClient(port)))
      }
      await Promise.all(clients.map(client => client.send(PER_CONNECTION)))
    },
  }
}

interface Client {
  readonly closed: boolean
  /** Sends so many requests one after the other, checks each response and resolves behind the last. */
  send(count: number): Promise<void>
}

const REQUEST = Buffer.from(
  [
    'POST /mcp/sse HTTP/1.1',
    'host: 127.0.0.1',
    ...Object.entries(HEADERS).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${BODY.length}`,
    '',
    BODY,
  ].join('\r\n'),
)
const STATUS = Buffer.from('HTTP/1.1 200 OK\r\n')
const ECHO = Buffer.from(BODY)

async function openClient(port: number): Promise<Client> {
  const socket = await new Promise<Socket>((resolve, reject) => {
    const opening = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(opening))
    opening.on('error', reject)
  })
  let left = 0
  let finish: { resolve: () => void; reject: (error: Error) => void }
  let response = Buffer.alloc(0)
  socket.on('data', chunk => {
    response = response.length === 0 ? chunk : Buffer.concat([response, chunk])
    if (!response.subarray(-ECHO.length).equals(ECHO)) return
    if (!response.subarray(0, STATUS.length).equals(STATUS)) {
      finish.reject(new Error(`a wrong response: ${response.toString()}`))
      return
    }
    response = Buffer.alloc(0)
    left--
    if (left > 0) socket.write(REQUEST)
    else finish.resolve()
  })
  socket.on('close', () => finish?.reject(new Error('the server closed a connection of the bench')))
  return {
    get closed() {
      return socket.destroyed
    },
    send: count =>
      new Promise((resolve, reject) => {
        finish = { resolve, reject }
        left = count
        socket.write(REQUEST)
      }),
  }
}
