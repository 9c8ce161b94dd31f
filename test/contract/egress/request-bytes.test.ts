/** The bytes of requests that follow each other on few connections, of all lengths around the bounds of the memory that a connection keeps. */
import { createServer, type Socket } from 'node:net'
import { expect, it } from 'vitest'
import type { Egress, EgressRequest } from '../../../src/net/egress/egress.ts'
import { client, keep, text } from './carriers.ts'

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
const KEPT_BYTES = 2 * 1024
const JOINED_BYTES = 16 * 1024

/** By path: the head in Latin-1 and the body. */
type Received = Map<string, { readonly head: string; readonly body: Buffer }>

/** A server that keeps what it receives, and responds when a request is complete. */
async function recorder(): Promise<{ readonly url: string; readonly received: Received }> {
  const received: Received = new Map()
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    let bytes = Buffer.alloc(0)
    socket.on('error', () => {})
    socket.on('data', chunk => {
      bytes = Buffer.concat([bytes, chunk])
      const bodyAt = bytes.indexOf('\r\n\r\n') + 4
      if (bodyAt < 4) return
      const head = bytes.toString('latin1', 0, bodyAt)
      const length = Number(/content-length: (\d+)/.exec(head)?.[1] ?? 0)
      if (bytes.length < bodyAt + length) return
      received.set(head.split(' ')[1]!, { head, body: bytes.subarray(bodyAt) })
      bytes = Buffer.alloc(0)
      socket.write(OK)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  keep({
    close: () =>
      new Promise(resolve => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  })
  const { port } = server.address() as { port: number }
  return { url: `http://127.0.0.1:${port}`, received }
}

/** Bodies of a length in bytes, by what they consist of. */
const BODIES: readonly ((bytes: number) => EgressRequest['body'])[] = [
  bytes => 'a'.repeat(bytes),
  bytes => 'é'.repeat(bytes / 2) + 'z'.repeat(bytes % 2),
  bytes => '€'.repeat(bytes / 3) + 'z'.repeat(bytes % 3),
  bytes => Buffer.alloc(bytes, 0x80),
]
const LENGTHS = [
  0,
  1,
  2,
  100,
  1500,
  1800,
  1900,
  2000,
  KEPT_BYTES,
  4000,
  JOINED_BYTES - 500,
  JOINED_BYTES,
  70_000,
]
const VALUES = ['', 'plain', 'né', 'ÿ'.repeat(200), 'x'.repeat(1900)]

function requests(url: string): readonly EgressRequest[] {
  const all: EgressRequest[] = []
  for (const [round, value] of VALUES.entries())
    for (const [at, length] of LENGTHS.entries()) {
      const body = BODIES[(round + at) % BODIES.length]!(length)
      all.push({
        method: 'POST',
        url: `${url}/${round}/${at}/${'p'.repeat((7 * at) % 23)}`,
        headers: ['x-value', value],
        headersOfCall: ['x-call', `${round}-${at}`],
        body: at === 0 ? undefined : body,
        timeoutMs: 20_000,
        maxResponseBytes: 1024,
      })
    }
  return all
}

function expectReceived(received: Received, all: readonly EgressRequest[], url: string): void {
  expect(received.size).toBe(all.length)
  for (const { url: address, headers, headersOfCall, body } of all) {
    const { head, body: bytes } = received.get(address.slice(url.length))!
    const sent = Buffer.from(body ?? '')
    expect(bytes.equals(sent), address).toBe(true)
    expect(head).toBe(
      [
        `POST ${address.slice(url.length)} HTTP/1.1`,
        `host: ${url.slice('http://'.length)}`,
        'connection: keep-alive',
        `x-value: ${headers[1]}`,
        `x-call: ${headersOfCall![1]}`,
        'accept-encoding: identity',
        `content-length: ${sent.length}`,
        '\r\n',
      ].join('\r\n'),
    )
  }
}

async function send(egress: Egress, request: EgressRequest): Promise<void> {
  const response = await egress.request(request)
  expect(response.kind === 'response' ? text(response.body) : response.reason).toBe('ok')
}

it('one after the other, on one connection', async () => {
  const { url, received } = await recorder()
  const egress = client({ maxConnectionsPerOrigin: 1 })
  const all = requests(url)
  for (const request of all) await send(egress, request)
  expectReceived(received, all, url)
})

it.each([1, 3, 128])('all at once, on %i connections', async maxConnectionsPerOrigin => {
  const { url, received } = await recorder()
  const egress = client({ maxConnectionsPerOrigin })
  const all = requests(url)
  await Promise.all(all.map(request => send(egress, request)))
  expectReceived(received, all, url)
})
