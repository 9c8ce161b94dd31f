/** One echo server in its own process, for the listener and upstream benches: bare uWS or one of our listeners. */
import { createListener } from '../../src/net/server/create.ts'
import { DEFAULT_LISTENER_LIMITS } from '../../src/net/server/listener.ts'
import { loadNative } from '../../src/net/server/uws/native.ts'

/** What the bench asks for, over IPC, and what it gets back. */
export type Question = 'cpu'
export interface Ready {
  readonly port: number
}
export interface Cpu {
  /** User and system time of the process since its start, µs. */
  readonly cpuUs: number
}

const JSON_HEADERS = ['content-type', 'application/json']

/** The reference: reads the body, checks nothing, returns it. */
function bare(): number {
  const loaded = loadNative()
  if (!('native' in loaded)) throw new Error(loaded.reason)
  const { native } = loaded
  const app = native.App()
  app.post('/*', response => {
    response.onAborted(() => {})
    response.onData((chunk, last) => {
      if (!last) return
      const body = Buffer.allocUnsafe(chunk.byteLength)
      body.set(new Uint8Array(chunk))
      response.writeStatus('200 OK\r\ncontent-type: application/json').end(body)
    })
  })
  let socket: unknown
  app.listen('127.0.0.1', 0, 1, taken => {
    socket = taken
  })
  return native.us_socket_local_port(socket)
}

async function ours(kind: 'uws' | 'node'): Promise<number> {
  const listener = createListener(kind, {
    host: '127.0.0.1',
    port: 0,
    limits: DEFAULT_LISTENER_LIMITS,
    allowChunkedRequests: false,
    sharePort: false,
    onRefused: reason => {
      throw new Error(`the bench sends only sound requests, yet one was refused: ${reason}`)
    },
    handler: (request, response) =>
      request.readBody(
        1 << 20,
        body => response.send(200, JSON_HEADERS, body),
        () => response.send(413, []),
      ),
  })
  return (await listener.listen()).port
}

const kind = process.argv[2]
const port = kind === 'bare' ? bare() : await ours(kind === 'node' ? 'node' : 'uws')
process.on('message', (_question: Question) => {
  const { user, system } = process.cpuUsage()
  process.send!({ cpuUs: user + system } satisfies Cpu)
})
process.on('disconnect', () => process.exit())
process.send!({ port } satisfies Ready)
