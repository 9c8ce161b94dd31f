/** Bodies that flow through: both directions, backpressure, and how one of them can end early. */
import { createHash, randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Cancellation } from '../../../src/base/cancellation.ts'
import { createEgress } from '../../../src/net/egress/client.ts'
import type { Egress, EgressStreamRequest, EgressStreamResponse } from '../../../src/net/egress/egress.ts'
import { deferred, httpBackend, rawBackend, type TestBackend } from './backend.ts'

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const part of opened.splice(0).reverse()) await part.close()
})
/** Plain http goes over own connections or over undici; a caller sees no difference. */
const CARRIERS = [
  ['own connections', true],
  ['undici', false],
] as const
let ownHttp1 = true
const overBoth = (title: string, tests: () => void): void =>
  describe.each(CARRIERS)(`${title}, over %s`, (_, own) => {
    beforeEach(() => {
      ownHttp1 = own
    })
    tests()
  })
function keep<T extends { close(): Promise<void> }>(part: T): T {
  opened.push(part)
  return part
}
const client = (): Egress => keep(createEgress({ ownHttp1, allow: [], allowLoopback: true }))
const to = (backend: TestBackend, more: Partial<EgressStreamRequest> = {}): EgressStreamRequest => ({
  method: 'GET',
  url: `${backend.url}/`,
  headers: [],
  // only against what hangs: a test of a time-out sets a shorter one
  timeoutMs: 20_000,
  ...more,
})
async function open(egress: Egress, request: EgressStreamRequest): Promise<EgressStreamResponse> {
  const reply = await egress.stream(request)
  if (reply.kind !== 'response') throw new Error(reply.message)
  return reply
}
async function drain(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks)
}
async function* pieces(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) {
    await sleep(2)
    yield Buffer.from(text)
  }
}

overBoth('a streamed exchange', () => {
  it('carries megabytes in both directions unchanged', async () => {
    const backend = keep(await httpBackend((request, response) => void request.pipe(response)))
    const sent = randomBytes(5 << 20)
    async function* body(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < sent.length; at += 70_001) yield sent.subarray(at, at + 70_001)
    }
    const reply = await open(client(), to(backend, { method: 'POST', body: body() }))
    const got = await drain(reply.body)
    const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
    expect(digest(got)).toBe(digest(sent))
  })

  it('hands the head out before the body, as it was sent: encodings and lengths are not touched', async () => {
    const backend = keep(
      await httpBackend(async (_, response) => {
        response.writeHead(203, { 'content-encoding': 'gzip', 'content-length': '4' })
        response.write('ab')
        await sleep(50)
        response.end('cd')
      }),
    )
    const reply = await open(client(), to(backend, { headers: ['accept-encoding', 'gzip'] }))
    expect(reply.status).toBe(203)
    expect(reply.headers.get('content-encoding')).toBe('gzip')
    expect((await drain(reply.body)).toString()).toBe('abcd')
  })

  it('sends a known length with it, and chunks without', async () => {
    const backend = keep(
      await httpBackend((request, response) => {
        response.end(`${request.headers['content-length']} ${request.headers['transfer-encoding']}`)
      }),
    )
    const egress = client()
    const known = await open(
      egress,
      to(backend, { method: 'PUT', headers: ['content-length', '6'], body: pieces('abc', 'def') }),
    )
    expect((await drain(known.body)).toString()).toBe('6 undefined')
    const chunked = await open(egress, to(backend, { method: 'PUT', body: pieces('abc', 'def') }))
    expect((await drain(chunked.body)).toString()).toBe('undefined chunked')
  })

  it('never sends more than the declared length, and never passes off less as complete', async () => {
    const bodies: string[] = []
    const backend = keep(
      await httpBackend((request, response) => {
        let body = ''
        request.on('data', chunk => (body += chunk))
        request.on('error', () => {})
        request.on('end', () => {
          bodies.push(body)
          response.end('ok')
        })
      }),
    )
    const egress = client()
    const upload = (length: string) =>
      egress.stream(
        to(backend, {
          method: 'PUT',
          headers: ['content-length', length],
          body: pieces('abc', 'def'),
          timeoutMs: 500,
        }),
      )
    const longer = await upload('3')
    if (longer.kind === 'response') longer.body.destroy()
    expect(await upload('9')).toMatchObject({ kind: 'failure' })
    expect((await drain((await open(egress, to(backend))).body)).toString()).toBe('ok')
    expect(bodies.filter(body => body !== '' && body !== 'abc')).toEqual([])
  })

  it('holds a fast backend back while the reader is slow', async () => {
    let written = 0
    const backend = keep(
      await httpBackend((_, response) => {
        const chunk = Buffer.alloc(64 * 1024)
        const pump = (): void => {
          let writable = true
          while (writable && written < 64 << 20) {
            writable = response.write(chunk)
            written += chunk.length
          }
          if (written < 64 << 20) response.once('drain', pump)
          else response.end()
        }
        pump()
      }),
    )
    const { body } = await open(client(), to(backend, { timeoutMs: 60_000 }))
    await sleep(300)
    // What fits into the buffers of the two sockets, not the whole.
    expect(written).toBeLessThan(16 << 20)
    const before = written
    let read = 0
    for await (const chunk of body) {
      read += chunk.byteLength
      if (read > before + (2 << 20)) break
    }
    expect(written).toBeGreaterThan(before)
    expect(written).toBeLessThan(40 << 20)
  })
})

