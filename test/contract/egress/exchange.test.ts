/** What a caller of the egress client can rely on, shown against real loopback servers that behave and misbehave. */
import { setTimeout as sleep } from 'node:timers/promises'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { Cancellation } from '../../../src/base/cancellation.ts'
import { startOwnTime } from '../../fixtures/own-time.ts'
import { deferred, httpBackend, rawBackend } from './backend.ts'
import { client, get, keep, overBoth, text } from './carriers.ts'

overBoth('an exchange', () => {
  it('shares a timer with others, although what remains of a time-out is another number for each', async () => {
    const backend = keep(await httpBackend(() => {}))
    const egress = client({ maxConnectionsPerOrigin: 1 })
    const timers = () => process.getActiveResourcesInfo().filter(kind => kind === 'Timeout').length
    const before = timers()
    const cancellation = new Cancellation()
    const calls = Array.from({ length: 200 }, (_, at) =>
      egress.request(get(backend, { timeoutMs: 29_990 + at / 21, cancellation })),
    )
    // those of the pool and of the connection beside
    expect(timers() - before).toBeLessThan(20)
    cancellation.cancel()
    for (const call of calls) expect(await call).toMatchObject({ reason: 'cancelled' })
  })

  it('sends method, path, query, headers and body as given and returns status, headers and body', async () => {
    const backend = keep(
      await httpBackend((request, response) => {
        const chunks: Buffer[] = []
        request.on('data', chunk => chunks.push(chunk))
        request.on('end', () => {
          response.writeHead(
            201,
            [
              ['X-Two', 'a'],
              ['x-two', 'b'],
            ].flat(),
          )
          response.end(
            JSON.stringify({
              method: request.method,
              url: request.url,
              header: request.headers['x-one'],
              encoding: request.headers['accept-encoding'],
              body: Buffer.concat(chunks).toString(),
            }),
          )
        })
      }),
    )
    const reply = await client().request(
      get(backend, {
        method: 'POST',
        url: `${backend.url}/a/../b%2Fc//d?x=%20&y=/..#gone`,
        headers: ['X-One', '1'],
        body: 'hello',
      }),
    )
    if (reply.kind !== 'response') throw new Error(reply.message)
    expect(reply.status).toBe(201)
    expect(reply.headers.get('x-two')).toBe('a, b')
    expect(reply.headers.raw.filter(part => part === 'x-two')).toHaveLength(2)
    expect(JSON.parse(text(reply.body))).toEqual({
      method: 'POST',
      url: '/a/../b%2Fc//d?x=%20&y=/..',
      header: '1',
      encoding: 'identity',
      body: 'hello',
    })
  })

  it('joins a body of many short chunks and of a long one between them', async () => {
    const short = 'ab'.repeat(80_000)
    const long = 'L'.repeat(100_000)
    const chunks = (of: string, bytes: number) =>
      (of.match(new RegExp(`.{1,${bytes}}`, 'g')) ?? [])
        .map(one => `${one.length.toString(16)}\r\n${one}\r\n`)
        .join('')
    const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n'
    const body = `${head}${chunks(short, 700)}${chunks(long, 50_000)}${chunks(short, 1_000)}0\r\n\r\n`
    const backend = keep(await rawBackend(socket => void socket.end(body)))
    const reply = await client().request(get(backend))
    if (reply.kind !== 'response') throw new Error(reply.message)
    expect(text(reply.body)).toBe(short + long + short)
  })

  it('does not follow a redirect', async () => {
    let calls = 0
    const backend = keep(
      await httpBackend((_, response) => {
        calls++
        response.writeHead(302, { location: '/elsewhere' }).end('moved')
      }),
    )
    const reply = await client().request(get(backend))
    expect(reply).toMatchObject({ kind: 'response', status: 302 })
    expect(calls).toBe(1)
  })

  it('reuses kept-alive connections', async () => {
    const backend = keep(await httpBackend((_, response) => response.end('ok')))
    const egress = client()
    for (let i = 0; i < 20; i++) expect(await egress.request(get(backend))).toMatchObject({ status: 200 })
    // Two: undici frees a connection a tick after the response, so back-to-back calls alternate.
    expect(backend.connections()).toBeLessThanOrEqual(2)
  })

  it('reads HEAD, 204 and 304 without waiting for a body', async () => {
    const backend = keep(
      await httpBackend((request, response) => {
        if (request.method === 'HEAD') response.writeHead(200, { 'content-length': '999999999' }).end()
        else response.writeHead(Number(request.url!.slice(1))).end()
      }),
    )
    const egress = client()
    expect(await egress.request(get(backend, { method: 'HEAD' }))).toMatchObject({ status: 200 })
    expect(await egress.request(get(backend, { url: `${backend.url}/204` }))).toMatchObject({ status: 204 })
    expect(await egress.request(get(backend, { url: `${backend.url}/304` }))).toMatchObject({ status: 304 })
  })

  it('skips informational responses before the real one', async () => {
    const backend = keep(
      await httpBackend((_, response) => {
        response.writeEarlyHints({ link: '</style.css>; rel=preload' }, () => response.end('real'))
      }),
    )
    const reply = await client().request(get(backend))
    expect(reply.kind === 'response' && text(reply.body)).toBe('real')
  })

  it('passes the observer the head first and each piece as it arrives', async () => {
    let observed = deferred<void>()
    const backend = keep(
      await httpBackend(async (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        for (const piece of ['one', 'two', 'three']) {
          observed = deferred<void>()
          response.write(piece)
          await observed.promise
        }
        response.end()
      }),
    )
    const seen: string[] = []
    const reply = await client().request(
      get(backend, {
        onHead: (status, headers) => seen.push(`${status} ${headers.get('content-type')}`),
        onChunk: chunk => {
          seen.push(text(chunk))
          observed.resolve()
        },
      }),
    )
    expect(seen).toEqual(['200 text/event-stream', 'one', 'two', 'three'])
    expect(reply.kind === 'response' && text(reply.body)).toBe('onetwothree')
  })

  it('turns an observer that throws into a failure and closes the connection', async () => {
    const backend = keep(await httpBackend((_, response) => response.end('x')))
    const reply = await client().request(
      get(backend, {
        onChunk: () => {
          throw new Error('observer')
        },
      }),
    )
    expect(reply).toMatchObject({ kind: 'failure', sent: true })
  })
})

