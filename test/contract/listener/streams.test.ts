/**
 * Streamed responses, as every listener must send them: in order, paused while the client does not read, and with a bounded buffer.
 */
import { createHash, randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import type { HttpResponse, ResponseStream } from '../../../src/net/server/listener.ts'
import { head, onEachListenerAndLot, openListener, pause, RawClient, waitFor } from './kit.ts'

const MAX_BUFFERED = 256 << 10
/** Head and chunk framing, which node counts along. */
const SLACK = 16 << 10

/** A client that begins to read after a while, and has read up to this end. */
async function readLate(port: number, end: string): Promise<RawClient> {
  const client = new RawClient(port)
  client.socket.pause()
  client.send(head('GET / HTTP/1.1'))
  await pause(200)
  client.socket.resume()
  await client.until(end, 10_000)
  return client
}

onEachListenerAndLot('streams', kind => {
  it('sends pieces as they are written and ends the body', async () => {
    let stream: ResponseStream | undefined
    const { port } = await openListener(kind, (_request, response) => {
      stream = response.stream(200, ['content-type', 'text/event-stream'])
      stream.write(': hello\n\n')
    })
    const client = new RawClient(port).send(head('GET / HTTP/1.1'))
    await client.until(': hello\n\n')
    expect(client.text.toLowerCase()).toContain('transfer-encoding: chunked')
    await pause(20)
    stream!.write(Buffer.from('data: 1\n\n'))
    await client.until('data: 1\n\n')
    stream!.end('data: ü\n\n')
    await client.until('\r\n0\r\n\r\n')
    client.send(head('GET / HTTP/1.1'))
    await client.until(/hello[\s\S]*hello/)
  })

  it('sends a body of known length, and drops what is beyond it', async () => {
    const { url } = await openListener(kind, (_request, response) => {
      const stream = response.stream(200, [], 10)
      stream.write('12345')
      setTimeout(() => {
        stream.write('67890 and more')
        stream.end('and more')
      }, 10)
    })
    for (let n = 0; n < 3; n++) {
      const reply = await fetch(url)
      expect(reply.headers.get('content-length')).toBe('10')
      expect(await reply.text()).toBe('1234567890')
    }
  })

  it('breaks the connection under a body shorter than its declared length', async () => {
    const { port } = await openListener(kind, (_request, response) => response.stream(200, [], 10).end('123'))
    const text = await new RawClient(port).send(head('GET / HTTP/1.1')).untilClosed()
    expect(text).not.toContain('\r\n\r\n1234')
  })

  it('sends no body for HEAD, 204 and an empty declared length', async () => {
    const { port } = await openListener(kind, (request, response) => {
      const stream = response.stream(
        request.path === '/204' ? 204 : 200,
        [],
        request.path === '/empty' ? 0 : 5,
      )
      stream.write('12345')
      stream.end()
    })
    for (const line of ['HEAD / HTTP/1.1', 'GET /204 HTTP/1.1', 'GET /empty HTTP/1.1']) {
      const client = new RawClient(port).send(head(line))
      await client.until('\r\n\r\n')
      await pause(20)
      expect(client.text.split('\r\n\r\n')[1]).toBe('')
      expect(/content-length: \d/i.test(client.text)).toBe(!line.includes('204'))
    }
  })

  it('breaks the connection when another response follows a begun one', async () => {
    const { port } = await openListener(kind, (_request, response) => {
      response.stream(200, []).write('half')
      setTimeout(() => response.send(500, [], 'whole'), 20)
    })
    const text = await new RawClient(port).send(head('GET / HTTP/1.1')).untilClosed()
    expect(text).toContain('half')
    expect(text).not.toMatch(/whole|\r\n0\r\n/)
  })

  it.each([
    ['chunked', -1],
    ['sized', 32 << 20],
  ])(
    'delivers 32 MiB to a client that pauses, %s, without holding more than the bound',
    async (_framing, declared) => {
      const total = 32 << 20
      const piece = randomBytes(96 << 10)
      const hash = createHash('sha256')
      let held = 0
      let waits = 0
      const { port, refused } = await openListener(kind, (_request, response) => {
        const stream = response.stream(200, [], declared)
        let left = total
        const pump = (): void => {
          while (left > 0) {
            const part = piece.subarray(0, Math.min(piece.length, left))
            left -= part.length
            hash.update(part)
            const goOn = stream.write(part)
            held = Math.max(held, stream.bufferedBytes)
            if (!goOn) {
              waits++
              return
            }
          }
          stream.end()
        }
        stream.onDrain(pump)
        pump()
      })
      const client = new RawClient(port).send(head('GET / HTTP/1.1', 'Connection: close'))
      const raw: Buffer[] = []
      client.keep = false
      client.socket.on('data', chunk => raw.push(chunk))
      for (let n = 0; n < 10; n++) {
        client.socket.pause()
        await pause(10)
        client.socket.resume()
        await pause(2)
      }
      await waitFor(() => client.receivedBytes >= total, 20_000)
      expect(refused).toEqual([])
      expect(waits).toBeGreaterThan(0)
      expect(held).toBeLessThanOrEqual(MAX_BUFFERED + SLACK)
      await client.untilClosed()
      const reply = Buffer.concat(raw)
      const body = declared < 0 ? dechunk(reply) : reply.subarray(reply.indexOf('\r\n\r\n') + 4)
      expect(createHash('sha256').update(body).digest('hex')).toBe(hash.digest('hex'))
    },
  )

  it.each([
    ['large pieces', 64 << 10],
    ['small events', 200],
  ])('cuts a client that does not read, holding at most 256 KiB of %s', async (_what, size) => {
    let accepted = 0
    let held = 0
    let aborted = 0
    let response: HttpResponse | undefined
    const { port, refused } = await openListener(kind, (_request, reply) => {
      response = reply
      reply.onAbort(() => aborted++)
      const stream = reply.stream(200, ['content-type', 'text/event-stream'])
      const piece = Buffer.alloc(size, 'x')
      const push = (): void => {
        for (let n = 0; n < 500 && !reply.closed; n++) {
          stream.write(piece)
          held = Math.max(held, stream.bufferedBytes)
          if (!reply.closed) accepted += size
        }
        if (!reply.closed) setImmediate(push)
      }
      push()
    })
    const client = new RawClient(port).send(head('GET / HTTP/1.1'))
    client.keep = false
    client.socket.pause()
    await waitFor(() => response?.closed === true, 20_000)
    expect(refused).toEqual(['slow_reader'])
    expect(aborted).toBe(1)
    expect(held).toBeLessThanOrEqual(MAX_BUFFERED + SLACK)
    // What was accepted and never arrives is what this process held.
    client.socket.resume()
    await client.untilClosed(20_000)
    expect(accepted - client.receivedBytes).toBeLessThanOrEqual(MAX_BUFFERED + (64 << 10))
  })

  it('sends everything kept after end, also to a client that begins to read late', async () => {
    const { port } = await openListener(kind, (_request, response) => {
      const stream = response.stream(200, [])
      let goOn = true
      while (goOn) goOn = stream.write(Buffer.alloc(32 << 10, 'a'))
      stream.end('the very end')
    })
    const client = await readLate(port, 'the very end\r\n0\r\n\r\n')
    client.send(head('GET / HTTP/1.1'))
    await pause(20)
    expect(client.closed).toBe(false)
  })

  it('delivers the last small piece written while the client was behind, without another write', async () => {
    let stream: ResponseStream | undefined
    let drained = 0
    const { port } = await openListener(kind, (_request, response) => {
      stream = response.stream(200, [])
      stream.onDrain(() => drained++)
      let goOn = true
      while (goOn) goOn = stream.write(Buffer.alloc(8 << 10, 'a'))
      stream.write('LAST')
    })
    const client = await readLate(port, 'LAST')
    await waitFor(() => drained === 1)
    expect(stream!.bufferedBytes).toBeLessThanOrEqual(32 << 10)
    expect(stream!.write('more')).toBe(true)
    await client.until('more')
  })

  it('keeps a copy of what was written from a buffer that is used again, also for a client that begins to read late', async () => {
    const { port } = await openListener(kind, (_request, response) => {
      const stream = response.stream(200, [])
      const buffer = new Uint8Array(32 << 10)
      let letter = 0
      const writeAll = (): void => {
        while (letter < 256) {
          buffer.fill(97 + (letter++ % 26))
          if (!stream.write(buffer, true)) return
        }
        stream.end('the very end')
      }
      stream.onDrain(writeAll)
      writeAll()
      buffer.fill(33)
    })
    const client = await readLate(port, 'the very end\r\n0\r\n\r\n')
    expect(client.text.includes('!')).toBe(false)
    const letters = client.text.split('\r\n\r\n')[1]!.replace(/\r\n[0-9a-f]+\r\n|^[0-9a-f]+\r\n/g, '')
    const counted = letters.match(/(.)\1+/g)!.map(run => run.length)
    expect(counted.slice(0, 256)).toEqual(Array.from({ length: 256 }, () => 32 << 10))
  })

  it('writes to the streams of other clients from inside a handler', async () => {
    const streams: ResponseStream[] = []
    const { port } = await openListener(kind, (request, response) => {
      if (request.path === '/listen') {
        const stream = response.stream(200, [])
        stream.write(': open\n\n')
        streams.push(stream)
      } else {
        for (const stream of streams) stream.write('data: change\n\n')
        response.send(200, [], 'late')
        for (const stream of streams) stream.end('data: end\n\n')
      }
    })
    const listeners = [1, 2, 3].map(() => new RawClient(port).send(head('GET /listen HTTP/1.1')))
    for (const client of listeners) await client.until(': open')
    await new RawClient(port).send(head('GET /late HTTP/1.1')).until('late')
    for (const client of listeners) expect(await client.until('0\r\n\r\n')).toMatch(/change[\s\S]*end/)
  })

  it('stops and calls onAbort once when the client disconnects while it is sent', async () => {
    let aborted = 0
    let wrote = true
    const { port } = await openListener(kind, (_request, response) => {
      const stream = response.stream(200, [])
      response.onAbort(() => {
        aborted++
        stream.write('too late')
        stream.end()
      })
      const timer = setInterval(() => {
        wrote = stream.write('tick\n')
        if (response.closed) clearInterval(timer)
      }, 5)
    })
    const client = new RawClient(port).send(head('GET / HTTP/1.1'))
    await client.until('tick')
    client.socket.destroy()
    await waitFor(() => aborted > 0)
    await pause(30)
    expect(aborted).toBe(1)
    expect(wrote).toBe(false)
  })
})

/** Takes head and chunk framing off. */
function dechunk(raw: Buffer): Buffer {
  const parts: Buffer[] = []
  let at = raw.indexOf('\r\n\r\n') + 4
  for (;;) {
    const lineEnd = raw.indexOf('\r\n', at)
    const size = Number.parseInt(raw.toString('latin1', at, lineEnd), 16)
    if (size === 0) return Buffer.concat(parts)
    parts.push(raw.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = lineEnd + 2 + size + 2
  }
}
