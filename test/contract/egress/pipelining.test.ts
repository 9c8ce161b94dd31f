/** Several requests in flight on one connection, of tools that opt in: each response belongs to its request, whatever the peer does. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Cancellation } from '../../../src/shared/call/cancellation.ts'
import type { Egress, EgressRequest } from '../../../src/shared/egress/egress.ts'
import { httpBackend, rawBackend, type TestBackend } from './backend.ts'
import { client, keep } from './carriers.ts'
import { lineBackend } from './line-backend.ts'

function ask(backend: TestBackend, path: string, more: Partial<EgressRequest> = {}): EgressRequest {
  return {
    method: 'GET',
    url: backend.url + path,
    headers: [],
    timeoutMs: 5000,
    maxResponseBytes: 1 << 20,
    transport: { pipelining: 4 },
    ...more,
  }
}
async function bodyOf(egress: Egress, request: EgressRequest): Promise<string> {
  const response = await egress.request(request)
  return response.kind === 'response' ? Buffer.from(response.body).toString() : response.reason
}
const responseOf = (body: string, more = ''): string =>
  `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n${more}\r\n${body}`
const paths = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, at) => `/${from + at}`)
const askAll = (
  egress: Egress,
  backend: TestBackend,
  some: readonly string[],
  more?: Partial<EgressRequest>,
) => Promise.all(some.map(path => bodyOf(egress, ask(backend, path, more))))

/**
 * Four connections of which each has one request in flight without a response; further requests have to wait in the lines. The backend responds
 * to nothing until `respondAlways`.
 */
async function fourBusy(egress: Egress, more: Partial<EgressRequest> = {}) {
  const backend = keep(await lineBackend())
  const busy = askAll(egress, backend, ['/a', '/b', '/c', '/d'], more)
  await backend.seen(4)
  return { backend, busy }
}