overBoth('content encodings', () => {
  const plain = 'x'.repeat(100_000)
  const encoders = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync }

  for (const [encoding, encode] of Object.entries(encoders)) {
    it(`decodes ${encoding} although identity was asked for, and bounds what comes out`, async () => {
      const encoded = encode(plain)
      const backend = keep(
        await httpBackend((_, response) =>
          response
            .writeHead(200, { 'content-encoding': encoding, 'content-length': encoded.length })
            .end(encoded),
        ),
      )
      const egress = client()
      const reply = await egress.request(get(backend))
      if (reply.kind !== 'response') throw new Error(reply.message)
      expect(text(reply.body)).toBe(plain)
      expect(reply.headers.get('content-encoding')).toBe('')
      expect(reply.headers.raw).not.toContain('content-length')
      expect(await egress.request(get(backend, { maxResponseBytes: 99_999 }))).toMatchObject({
        kind: 'failure',
        reason: 'too_large',
      })
    })
  }

  it('leaves the next call on a connection alone when one ends while it is decoded', async () => {
    const encoded = gzipSync(Buffer.alloc(32 << 20))
    let after = 0
    const backend = keep(
      await httpBackend((request, response) => {
        if (request.url === '/long')
          response
            .writeHead(200, { 'content-encoding': 'gzip', 'content-length': encoded.length })
            .end(encoded)
        else setTimeout(() => response.end('whole'), 300)
        after++
      }),
    )
    const egress = client({ maxConnectionsPerOrigin: 1 })
    const long = get(backend, { url: `${backend.url}/long`, maxResponseBytes: 24 << 20 })
    const [first, second] = await Promise.all([egress.request(long), egress.request(get(backend))])
    expect(first).toMatchObject({ kind: 'failure', reason: 'too_large' })
    expect(second).toMatchObject({ kind: 'response', status: 200 })
    expect(after).toBe(2)
  })

  it('refuses a body that is not what its encoding says, and an encoding no one knows', async () => {
    const backend = keep(
      await httpBackend((request, response) =>
        response.writeHead(200, { 'content-encoding': request.url!.slice(1) }).end('not compressed at all'),
      ),
    )
    const egress = client()
    for (const encoding of ['gzip', 'zstd']) {
      expect(await egress.request(get(backend, { url: `${backend.url}/${encoding}` }))).toMatchObject({
        kind: 'failure',
        reason: 'encoding',
      })
    }
  })
})

