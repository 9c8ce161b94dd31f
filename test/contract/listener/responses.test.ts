/**
 * Responses that are not streamed, as every listener must send them: framed exactly, without injected headers, with nothing after the end;
 * and the request head that handlers read.
 */
import { get, type IncomingMessage } from 'node:http'
import { expect, it } from 'vitest'
import type { HttpHandler, HttpResponse } from '../../../src/net/server/listener.ts'
import { head, onEachListenerAndLot, openListener, pause, RawClient, waitFor } from './kit.ts'

onEachListenerAndLot('responses', kind => {
  it('frames text and bytes with their length and keeps the connection', async () => {
    const { port } = await openListener(kind, (request, response) => {
      if (request.path === '/text') response.send(200, ['content-type', 'text/plain; charset=utf-8'], 'grüße')
      else response.send(201, ['x-a', '1', 'x-b', '2'], new Uint8Array([1, 2, 3]))
    })
    const client = new RawClient(port).send(head('GET /text HTTP/1.1'))
    const text = await client.until('gr')
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(text.toLowerCase()).toContain('content-length: 7\r\n')
    client.send(head('GET /bytes HTTP/1.1'))
    await client.until('\r\n\r\n\x01\x02\x03')
    expect(client.text).toContain('HTTP/1.1 201 Created\r\n')
    expect(client.text.toLowerCase()).toContain('x-a: 1\r\nx-b: 2\r\n')
  })

  it.each([
    ['in one piece', 'POST / HTTP/1.1', 'x'],
    ['whose request body is still unread', 'POST /long HTTP/1.1', 'x'],
    ['without a body', 'POST / HTTP/1.1', ''],
    ['as a stream', 'POST /stream HTTP/1.1', 'x'],
  ])('has read the list of headers before it returns, of a response %s', async (_what, line, body) => {
    const { port } = await openListener(kind, (request, response) => {
      const headers = ['x-a', 'first', 'x-b', 'second']
      if (request.path === '/stream') response.stream(200, headers).end(body)
      else response.send(200, headers, body)
      headers.fill('x-overwritten')
    })
    const length = line.includes('long') ? 100_000 : 0
    const text = await new RawClient(port).send(head(line, `Content-Length: ${length}`)).until('\r\n\r\n')
    expect(text.toLowerCase()).toContain('x-a: first\r\nx-b: second\r\n')
    expect(text).not.toContain('overwritten')
  })

  it('says nothing about the software behind it', async () => {
    const { port } = await openListener(kind, (_request, response) => response.send(200, [], 'x'))
    const text = await new RawClient(port).send(head('GET / HTTP/1.1')).until('\r\n\r\nx')
    expect(text.toLowerCase()).not.toMatch(/uwebsockets|server:|x-powered-by/)
    expect(text.toLowerCase()).toContain('\r\ndate: ')
  })

  it('measures the body for HEAD and sends none of it', async () => {
    const { port } = await openListener(kind, (_request, response) =>
      response.send(200, ['content-type', 'text/plain'], 'ünseen'),
    )
    const client = new RawClient(port)
    for (let n = 1; n <= 3 && !client.closed; n++) {
      client.send(head('HEAD / HTTP/1.1'))
      await waitFor(() => client.text.split('\r\n\r\n').length > n || client.closed)
    }
    expect(client.text.toLowerCase()).toContain('content-length: 7\r\n')
    expect(client.text).not.toContain('nseen')
    expect(client.text.endsWith('\r\n\r\n')).toBe(true)
  })

  it.each([204, 304])('sends %i without body and without length', async status => {
    const { port } = await openListener(kind, (_request, response) =>
      response.send(status, ['x-a', 'b'], 'ignored'),
    )
    const client = new RawClient(port).send(head('GET / HTTP/1.1'))
    const text = await client.until('\r\n\r\n')
    expect(text).toContain(`HTTP/1.1 ${status} `)
    expect(text.toLowerCase()).not.toMatch(/content-length|transfer-encoding|ignored/)
  })

  it('declares an empty body of other statuses', async () => {
    const { port } = await openListener(kind, (_request, response) => response.send(202, []))
    const text = await new RawClient(port)
      .send(head('POST / HTTP/1.1', 'Content-Length: 0'))
      .until('\r\n\r\n')
    expect(text).toContain('HTTP/1.1 202 Accepted\r\n')
    expect(text.toLowerCase()).toContain('content-length: 0\r\n')
  })

  it.each([
    ['a line break', ['x-a', 'b\r\nx-evil: 1']],
    ['a bare line feed', ['x-a', 'b\nx-evil: 1']],
    ['a NUL', ['x-a', 'b\0']],
    ['a character beyond ISO 8859-1', ['x-a', '€']],
    ['a name with a line break', ['x-a\r\nx-evil', '1']],
    ['an upper-case name', ['X-A', '1']],
    ['its own length', ['content-length', '3']],
    ['its own transfer coding', ['transfer-encoding', 'chunked']],
    ['a connection header', ['connection', 'keep-alive']],
    ['a name without value', ['x-a']],
  ])('throws for a header with %s, and sends nothing of it', async (_what, headers) => {
    const thrown: unknown[] = []
    const { url } = await openListener(kind, (_request, response) => {
      for (const begin of [() => response.send(200, headers, 'x'), () => response.stream(200, headers)]) {
        try {
          begin()
        } catch (error) {
          thrown.push(error)
        }
      }
      response.send(200, [], 'still whole')
    })
    const reply = await fetch(url)
    expect(await reply.text()).toBe('still whole')
    expect(reply.headers.get('x-evil')).toBeNull()
    expect(thrown.map(error => (error as Error).message)).toHaveLength(2)
    expect((thrown[0] as Error).message).toMatch(/header/)
  })

  it('refuses a status that ends no exchange', async () => {
    const { url, errors } = await openListener(kind, (_request, response) => response.send(101, []))
    expect((await fetch(url)).status).toBe(500)
    expect(String(errors[0])).toContain('status 101')
  })

  it('sends header values as ISO 8859-1 and reads them as UTF-8', async () => {
    let seen = ''
    const { port } = await openListener(kind, (request, response) => {
      seen = request.header('x-name')
      response.send(200, ['x-name', 'é'], 'x')
    })
    const client = new RawClient(port)
    client.send('GET / HTTP/1.1\r\nHost: a\r\nX-Name: ', Buffer.from('José M'), '\r\n\r\n')
    expect((await client.until('\r\n\r\nx')).toLowerCase()).toContain('x-name: \xe9\r\n')
    expect(seen).toBe('José M')
  })

  it('hands out the head as it was sent, with names in lower case and repeated headers joined', async () => {
    let seen: unknown
    const { port } = await openListener(kind, (request, response) => {
      const { method, path, query, rawHeaders, peerAddress } = request
      seen = {
        method,
        path,
        query,
        rawHeaders,
        peerAddress,
        accept: request.header('accept'),
        none: request.header('x'),
      }
      response.send(200, [], 'x')
    })
    await new RawClient(port)
      .send(head('DELETE /a%2Fb//c?x=%31&y HTTP/1.1', 'Accept: a', 'Accept:  b '))
      .until('\r\n\r\nx')
    expect(seen).toEqual({
      method: 'DELETE',
      path: '/a%2Fb//c',
      query: 'x=%31&y',
      rawHeaders: ['host', 'test.example', 'accept', 'a', 'accept', 'b'],
      peerAddress: '127.0.0.1',
      accept: 'a, b',
      none: '',
    })
  })

  it('responds later as well as at once, and ignores everything after the response', async () => {
    let aborted = 0
    let kept: HttpResponse | undefined
    const { url } = await openListener(kind, (_request, response) => {
      kept = response
      response.onAbort(() => aborted++)
      setTimeout(() => {
        response.send(200, [], 'first')
        response.send(500, [], 'second')
        response.stream(200, []).write('third')
      }, 20)
    })
    expect(await (await fetch(url)).text()).toBe('first')
    expect(kept!.closed).toBe(true)
    kept!.send(200, [], 'fourth')
    kept!.onAbort(() => aborted++)
    expect(await (await fetch(url)).text()).toBe('first')
    await pause(30)
    expect(aborted).toBe(0)
  })

  it('responds with 500 when the handler throws, reports the error and lives on', async () => {
    const { url, errors } = await openListener(kind, (request, response) => {
      if (request.path === '/body') {
        request.readBody(
          10,
          () => {
            throw new Error('in the body')
          },
          () => {},
        )
      } else if (request.path === '/throw') throw new Error('in the handler')
      else response.send(200, [], 'fine')
    })
    expect((await fetch(`${url}/throw`)).status).toBe(500)
    expect((await fetch(`${url}/body`, { method: 'POST', body: 'x' })).status).toBe(500)
    expect(await (await fetch(url)).text()).toBe('fine')
    expect(errors.map(error => (error as Error).message)).toEqual(['in the handler', 'in the body'])
  })

  it('sends a body in two pieces as one', async () => {
    const rest = Buffer.alloc(30_000, 'größe ')
    const { port, url } = await openListener(kind, (request, response) =>
      request.path === '/204' ? response.send(204, [], 'é', rest) : response.send(200, [], '{é:', rest),
    )
    for (let n = 0; n < 3; n++) expect(await (await fetch(url)).text()).toBe(`{é:${rest}`)
    expect((await fetch(`${url}/204`)).status).toBe(204)
    const measured = new RawClient(port).send(head('HEAD / HTTP/1.1'))
    await measured.until(new RegExp(`content-length: ${rest.length + 4}`, 'i'))
    // apart from the response without body, after which a connection may end by lot
    const client = new RawClient(port).send(head('GET / HTTP/1.1').repeat(2))
    await waitFor(() => client.receivedBytes > 2 * rest.length)
    // the request's body is left unread: the connection ends with the response
    const posted = new RawClient(port).send(head('POST / HTTP/1.1', 'Content-Length: 1000000'), 'x')
    await waitFor(() => posted.receivedBytes > rest.length)
  })

  it('loses no byte between two pieces when the client reads slowly', async () => {
    const body = Buffer.from(Uint32Array.from({ length: 4 << 20 }, (_, at) => at).buffer)
    const cut = 3_000_001
    const { url } = await openListener(kind, (_request, response) =>
      response.send(200, [], body.subarray(0, cut), body.subarray(cut)),
    )
    const reply = await new Promise<IncomingMessage>(resolve => get(url, resolve))
    const chunks: Buffer[] = []
    for await (const chunk of reply) {
      if (chunks.push(chunk as Buffer) % 20 === 0) await pause(2)
    }
    expect(Buffer.concat(chunks).equals(body)).toBe(true)
  })

  it.each([
    ['one piece', 0],
    ['two pieces', 1],
    ['two pieces, the first one large too', 12 << 20],
  ])('delivers a large body of %s whole to a client that reads slowly', async (_, first) => {
    const body = Buffer.alloc(24 << 20, 'abcdefgh')
    const { port } = await openListener(kind, (_request, response) =>
      first === 0
        ? response.send(200, [], body)
        : response.send(200, [], body.subarray(0, first), body.subarray(first)),
    )
    const client = new RawClient(port)
    client.keep = false
    client.send(head('GET / HTTP/1.1'))
    await pause(50)
    for (let n = 0; n < 20; n++) {
      client.socket.pause()
      await pause(10)
      client.socket.resume()
      await pause(5)
    }
    await waitFor(() => client.receivedBytes > body.length, 20_000)
    client.keep = true
    client.send(head('HEAD / HTTP/1.1'))
    await client.until(new RegExp(`content-length: ${body.length}`, 'i'))
  })

  it('runs no more requests of a client that reads nothing once the kernel buffers are full', async () => {
    let responded = 0
    const body = Buffer.alloc(64 << 10)
    const { port } = await openListener(kind, (_request, response) => {
      responded++
      response.send(200, [], body)
    })
    const client = new RawClient(port)
    client.socket.pause()
    const request = head('GET / HTTP/1.1')
    const MAX_BYTES = 16 << 20
    // until both kernels hold what they can, and nothing more is run
    for (let unchanged = 0; unchanged < 20 && responded * body.length < MAX_BYTES && !client.closed; ) {
      const before = responded
      client.send(request.repeat(10))
      await pause(10)
      unchanged = responded === before && responded > 0 ? unchanged + 1 : 0
    }
    const inKernel = responded * body.length
    await pause(100)
    client.send(request.repeat(10))
    await pause(100)
    // The responses fit what the two kernels hold; after that no further request is run.
    expect(responded * body.length).toBe(inKernel)
    expect(inKernel).toBeLessThan(MAX_BYTES)
  })

  it('lets a client that reads nothing pipeline responses without body only so long', async () => {
    let responded = 0
    const respond: HttpHandler = (_request, response) => {
      responded++
      response.send(204, [])
    }
    const { port } = await openListener(kind, respond, { random: Math.random })
    const client = new RawClient(port)
    client.socket.pause()
    const burst = head('GET / HTTP/1.1').repeat(2_000)
    for (let n = 0; n < 100 && client.socket.writableLength < 1 << 20; n++) {
      client.send(burst)
      await pause(10)
      if (client.socket.destroyed) break
    }
    // 200,000 requests were offered; 100 bytes of response each, 4 MB of kernel buffer and 256 KiB of ours.
    expect(responded).toBeLessThan(150_000)
  })

  it('reports once that it holds nothing of an exchange any more', async () => {
    const ends: string[] = []
    const { port, url } = await openListener(kind, (request, response) => {
      response.onEnd(() => ends.push(`${request.path} 1`))
      response.onEnd(() => ends.push(`${request.path} 2`))
      if (request.path === '/short') response.send(200, [], 'x')
      else if (request.path === '/long') response.send(200, [], Buffer.alloc(16 << 20))
      else if (request.path === '/stream') response.stream(200, [], 1).write('x')
    })
    await (await fetch(`${url}/short`)).text()
    await (await fetch(`${url}/stream`)).text()
    await waitFor(() => ends.length === 4)
    const slow = new RawClient(port).send(head('GET /long HTTP/1.1'))
    slow.socket.pause()
    slow.keep = false
    const gone = new RawClient(port).send(head('GET /never HTTP/1.1'))
    await pause(100)
    expect(ends).toEqual(['/short 1', '/short 2', '/stream 1', '/stream 2'])
    gone.socket.destroy()
    slow.socket.resume()
    await waitFor(() => ends.length === 8)
    expect(new Set(ends.slice(4))).toEqual(new Set(['/long 1', '/long 2', '/never 1', '/never 2']))
    await (await fetch(`${url}/short`)).text()
    expect(ends).toHaveLength(10)
  })

  it.each(['in one piece', 'in pieces that are at hand'])(
    'gives a client that reads slowly so much time for a response %s, and no limit for a stream',
    async form => {
      const body = Buffer.alloc(16 << 20)
      const { port, refused } = await openListener(
        kind,
        (request, response) => {
          if (request.path === '/free') response.stream(200, [], body.length).write(body)
          else if (form === 'in one piece') response.send(200, [], body)
          else response.stream(200, [], body.length, true).write(body)
        },
        { limits: { responseTimeoutMs: 400 } },
      )
      const [held, free] = ['/held', '/free'].map(path => {
        const client = new RawClient(port).send(head(`GET ${path} HTTP/1.1`))
        client.keep = false
        client.socket.pause()
        return client
      }) as [RawClient, RawClient]
      await waitFor(() => refused.length === 1)
      expect(refused).toEqual(['slow_reader'])
      for (const client of [held, free]) client.socket.resume()
      await held.whenClosed
      expect(held.receivedBytes).toBeLessThan(body.length)
      await waitFor(() => free.receivedBytes > body.length)
      expect(refused).toEqual(['slow_reader'])
    },
  )
})