overBoth('a stream that ends early', () => {
  /** Responds indefinitely, and reports when its connection closed. */
  async function endless() {
    const closed = deferred<void>()
    const backend = keep(
      await httpBackend((_, response) => {
        const drip = setInterval(() => response.write('drip'), 5)
        response.on('close', () => {
          clearInterval(drip)
          closed.resolve()
        })
      }),
    )
    return { backend, closed: closed.promise }
  }

  it('closes the backend connection when the reader breaks off', async () => {
    const { backend, closed } = await endless()
    const { body } = await open(client(), to(backend))
    for await (const _ of body) break
    await closed
  })

  it('closes it when it is destroyed while it is read, and ends the reader', async () => {
    const { backend, closed } = await endless()
    const { body } = await open(client(), to(backend))
    const reading = drain(body)
    body.destroy()
    body.destroy()
    await closed
    // it ends, without an error
    await reading
  })

  it('closes it when the call is cancelled, and notifies the reader', async () => {
    const { backend, closed } = await endless()
    const cancellation = new Cancellation()
    const { body } = await open(client(), to(backend, { cancellation }))
    const reading = drain(body)
    cancellation.cancel()
    await expect(reading).rejects.toThrow(/cancelled/)
    await closed
  })

  it('closes it at the timeout of the whole exchange, though no one reads', async () => {
    const { backend, closed } = await endless()
    const { body } = await open(client(), to(backend, { timeoutMs: 1_500 }))
    await closed
    await expect(drain(body)).rejects.toThrow(/within 1500 ms/)
  })

  it('notifies the reader when the backend breaks off, after all that had arrived', async () => {
    let breakOff = (): void => {}
    const backend = keep(
      await rawBackend(socket => {
        socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n')
        breakOff = () => void socket.resetAndDestroy()
      }),
    )
    const { body } = await open(client(), to(backend))
    const iterator = body[Symbol.asyncIterator]()
    expect(Buffer.from((await iterator.next()).value as Uint8Array).toString()).toBe('hello')
    // a reset discards what the system holds for the client
    breakOff()
    await expect(iterator.next()).rejects.toThrow(/closed the connection before the response was complete/)
  })

  it('fails the call when the request body breaks', async () => {
    const backend = keep(
      await httpBackend((request, response) => void request.on('error', () => {}).pipe(response)),
    )
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('begin')
      await sleep(10)
      throw new Error('the sender disconnected')
    }
    const reply = await client().stream(to(backend, { method: 'POST', body: broken() }))
    if (reply.kind === 'response') await expect(drain(reply.body)).rejects.toThrow()
    else expect(reply.sent).toBe(true)
  })

  it('gives every slot back: the pool of one connection serves on after each of these', async () => {
    const backend = keep(
      await httpBackend((request, response) => {
        if (request.url === '/slow') response.write('x')
        else response.end('ok')
      }),
    )
    const egress = keep(
      createEgress({
        ownHttp1,
        allow: [],
        allowLoopback: true,
        maxConnectionsPerOrigin: 1,
        maxWaitingPerOrigin: 0,
      }),
    )
    for (let round = 0; round < 20; round++) {
      const { body } = await open(egress, to(backend, { url: `${backend.url}/slow` }))
      body.destroy()
      const reply = await open(egress, to(backend))
      expect((await drain(reply.body)).toString()).toBe('ok')
    }
  })
})