overBoth('bounds', () => {
  it('ends a call whose head is slow, at its timeout', async () => {
    const backend = keep(
      await httpBackend((request, response) => {
        if (request.url === '/connect') response.end()
      }),
    )
    const egress = client()
    // with its connection open, the next call is sent at once, however busy the machine is
    expect(await egress.request(get(backend, { url: `${backend.url}/connect` }))).toMatchObject({
      status: 200,
    })
    const elapsedMs = startOwnTime()
    expect(await egress.request(get(backend, { timeoutMs: 100 }))).toMatchObject({
      kind: 'failure',
      reason: 'timeout',
      sent: true,
    })
    expect(elapsedMs()).toBeLessThan(1000)
  })

  it('counts the whole exchange: a body that drips is cut at the same moment', async () => {
    const backend = keep(
      await httpBackend((_, response) => {
        response.writeHead(200)
        const drip = setInterval(() => response.write('.'), 10)
        response.on('close', () => clearInterval(drip))
      }),
    )
    const elapsedMs = startOwnTime()
    expect(await client().request(get(backend, { timeoutMs: 150 }))).toMatchObject({ reason: 'timeout' })
    expect(elapsedMs()).toBeLessThan(1000)
  })

  it('refuses a declared length over the bound before reading the body', async () => {
    let closed = 0
    const backend = keep(
      await httpBackend((request, response) => {
        request.socket.once('close', () => closed++)
        response.writeHead(200, { 'content-length': String(2 ** 40) })
        response.write('x')
      }),
    )
    expect(await client().request(get(backend))).toMatchObject({ kind: 'failure', reason: 'too_large' })
    await expect.poll(() => closed).toBe(1)
  })

  it('stops reading an endless body at the bound and closes its connection', async () => {
    let sentBytes = 0
    const closed = deferred<void>()
    const backend = keep(
      await httpBackend((_, response) => {
        const chunk = Buffer.alloc(64 * 1024)
        const pump = (): void => {
          while (response.write(chunk)) sentBytes += chunk.length
          response.once('drain', pump)
        }
        response.on('close', () => closed.resolve())
        pump()
      }),
    )
    expect(await client().request(get(backend))).toMatchObject({ kind: 'failure', reason: 'too_large' })
    await closed.promise
    expect(sentBytes).toBeLessThan(64 << 20)
  })

  it('refuses calls beyond the queue at once', async () => {
    const backend = keep(await httpBackend(() => {}))
    const egress = client({ maxConnectionsPerOrigin: 1, maxWaitingPerOrigin: 2 })
    const cancellation = new Cancellation()
    const held = [1, 2, 3].map(() => egress.request(get(backend, { cancellation })))
    expect(await egress.request(get(backend))).toMatchObject({
      reason: 'unreachable',
      message: expect.stringMatching(/^http:\S+ was not called: too many calls to it wait for a connection$/),
      sent: false,
      saturated: true,
    })
    cancellation.cancel()
    expect((await Promise.all(held)).map(reply => reply.kind)).toEqual(['failure', 'failure', 'failure'])
  })

  it('serves the next origin when as many as allowed are held', async () => {
    const backends = await Promise.all([1, 2, 3].map(() => httpBackend((_, response) => response.end('ok'))))
    backends.forEach(keep)
    const egress = client({ maxOrigins: 2 })
    for (const backend of [...backends, ...backends])
      expect(await egress.request(get(backend))).toMatchObject({ kind: 'response', status: 200 })
  })

  it('says that the pools are those of other origins when all of them are busy', async () => {
    const backends = await Promise.all([1, 2, 3].map(() => httpBackend(() => {})))
    backends.forEach(keep)
    const egress = client({ maxOrigins: 2 })
    const cancellation = new Cancellation()
    const [first, second, third] = backends.map(backend => get(backend, { cancellation }))
    const held = [egress.request(first!), egress.request(second!)]
    expect(await egress.request(third!)).toMatchObject({
      reason: 'unreachable',
      message: expect.stringMatching(
        /^http:\S+ was not called: all 2 connection pools are in use for other backends$/,
      ),
      sent: false,
      saturated: true,
    })
    cancellation.cancel()
    await Promise.all(held)
  })
})

