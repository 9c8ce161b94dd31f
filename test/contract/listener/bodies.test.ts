/**
 * Request bodies, as every listener must hand them over: exact, bounded, timed, and never after the client has
 * gone.
 */
import { createHash, randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { head, onEachListenerAndLot, openListener, pause, RawClient, waitFor } from './kit.ts'

onEachListenerAndLot('request bodies', kind => {
  it('hands over a body byte for byte, whatever pieces it arrives in', async () => {
    const bodies: Buffer[] = []
    const { port } = await openListener(kind, (request, response) => {
      request.readBody(
        1 << 20,
        body => {
          bodies.push(Buffer.from(body))
          response.send(200, [], `${body.length}`)
        },
        () => response.send(413, []),
      )
    })
    const sent = randomBytes(300_000)
    const client = new RawClient(port)
    client.send(head('POST / HTTP/1.1', `Content-Length: ${sent.length}`))
    for (let at = 0; at < sent.length; at += 70_001) {
      client.send(sent.subarray(at, at + 70_001))
      await pause(5)
    }
    await client.until('300000')
    client.send(head('POST / HTTP/1.1', 'Content-Length: 3'), 'abc')
    await client.until(/\r\n\r\n3$/)
    expect(bodies[0]!.equals(sent)).toBe(true)
    expect(bodies[1]!.toString()).toBe('abc')
  })

  it('asks the budget for a long body: whole where its length is declared, else as it grows', async () => {
    const asked: number[] = []
    const refusals: string[] = []
    let leftBytes = 0
    const budget = {
      take(bytes: number) {
        asked.push(bytes)
        leftBytes -= bytes
        return leftBytes >= 0
      },
    }
    const { url } = await openListener(
      kind,
      (request, response) =>
        request.readBody(
          1 << 20,
          body => response.send(200, [], `${body.length}`),
          why => {
            refusals.push(why)
            response.send(503, [])
          },
          budget,
        ),
      { allowChunkedRequests: true },
    )
    const post = async (body: string | ReadableStream): Promise<number> =>
      (await fetch(url, { method: 'POST', body, duplex: 'half' } as RequestInit)).status
    expect(await post('x'.repeat(10_000))).toBe(200)
    expect(asked).toEqual([])
    leftBytes = 100_000
    expect(await post('x'.repeat(100_000))).toBe(200)
    expect(asked).toEqual([100_000])
    expect(await post('x'.repeat(100_000))).toBe(503)
    leftBytes = 100_000
    asked.length = 0
    const pieces = (count: number) => new Blob([Buffer.alloc(count * 10_000)]).stream() as ReadableStream
    expect(await post(pieces(10))).toBe(200)
    expect(asked.reduce((sum, bytes) => sum + bytes, 0)).toBe(100_000)
    expect(await post(pieces(10))).toBe(503)
    expect(refusals).toEqual(['over_budget', 'over_budget'])
  })

  it('hands over an empty body before readBody returns', async () => {
    const { url } = await openListener(kind, (request, response) => {
      let length = -1
      request.readBody(
        10,
        body => {
          length = body.length
        },
        () => {},
      )
      response.send(200, [], `read ${length} of ${request.contentLength}`)
    })
    expect(await (await fetch(url)).text()).toBe('read 0 of 0')
    expect(await (await fetch(url, { method: 'POST' })).text()).toBe('read 0 of 0')
  })

  it('keeps a body valid after the response and after later requests', async () => {
    const kept: Uint8Array[] = []
    const { url } = await openListener(kind, (request, response) => {
      request.readBody(
        1000,
        body => {
          kept.push(body)
          response.send(200, [])
        },
        () => {},
      )
    })
    for (let n = 0; n < 50; n++) await fetch(url, { method: 'POST', body: `body number ${n}` })
    expect(kept.map(body => Buffer.from(body).toString())).toEqual(
      Array.from({ length: 50 }, (_, n) => `body number ${n}`),
    )
  })

  it('refuses a body declared too large before any of it is read', async () => {
    let tooLarge = 0
    const { port } = await openListener(kind, (request, response) => {
      request.readBody(
        1 << 20,
        () => response.send(200, [], 'never'),
        () => {
          tooLarge++
          response.send(413, [], 'too large')
        },
      )
    })
    const client = new RawClient(port).send(head('POST / HTTP/1.1', 'Content-Length: 1048577'))
    const text = await client.until('too large')
    expect(text).toMatch(/^HTTP\/1\.1 413 /)
    expect(text.toLowerCase()).toContain('connection: close')
    expect(tooLarge).toBe(1)
  })

  it('shows the 413 to a client that is still sending its large body', async () => {
    const { url } = await openListener(kind, (request, response) => {
      request.readBody(
        1 << 20,
        () => response.send(200, []),
        () => response.send(413, [], 'too large'),
      )
    })
    const reply = await fetch(url, { method: 'POST', body: Buffer.alloc(8 << 20) })
    expect(reply.status).toBe(413)
    expect(await reply.text()).toBe('too large')
  })

  it('counts a chunked body while it is read, and refuses it beyond the bound', async () => {
    let tooLarge = 0
    const { port } = await openListener(
      kind,
      (request, response) => {
        request.readBody(
          1000,
          body => response.send(200, [], `${request.contentLength}:${body.length}`),
          () => {
            tooLarge++
            response.send(413, [], 'too large')
          },
        )
      },
      { allowChunkedRequests: true },
    )
    const fits = new RawClient(port)
    fits.send(
      head('POST / HTTP/1.1', 'Transfer-Encoding: chunked'),
      '3\r\nabc\r\n',
      '4\r\ndefg\r\n',
      '0\r\n\r\n',
    )
    await fits.until('-1:7')
    const large = new RawClient(port).send(head('POST / HTTP/1.1', 'Transfer-Encoding: chunked'))
    for (let n = 0; n < 5; n++) large.send(`190\r\n${'x'.repeat(400)}\r\n`)
    await large.until('too large')
    await large.untilClosed()
    expect(tooLarge).toBe(1)
  })

  it('cuts a sender whose body does not arrive in time, with 408 where the handler has not responded', async () => {
    let aborted = 0
    const { port, refused } = await openListener(
      kind,
      (request, response) => {
        response.onAbort(() => aborted++)
        request.readBody(
          1000,
          () => response.send(200, []),
          () => {},
        )
      },
      { limits: { bodyTimeoutMs: 200 } },
    )
    const client = new RawClient(port).send(head('POST / HTTP/1.1', 'Content-Length: 100'), 'slow')
    const started = performance.now()
    expect(await client.untilClosed()).toMatch(/^HTTP\/1\.1 408 /)
    expect(performance.now() - started).toBeGreaterThan(150)
    expect(refused).toEqual(['slow_sender'])
    expect(aborted).toBe(1)
  })

  it('delivers nothing and calls onAbort once when the client disconnects in the middle of its body', async () => {
    const calls: string[] = []
    const { port } = await openListener(kind, (request, response) => {
      response.onAbort(() => {
        calls.push('aborted')
        response.send(200, [], 'unread')
        response.destroy()
      })
      request.readBody(
        1000,
        () => calls.push('body'),
        () => calls.push('too large'),
      )
    })
    const client = new RawClient(port).send(head('POST / HTTP/1.1', 'Content-Length: 100'), 'half')
    await pause(50)
    client.socket.destroy()
    await waitFor(() => calls.length > 0)
    await pause(50)
    expect(calls).toEqual(['aborted'])
  })

  it('goes on with the connection after a response given before a small body was read', async () => {
    const { port } = await openListener(kind, (_request, response) => response.send(401, [], 'who are you'))
    const client = new RawClient(port)
    client.send(head('POST /1 HTTP/1.1', 'Content-Length: 5'), 'first')
    await client.until('who are you')
    client.send(head('POST /2 HTTP/1.1', 'Content-Length: 6'), 'second')
    await client.until(/who are you[\s\S]*who are you/)
    expect(client.closed).toBe(false)
  })

  it('streams a large upload and holds the sender back while paused', async () => {
    const sent = randomBytes(24 << 20)
    const hash = createHash('sha256')
    let bytes = 0
    let bytesAtPause = 0
    let body: { pause(): void; resume(): void } | undefined
    const { port } = await openListener(kind, (request, response) => {
      body = request.streamBody({
        data: chunk => {
          if (bytes === 0) body?.pause()
          bytes += chunk.length
          hash.update(chunk)
        },
        end: () => response.send(200, [], hash.digest('hex')),
      })
    })
    const client = new RawClient(port).send(head('POST / HTTP/1.1', `Content-Length: ${sent.length}`), sent)
    await waitFor(() => bytes > 0)
    body!.pause()
    await pause(200)
    bytesAtPause = bytes
    await pause(200)
    expect(bytes).toBe(bytesAtPause)
    expect(bytes).toBeLessThan(2 << 20)
    expect(client.socket.writableLength).toBeGreaterThan(8 << 20)
    body!.resume()
    await client.until(createHash('sha256').update(sent).digest('hex'), 20_000)
    expect(bytes).toBe(sent.length)
  })

  it('reads on after a body that ended while it was paused', async () => {
    const { port } = await openListener(kind, (request, response) => {
      if (request.method === 'GET') return response.send(200, [], 'next')
      let bytes = 0
      const body = request.streamBody({
        data(chunk) {
          bytes += chunk.length
          // pieces of the same read still come, often the last one
          body.pause()
          setTimeout(() => body.resume(), 2)
        },
        end: () => setTimeout(() => response.send(200, [], `read ${bytes}`), 10),
      })
    })
    const sent = Buffer.alloc(8 << 20, 'x')
    const client = new RawClient(port)
    for (let round = 1; round <= 3; round++) {
      client.send(head('POST / HTTP/1.1', `Content-Length: ${sent.length}`), sent)
      await client.until(new RegExp(`(read ${sent.length}[^]*){${round}}`))
      client.send(head('GET / HTTP/1.1'))
      await client.until(new RegExp(`(next[^]*){${round}}`))
    }
  })

  it('does not count the time paused against the sender', async () => {
    let body: { pause(): void; resume(): void } | undefined
    const { port, refused } = await openListener(
      kind,
      (request, response) => {
        body = request.streamBody({ data: () => {}, end: () => response.send(200, [], 'done') })
        body.pause()
      },
      { limits: { bodyTimeoutMs: 200 } },
    )
    const client = new RawClient(port).send(head('POST / HTTP/1.1', 'Content-Length: 8'), 'half')
    await waitFor(() => body !== undefined)
    await pause(600)
    body!.resume()
    client.send('half')
    await client.until('done')
    expect(refused).toEqual([])
  })

  it('asks a client that waits for 100 Continue to go on', async () => {
    const { port } = await openListener(kind, (request, response) => {
      request.readBody(
        10,
        body => response.send(200, [], `got ${body.length}`),
        () => {},
      )
    })
    const client = new RawClient(port).send(
      head('POST / HTTP/1.1', 'Content-Length: 2', 'Expect: 100-continue'),
    )
    await client.until('HTTP/1.1 100 Continue\r\n\r\n')
    client.send('ab')
    await client.until('got 2')
  })
})
