/** HTTP/2 to upstreams that opt in, with and without TLS: the same outcomes as over HTTP/1.1, and streams that do not disturb each other. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { constants, type ServerHttp2Stream } from 'node:http2'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Cancellation } from '../../../src/base/cancellation.ts'
import type { Egress, EgressRequest } from '../../../src/net/egress/egress.ts'
import { client, keep } from './carriers.ts'
import { certificate } from './certificate.ts'
import { type Http2Backend, http2Backend } from './http2-backend.ts'

const hasOpenssl = spawnSync('openssl', ['version']).status === 0

function ask(
  backend: { readonly url: string },
  path: string,
  more: Partial<EgressRequest> = {},
): EgressRequest {
  return {
    method: 'GET',
    url: backend.url + path,
    headers: [],
    // only against what hangs: a test of a time-out sets a shorter one
    timeoutMs: 20_000,
    maxResponseBytes: 1 << 20,
    transport: { http2: true },
    ...more,
  }
}
async function bodyOf(egress: Egress, request: EgressRequest): Promise<string> {
  const response = await egress.request(request)
  return response.kind === 'response' ? Buffer.from(response.body).toString() : response.reason
}
const paths = (count: number): string[] => Array.from({ length: count }, (_, at) => `/${at}`)
const askAll = (
  egress: Egress,
  backend: Http2Backend,
  some: readonly string[],
  more?: Partial<EgressRequest>,
) => Promise.all(some.map(path => bodyOf(egress, ask(backend, path, more))))

const CARRIERS = [
  ['without TLS', false],
  ['with TLS', true],
] as const

describe.each(CARRIERS)('HTTP/2 %s', (_, isTls) => {
  describe.skipIf(isTls && !hasOpenssl)('(TLS needs openssl for a certificate)', () => {
    const start = async (respond: (stream: ServerHttp2Stream, path: string) => void, maxStreams = 200) =>
      keep(await http2Backend({ isTls, maxStreams }, respond))
    const echo = (stream: ServerHttp2Stream, path: string): void => {
      stream.respond({ ':status': 200 })
      stream.end(path)
    }
    const connect = (more = {}): Egress => client({ tls: isTls ? certificate().tls : undefined, ...more })

    it('carries concurrent requests as streams of one connection', async () => {
      const held: (() => void)[] = []
      const backend = await start((stream, path) => {
        held.push(() => echo(stream, path))
        if (held.length === 50) for (const respond of held.splice(0).reverse()) respond()
      })
      const egress = connect()
      for (let round = 0; round < 3; round++)
        expect(await askAll(egress, backend, paths(50), { method: 'POST', body: '{}' })).toEqual(paths(50))
      expect(backend.connections()).toBe(1)
    })

    it('has no more streams than the peer allows, and opens further connections for the others', async () => {
      const backend = await start((stream, path) => void setTimeout(() => echo(stream, path), 20), 5)
      const egress = connect({ maxConnectionsPerOrigin: 3 })
      expect(await askAll(egress, backend, paths(60))).toEqual(paths(60))
      expect(backend.maxStreams).toBeLessThanOrEqual(5)
      expect(backend.connections()).toBeLessThanOrEqual(3)
    })

    it('sends methods, fields and bodies as they are, and receives fields and every length', async () => {
      const backend = await start((stream, path) => {
        const chunks: Buffer[] = []
        stream.on('data', chunk => chunks.push(chunk as Buffer))
        stream.on('end', () => {
          const { ':method': method, ':authority': authority, ...fields } = backend.lastHeaders
          stream.respond({
            ':status': path === '/empty' ? 204 : 200,
            'x-method': method!,
            'x-authority': authority!,
            'x-fields': `${fields['x-a']}|${fields['content-length'] ?? ''}|${fields.connection ?? ''}`,
            'set-cookie': ['a=1', 'b=2'],
          })
          stream.end(
            method === 'HEAD' || path === '/empty' ? undefined : new Uint8Array(Buffer.concat(chunks)),
          )
        })
      })
      const egress = connect()
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
        for (const body of [undefined, '', 'ü€𝄞', Buffer.from('bytes'), 'x'.repeat(300_000)]) {
          const response = await egress.request(
            ask(backend, '/p?q=1', {
              method,
              body,
              headers: ['X-A', '1', 'x-a', '2', 'connection', 'keep-alive'],
            }),
          )
          if (response.kind !== 'response') throw new Error(`${method} ${response.message}`)
          const sent = typeof body === 'object' ? body : Buffer.from(body ?? '')
          expect(Buffer.from(response.body).equals(method === 'HEAD' ? Buffer.alloc(0) : sent)).toBe(true)
          expect(response.headers.get('x-method')).toBe(method)
          expect(response.headers.get('x-authority')).toBe(new URL(backend.url).host)
          expect(response.headers.get('x-fields')).toBe(`1, 2|${body === undefined ? '' : sent.length}|`)
          expect(response.headers.get('set-cookie')).toBe('a=1, b=2')
          expect(response.headers.raw.filter(text => text === 'set-cookie').length).toBe(2)
          expect(response.headers.raw.some(text => text.startsWith(':'))).toBe(false)
        }
      expect(await bodyOf(egress, ask(backend, '/empty'))).toBe('')
      // a name that every object has
      expect(await bodyOf(egress, ask(backend, '/empty', { headers: ['Constructor', 'x'] }))).toBe('')
      expect(Object.entries(backend.lastHeaders)).toContainEqual(['constructor', 'x'])
      for (const headers of [
        ['x-a', 'b\r\nx-c: d'],
        ['x a', 'b'],
        ['transfer-encoding', 'chunked'],
        ['content-length', '5'],
      ])
        expect(await bodyOf(egress, ask(backend, '/', { method: 'POST', headers, body: 'abc' }))).toBe(
          'unsendable',
        )
    })

    it('finishes what is under way when the peer announces the end of the connection (GOAWAY), and goes on over another', async () => {
      const held: (() => void)[] = []
      const backend = await start((stream, path) => {
        if (path === '/3') echo(stream, path)
        else held.push(() => echo(stream, path))
      })
      const egress = connect()
      const underWay = askAll(egress, backend, ['/1', '/2'], { method: 'POST', body: 'x' })
      await backend.seen(2)
      for (const session of backend.sessions) session.close()
      await backend.readBySessions()
      expect(await bodyOf(egress, ask(backend, '/3'))).toBe('/3')
      for (const respond of held) respond()
      expect(await underWay).toEqual(['/1', '/2'])
      expect(backend.connections()).toBe(2)
      expect(backend.requests.length).toBe(3)
    })

    it('sends again what came after the last stream that a GOAWAY names', async () => {
      const held: (() => void)[] = []
      let last: ServerHttp2Stream | undefined
      const backend = await start((stream, path) => {
        if (backend.connections() > 1) return echo(stream, path)
        held.push(() => echo(stream, path))
        last ??= stream
      })
      const egress = connect()
      const all = askAll(egress, backend, ['/1', '/2', '/3'], { method: 'POST', body: 'x' })
      await backend.seen(3)
      last!.session!.goaway(constants.NGHTTP2_NO_ERROR, last!.id)
      await backend.seen(5)
      held[0]!()
      expect(await all).toEqual(['/1', '/2', '/3'])
      expect(backend.requests.slice(3).sort()).toEqual(['POST /2', 'POST /3'])
    })

    it('sends again, once, what the peer has refused to begin', async () => {
      let refusals = 0
      const backend = await start((stream, path) => {
        if (path === '/always' || refusals++ < 1) stream.close(constants.NGHTTP2_REFUSED_STREAM)
        else echo(stream, path)
      })
      const egress = connect()
      expect(await bodyOf(egress, ask(backend, '/1', { method: 'POST', body: 'x' }))).toBe('/1')
      expect(await bodyOf(egress, ask(backend, '/always', { method: 'POST', body: 'x' }))).toBe('reset')
      expect(backend.requests).toEqual(['POST /1', 'POST /1', 'POST /always', 'POST /always'])
    })

    it('fails one call when its stream is reset, before a response and within it', async () => {
      const backend = await start((stream, path) => {
        if (path === '/before') return stream.close(constants.NGHTTP2_CANCEL)
        if (path === '/error') return stream.close(constants.NGHTTP2_INTERNAL_ERROR)
        if (path === '/protocol') return stream.close(constants.NGHTTP2_PROTOCOL_ERROR)
        if (!path.startsWith('/within')) return void setTimeout(() => echo(stream, path), 100)
        stream.respond({ ':status': 200, ...(path === '/within-length' ? { 'content-length': '9' } : {}) })
        stream.write('half')
        setTimeout(() => stream.destroy(path === '/within-error' ? new Error('broken') : undefined), 20)
      })
      const egress = connect()
      expect(
        await askAll(egress, backend, [
          '/ok',
          '/before',
          '/error',
          '/protocol',
          '/within-error',
          '/within-length',
          '/within',
        ]),
      ).toEqual(['/ok', 'reset', 'reset', 'protocol', 'truncated', 'truncated', 'truncated'])
      expect(backend.connections()).toBe(1)
    })

    it('fails all calls of a connection that breaks, repeats none of them, and recovers', async () => {
      let isBroken = true
      const backend = await start((stream, path) => {
        if (!isBroken) return echo(stream, path)
        if (path !== '/1') return
        stream.respond({ ':status': 200 })
        stream.write('half')
      })
      const egress = connect()
      const all = askAll(egress, backend, ['/1', '/2'])
      await backend.seen(2)
      await backend.readBySessions()
      backend.destroySockets()
      expect(await all).toEqual(['truncated', 'reset'])
      isBroken = false
      expect(await bodyOf(egress, ask(backend, '/3'))).toBe('/3')
      expect(backend.requests).toEqual(['GET /1', 'GET /2', 'GET /3'])
    })

    it('ends only the stream of a call that times out or is cancelled', async () => {
      const closed: string[] = []
      const backend = await start((stream, path) => {
        stream.on('close', () => closed.push(`${path} ${stream.rstCode}`))
        if (path === '/first') echo(stream, path)
        if (path === '/ok') setTimeout(() => echo(stream, path), 200)
      })
      const egress = connect()
      // the others are sent at once: opening a connection may take longer than their time
      expect(await bodyOf(egress, ask(backend, '/first'))).toBe('/first')
      const cancellation = new Cancellation()
      const all = [
        bodyOf(egress, ask(backend, '/ok')),
        bodyOf(egress, ask(backend, '/never', { timeoutMs: 100 })),
        bodyOf(egress, ask(backend, '/cancelled', { cancellation })),
      ]
      await backend.seen(4)
      cancellation.cancel()
      expect(await Promise.all(all)).toEqual(['/ok', 'timeout', 'cancelled'])
      await expect.poll(() => closed.sort()).toEqual(['/cancelled 8', '/first 0', '/never 8', '/ok 0'])
      expect(backend.connections()).toBe(1)
    })

    it.skipIf(isTls)(
      'leaves a connection whose peer does not respond to a ping after a silent call',
      async () => {
        const backend = await start((stream, path) => {
          if (path !== '/silent') echo(stream, path)
        })
        const egress = connect()
        expect(await bodyOf(egress, ask(backend, '/1'))).toBe('/1')
        const silent = bodyOf(egress, ask(backend, '/silent', { timeoutMs: 400 }))
        await backend.seen(2)
        backend.pauseSockets()
        expect(await silent).toBe('timeout')
        expect(await bodyOf(egress, ask(backend, '/2'))).toBe('/2')
        expect(backend.connections()).toBe(2)
      },
    )

    it('bounds long bodies and long fields', async () => {
      let written = 0
      const backend = await start((stream, path) => {
        stream.on('error', () => {})
        if (path === '/fields') {
          stream.respond({ ':status': 200, 'x-long': 'x'.repeat(40_000) })
          return void stream.end('x')
        }
        stream.respond({ ':status': 200 })
        const write = (): void => {
          while (!stream.destroyed && stream.write(Buffer.alloc(16_384))) written += 16_384
          stream.once('drain', write)
        }
        write()
      })
      const egress = connect()
      expect(await bodyOf(egress, ask(backend, '/', { maxResponseBytes: 100_000 }))).toBe('too_large')
      expect(written).toBeLessThan(8 << 20)
      expect(['protocol', 'reset']).toContain(await bodyOf(egress, ask(backend, '/fields')))
    })

    it('streams requests and responses, and stops a peer that sends faster than is read', async () => {
      let written = 0
      const backend = await start((stream, path) => {
        stream.on('error', () => {})
        if (path === '/echo') {
          stream.respond({ ':status': 200 })
          return void stream.pipe(stream)
        }
        if (path !== '/endless') return echo(stream, path)
        stream.respond({ ':status': 200 })
        const write = (): void => {
          while (!stream.destroyed && stream.write(Buffer.alloc(16_384))) written += 16_384
          stream.once('drain', write)
        }
        write()
      })
      const egress = connect()
      async function* pieces() {
        for (let i = 0; i < 20; i++) yield Buffer.alloc(50_000, i)
      }
      const echoed = await egress.stream({ ...ask(backend, '/echo', { method: 'POST' }), body: pieces() })
      if (echoed.kind !== 'response') throw new Error(echoed.message)
      let received = 0
      for await (const chunk of echoed.body) received += chunk.length
      expect(received).toBe(1_000_000)

      const endless = await egress.stream({ ...ask(backend, '/endless'), body: '' })
      if (endless.kind !== 'response') throw new Error(endless.message)
      await sleep(300)
      expect(written).toBeLessThan(2 << 20)
      // others go on meanwhile
      expect(await bodyOf(egress, ask(backend, '/1'))).toBe('/1')
      endless.body.destroy()
      expect(backend.connections()).toBe(1)
    })

    it('leaves out a field of the connection, and opens no new connection after a request with a field twice', async () => {
      const backend = await start(echo)
      const egress = connect()
      const settings = ask(backend, '/1', { headers: ['HTTP2-Settings', 'AAMAAABk'] })
      expect(await bodyOf(egress, settings)).toBe('/1')
      const twice = ask(backend, '/2', { headers: ['range', 'bytes=0-1', 'range', 'x'] })
      expect(await bodyOf(egress, twice)).toBe('/2')
      expect(backend.lastHeaders.range).toBe('bytes=0-1, x')
      // node:http2 refuses it with a scheme and a path
      expect(await bodyOf(egress, ask(backend, '/', { method: 'CONNECT' }))).toBe('unsendable')
      expect(await bodyOf(egress, ask(backend, '/3'))).toBe('/3')
      expect(backend.connections()).toBe(1)
    })

    it('gives back the place of a call that is cancelled when its whole response has arrived and is not read', async () => {
      const backend = await start((stream, path) => {
        stream.respond({ ':status': 200 })
        stream.end(path === '/long' ? Buffer.alloc(200_000) : path)
      }, 5)
      const egress = connect({ maxConnectionsPerOrigin: 1 })
      for (let round = 0; round < 12; round++) {
        const response = await egress.stream({ ...ask(backend, '/long'), body: '' })
        if (response.kind !== 'response') throw new Error(response.message)
        await sleep(30)
        response.body.destroy()
      }
      expect(await bodyOf(egress, ask(backend, '/1'))).toBe('/1')
      expect(backend.connections()).toBe(1)
    })

    it('is guarded like every outgoing call', async () => {
      const backend = await start(echo)
      const egress = connect({ allowLoopback: false })
      const url = isTls ? backend.url : backend.url.replace('127.0.0.1', 'localhost')
      const response = await egress.request(ask({ url }, '/'))
      expect(response).toMatchObject({ kind: 'failure', reason: 'blocked_address', sent: false })
      expect(backend.connections()).toBe(0)
    })

    it('fails what waits and what is under way when the client is closed', async () => {
      const backend = await start(() => {}, 1)
      const egress = connect({ maxConnectionsPerOrigin: 1 })
      const all = askAll(egress, backend, ['/1', '/2'])
      await backend.seen(1)
      await egress.close()
      expect(await all).toEqual(['reset', 'unreachable'])
    })
  })
})

describe('a peer without HTTP/2', () => {
  it.each([
    [
      'HTTP/1.1',
      createHttpServer((_, response) => void response.end('1.1')) as ReturnType<typeof createTcpServer>,
    ],
    ['garbage', createTcpServer(socket => void socket.on('error', () => {}).write('220 mail\r\n'))],
    ['nothing but the end', createTcpServer(socket => void socket.on('error', () => {}).end())],
  ])('over http fails with the reason and the fix: %s', async (_, server) => {
    const sockets = new Set<Socket>()
    server.on('connection', socket => sockets.add(socket))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    keep({
      async close() {
        for (const socket of sockets) socket.destroy()
        server.close()
      },
    })
    const { port } = server.address() as AddressInfo
    const response = await client().request(ask({ url: `http://127.0.0.1:${port}` }, '/'))
    expect(response).toMatchObject({ kind: 'failure', reason: 'not_http2', sent: false })
    expect('message' in response && response.message).toContain(
      'does not respond with HTTP/2. Enable HTTP/2 on this server (without TLS: h2c with prior knowledge), or disable HTTP/2 in the gateway: remove spec.upstream.http2',
    )
  })

  it('fails as unreachable where none listens', async () => {
    const backend = await http2Backend({ isTls: false, maxStreams: 1 }, () => {})
    await backend.close()
    expect(await bodyOf(client(), ask(backend, '/'))).toBe('unreachable')
  })

  it.skipIf(!hasOpenssl)('over https is called over HTTP/1.1, one request on each connection', async () => {
    const { createServer: createTlsServer } = await import('node:https')
    const { key, cert, tls } = certificate()
    const inFlight = new Map<object, number>()
    const versions = new Set<string>()
    const shared: string[] = []
    const server = createTlsServer({ key, cert }, (request, response) => {
      versions.add(request.httpVersion)
      const others = inFlight.get(request.socket) ?? 0
      if (others > 0) shared.push(request.url!)
      inFlight.set(request.socket, others + 1)
      setTimeout(() => {
        inFlight.set(request.socket, inFlight.get(request.socket)! - 1)
        response.end(request.url)
      }, 20)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    keep({ close: async () => void server.close() })
    const { port } = server.address() as AddressInfo
    const egress = client({ tls })
    const backend = { url: `https://localhost:${port}` } as Http2Backend
    expect(await askAll(egress, backend, paths(8))).toEqual(paths(8))
    expect(await askAll(egress, backend, paths(8))).toEqual(paths(8))
    expect(shared).toEqual([])
    expect([...versions]).toEqual(['1.1'])
  })
})