overBoth('backends that misbehave', () => {
  const broken: Record<string, string> = {
    'garbage instead of a status line': 'SSH-2.0-OpenSSH_9.2\r\n\r\n',
    'a chunk size that is not a number':
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n',
    'chunk data longer than its size':
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n',
    'two lengths that differ': 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!',
    'a length that is not a number': 'HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\nhello',
    'length and chunked at once':
      'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
    'a header line without colon': 'HTTP/1.1 200 OK\r\nBroken\r\nContent-Length: 0\r\n\r\n',
    'a NUL in a header': 'HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 0\r\n\r\n',
    'headers without end': `HTTP/1.1 200 OK\r\n${'X: y\r\n'.repeat(20_000)}\r\n`,
    'an upgrade no one asked for':
      'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
  }
  for (const [name, bytes] of Object.entries(broken)) {
    it(`responds to ${name} with a failure, and the next call still works`, async () => {
      let bad = true
      const backend = keep(
        await rawBackend(socket => {
          socket.write(bad ? bytes : 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', 'latin1')
          bad = false
        }),
      )
      const egress = client()
      const reply = await egress.request(get(backend, { timeoutMs: 20_000 }))
      expect(reply).toMatchObject({ kind: 'failure', sent: true })
      expect(reply.kind === 'failure' && reply.reason).not.toBe('timeout')
      expect(await egress.request(get(backend))).toMatchObject({ kind: 'response', status: 200 })
    })
  }

  it('says reset when the connection is reset before a response', async () => {
    const backend = keep(await rawBackend(socket => socket.resetAndDestroy()))
    expect(await client().request(get(backend))).toMatchObject({ reason: 'reset', sent: true })
  })

  it('says truncated when the response breaks off, whichever way its length was given', async () => {
    for (const head of ['Content-Length: 100', 'Transfer-Encoding: chunked']) {
      let breakOff = (): void => {}
      const backend = keep(
        await rawBackend(socket => {
          socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n5\r\nhello\r\n`)
          breakOff = () => void socket.resetAndDestroy()
        }),
      )
      // a reset discards what the system holds for the client, so the client reads first
      const request = get(backend, { onChunk: () => breakOff() })
      expect(await client().request(request)).toMatchObject({ reason: 'truncated', sent: true })
    }
  })

  it('says unreachable and not sent when no one listens', async () => {
    const backend = await httpBackend(() => {})
    await backend.close()
    const reply = await client().request(get(backend))
    expect(reply).toMatchObject({ reason: 'unreachable', sent: false })
    expect(reply.kind === 'failure' && reply.message).toContain('ECONNREFUSED')
  })

  it('does not read bytes smuggled behind a response as the response to the next call', async () => {
    let served = 0
    const backend = keep(
      await rawBackend(socket => {
        served++
        const extra = served === 1 ? 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil' : ''
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood${extra}`)
      }),
    )
    const egress = client()
    const bodies: string[] = []
    for (let i = 0; i < 3; i++) {
      const reply = await egress.request(get(backend))
      bodies.push(reply.kind === 'response' ? text(reply.body) : reply.message)
      await sleep(10)
    }
    expect(bodies).toEqual(['good', 'good', 'good'])
    expect(backend.connections()).toBeGreaterThan(1)
  })

  it('opens a new connection when the idle one was closed, and never sends a request twice', async () => {
    const requests: string[] = []
    let closed = deferred<void>()
    const backend = keep(
      await rawBackend((socket, request) => {
        requests.push(request.split('\r\n')[0]!)
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
        setTimeout(() => socket.end(), 5)
        // both directions are closed once the client has read the end, which takes an unknown time on a busy machine
        socket.on('close', () => closed.resolve())
      }),
    )
    const egress = client()
    for (let i = 0; i < 3; i++) {
      closed = deferred<void>()
      expect(
        await egress.request(get(backend, { method: 'POST', url: `${backend.url}/${i}` })),
      ).toMatchObject({
        status: 200,
      })
      await closed.promise
    }
    expect(requests).toEqual(['POST /0 HTTP/1.1', 'POST /1 HTTP/1.1', 'POST /2 HTTP/1.1'])
    expect(backend.connections()).toBe(3)
  })

  it('reports a request as sent, and does not repeat it, when a reused connection dies under it', async () => {
    const requests: string[] = []
    const backend = keep(
      await rawBackend((socket, request) => {
        requests.push(request.split('\r\n')[0]!)
        if (requests.length === 1) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
        else socket.resetAndDestroy()
      }),
    )
    const egress = client()
    await egress.request(get(backend))
    expect(await egress.request(get(backend, { method: 'POST' }))).toMatchObject({
      kind: 'failure',
      reason: 'reset',
      sent: true,
    })
    expect(requests).toHaveLength(2)
  })
})