describe('pipelining', () => {
  // a response that takes long ends the sharing, and on a busy machine each one does
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
    // at zero, the first pause would have no length
    vi.advanceTimersByTime(60_000)
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('is off without the option', async () => {
    const backend = keep(await lineBackend())
    const egress = client({ maxConnectionsPerOrigin: 2 })
    const all = askAll(egress, backend, paths(1, 4), { transport: undefined })
    await backend.seen(2)
    await sleep(50)
    expect(backend.requests.length).toBe(2)
    backend.respondAlways()
    expect(await all).toEqual(paths(1, 4))
  })

  it('prefers an idle connection, then shares four, at most as deep as the option says', async () => {
    const egress = client({ maxConnectionsPerOrigin: 16 })
    const { backend, busy } = await fourBusy(egress)
    const lines = askAll(egress, backend, paths(1, 12))
    await backend.seen(16)
    expect(backend.connections()).toBe(4)
    for (const connection of backend.lines) expect(connection.pending.length).toBe(4)
    // all lines are full: a separate connection carries the next request
    const more = bodyOf(egress, ask(backend, '/13'))
    await backend.seen(17)
    expect(backend.connections()).toBe(5)
    backend.respondAlways()
    expect(await busy).toEqual(['/a', '/b', '/c', '/d'])
    expect(await lines).toEqual(paths(1, 12))
    expect(await more).toBe('/13')
    // all are idle: one request at a time
    for (const path of paths(20, 30)) expect(await bodyOf(egress, ask(backend, path))).toBe(path)
    expect(backend.maxPending).toBe(4)
  })

  it('uses no connection again whose time, as the peer gives it, has nearly run out', async () => {
    const backend = keep(
      await rawBackend((socket, received) => {
        socket.write(responseOf(received.split(' ')[1]!, 'Keep-Alive: timeout=1\r\n'))
      }),
    )
    const egress = client()
    for (const path of paths(1, 3)) expect(await bodyOf(egress, ask(backend, path))).toBe(path)
    expect(backend.connections()).toBe(3)
  })

  it('sends the requests of a turn in one write', async () => {
    const egress = client()
    const { backend, busy } = await fourBusy(egress)
    const lines = askAll(egress, backend, paths(1, 12))
    await backend.seen(16)
    for (const { reads } of backend.lines) expect(reads).toBe(2)
    backend.respondAlways()
    await Promise.all([busy, lines])
  })

  it.each(['POST', 'PATCH'])('never shares a connection with %s, nor repeats it', async method => {
    const egress = client()
    const { backend, busy } = await fourBusy(egress)
    const posts = askAll(egress, backend, paths(1, 3), { method, body: '{}' })
    await backend.seen(7)
    expect(backend.connections()).toBe(7)
    for (const { socket, pending } of backend.lines) if (pending[0]!.startsWith(method)) socket.destroy()
    expect(await posts).toEqual(['reset', 'reset', 'reset'])
    backend.respondAlways()
    await busy
    expect(backend.requests.filter(request => request.startsWith(method)).length).toBe(3)
  })

  it('carries long bodies, responses that are read as they arrive and streams on separate connections', async () => {
    const egress = client()
    const { backend, busy } = await fourBusy(egress)
    const put = bodyOf(egress, ask(backend, '/1', { method: 'PUT', body: 'x'.repeat(20_000) }))
    const watched = bodyOf(egress, ask(backend, '/2', { onChunk: () => {} }))
    const stream = egress.stream({ ...ask(backend, '/3'), body: '' })
    await backend.seen(7)
    expect(backend.connections()).toBe(7)
    backend.respondAlways()
    expect(await put).toBe('/1')
    expect(await watched).toBe('/2')
    const response = await stream
    if (response.kind === 'response') response.body.destroy()
    await busy
  })

  it('sends short bodies of PUT and DELETE with the length they have', async () => {
    const backend = keep(
      await httpBackend((request, response) => {
        const chunks: Buffer[] = []
        request.on('data', chunk => chunks.push(chunk))
        request.on('end', () => response.end(Buffer.concat(chunks)))
      }),
    )
    const egress = client()
    const bodies = Array.from({ length: 40 }, (_, at) => ['', 'a', 'ü€𝄞', `x${at}`][at % 4]!.repeat(at))
    const sent = bodies.map((body, at) =>
      bodyOf(
        egress,
        ask(backend, '/', {
          method: at % 2 === 0 ? 'PUT' : 'DELETE',
          body: at % 3 === 0 ? Buffer.from(body) : body,
          headers: at % 5 === 0 ? ['x-latin', 'é'] : [],
        }),
      ),
    )
    expect(await Promise.all(sent)).toEqual(bodies)
  })

  it('retries elsewhere what had no response when the connection breaks, and fails what had begun', async () => {
    const egress = client()
    const { backend, busy } = await fourBusy(egress)
    const lines = askAll(egress, backend, paths(1, 4))
    await backend.seen(8)
    const line = backend.lines.find(({ pending }) => pending.includes('GET /1'))!
    const first = line.pending[0]!.split(' ')[1]!
    line.socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf`, () => line.socket.destroy())
    backend.respondAlways([line])
    expect(await lines).toEqual(paths(1, 4))
    const names = ['/a', '/b', '/c', '/d']
    expect(await busy).toEqual(names.map(name => (name === first ? 'truncated' : name)))
    expect(backend.requests.filter(request => request === 'GET /1').length).toBe(2)
    expect(backend.requests.filter(request => request === `GET ${first}`).length).toBe(1)
  })

  it('retries once only', async () => {
    const backend = keep(await lineBackend())
    const egress = client()
    const all = askAll(egress, backend, paths(1, 4))
    await backend.seen(4)
    for (const { socket } of [...backend.lines]) socket.destroy()
    await backend.seen(8)
    for (const { socket } of [...backend.lines]) socket.destroy()
    expect(await all).toEqual(['reset', 'reset', 'reset', 'reset'])
    expect(backend.requests.length).toBe(8)
  })

  it.each([
    ['Connection: close', (body: string) => responseOf(body, 'Connection: close\r\n')],
    ['HTTP/1.0', (body: string) => responseOf(body).replace('1.1', '1.0')],
  ])('moves what is behind a response with %s', async (_, respond) => {
    const egress = client()
    const { backend, busy } = await fourBusy(egress)
    const lines = askAll(egress, backend, paths(1, 8))
    await backend.seen(12)
    for (const { socket, pending } of [...backend.lines])
      socket.end(respond(pending.shift()!.split(' ')[1]!) + responseOf('/wrong'))
    backend.respondAlways()
    expect(await busy).toEqual(['/a', '/b', '/c', '/d'])
    expect(await lines).toEqual(paths(1, 8))
  })

  it('moves what is behind a response that ends with the connection, before its end', async () => {
    const egress = client()
    const { backend, busy } = await fourBusy(egress)
    const lines = askAll(egress, backend, paths(1, 4))
    await backend.seen(8)
    const held = [...backend.lines]
    for (const { socket, pending } of held)
      socket.write(`HTTP/1.1 200 OK\r\n\r\n${pending[0]!.split(' ')[1]}`)
    backend.respondAlways(held)
    expect(await lines).toEqual(paths(1, 4))
    for (const { socket } of held) socket.end()
    expect(await busy).toEqual(['/a', '/b', '/c', '/d'])
  })

  it.each([
    ['garbage', 'garbage\r\n\r\n'],
    ['a second head that is not valid', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'],
  ])('gives no request %s that follows a response', async (_, surplus) => {
    const egress = client()
    const { backend, busy } = await fourBusy(egress)
    const lines = askAll(egress, backend, paths(1, 4))
    await backend.seen(8)
    const held = [...backend.lines]
    backend.respondAlways(held)
    for (const { socket, pending } of held) socket.write(responseOf(pending[0]!.split(' ')[1]!) + surplus)
    expect(await busy).toEqual(['/a', '/b', '/c', '/d'])
    expect(await lines).toEqual(paths(1, 4))
  })

  it('ends a connection with bytes that belong to no request, and shares none for a while', async () => {
    const egress = client()
    const { backend, busy } = await fourBusy(egress)
    for (const { socket, pending } of backend.lines)
      socket.write(responseOf(pending.shift()!.split(' ')[1]!) + responseOf('/wrong'))
    expect(await busy).toEqual(['/a', '/b', '/c', '/d'])
    const lines = askAll(egress, backend, paths(1, 8))
    await backend.seen(12)
    expect(backend.connections()).toBe(12)
    backend.respondAlways()
    expect(await lines).toEqual(paths(1, 8))
  })

  it('fails a response that is not valid where it is the only one', async () => {
    const backend = keep(await lineBackend())
    const egress = client()
    const one = bodyOf(egress, ask(backend, '/1'))
    await backend.seen(1)
    backend.lines[0]!.socket.write('garbage\r\n\r\n')
    expect(await one).toBe('protocol')
  })

  it.each([0, 1, 2])('moves what is behind a request that is cancelled at place %i', async place => {
    const egress = client()
    const cancellations: Cancellation[] = []
    const started: Promise<string>[] = []
    const backend = keep(await lineBackend())
    for (let depth = 0; depth < 4; depth++) {
      for (let i = 0; i < 4; i++) {
        const cancellation = new Cancellation()
        cancellations.push(cancellation)
        started.push(bodyOf(egress, ask(backend, `/${depth}-${i}`, { cancellation })))
      }
      await backend.seen(4 * depth + 4)
    }
    for (let i = 0; i < 4; i++) cancellations[4 * place + i]!.cancel()
    const cancelled = started.splice(4 * place, 4)
    expect(await Promise.all(cancelled)).toEqual(Array(4).fill('cancelled'))
    backend.respondAlways()
    const expected = [0, 1, 2, 3].filter(depth => depth !== place)
    expect(await Promise.all(started)).toEqual(
      expected.flatMap(depth => [0, 1, 2, 3].map(i => `/${depth}-${i}`)),
    )
    // nothing is left on the connections that were shared
    expect(await askAll(egress, backend, paths(1, 8))).toEqual(paths(1, 8))
  })

  it('fails what is under way when the client is closed', async () => {
    const egress = client()
    const { backend, busy } = await fourBusy(egress)
    const lines = askAll(egress, backend, paths(1, 4))
    await backend.seen(8)
    await egress.close()
    expect(await busy).toEqual(Array(4).fill('reset'))
    expect(await lines).toEqual(Array(4).fill('reset'))
  })
})

describe('a slow response at the head of a line', () => {
  it('ends the sharing for a while, releases those behind it, and sharing returns', async () => {
    const egress = client()
    const { backend, busy } = await fourBusy(egress)
    const slow = [...backend.lines]
    const lines = askAll(egress, backend, paths(1, 4))
    await backend.seen(8)
    backend.respondAlways(slow)
    // well before the slow responses, over other connections
    expect(await lines).toEqual(paths(1, 4))
    // one that is idle again may carry the next of them
    expect(backend.connections()).toBeGreaterThan(4)
    expect(backend.connections()).toBeLessThanOrEqual(8)
    backend.respondAlways()
    expect(await busy).toEqual(['/a', '/b', '/c', '/d'])

    backend.hold()
    const alone = askAll(egress, backend, paths(10, 17))
    await backend.seen(20)
    for (const { pending } of backend.lines) expect(pending.length).toBeLessThan(2)
    backend.respondAlways()
    await alone

    // the pause is over: requests wait in lines again
    await sleep(1100)
    backend.hold()
    const before = backend.requests.length
    const shared = askAll(egress, backend, paths(20, 23))
    await backend.seen(before + 4)
    const behind = askAll(egress, backend, paths(24, 27))
    await backend.seen(before + 8)
    expect(Math.max(...backend.lines.map(({ pending }) => pending.length))).toBe(2)
    backend.respondAlways()
    expect(await shared).toEqual(paths(20, 23))
    expect(await behind).toEqual(paths(24, 27))
  })

  it('keeps DELETE in its line: a second one would find nothing', async () => {
    const egress = client()
    const { backend, busy } = await fourBusy(egress)
    const deletes = askAll(egress, backend, paths(1, 4), { method: 'DELETE' })
    await backend.seen(8)
    await sleep(500)
    expect(backend.requests.length).toBe(8)
    backend.respondAlways()
    expect(await deletes).toEqual(paths(1, 4))
    await busy
  })
})
