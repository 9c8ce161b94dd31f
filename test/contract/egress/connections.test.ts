/** What our own connections must never do: mix up responses, wait indefinitely, or be used for what they were not made for. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { Cancellation } from '../../../src/base/cancellation.ts'
import { createEgress } from '../../../src/net/egress/client.ts'
import type { Egress, EgressRequest } from '../../../src/net/egress/egress.ts'
import { deferred, httpBackend, rawBackend, type TestBackend } from './backend.ts'

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const part of opened.splice(0).reverse()) await part.close()
})
function keep<T extends { close(): Promise<void> }>(part: T): T {
  opened.push(part)
  return part
}
function client(options: Partial<Parameters<typeof createEgress>[0]> = {}): Egress {
  return keep(createEgress({ allow: [], allowLoopback: true, ...options }))
}
function ask(backend: TestBackend, path: string, more: Partial<EgressRequest> = {}): EgressRequest {
  return {
    method: 'GET',
    url: backend.url + path,
    headers: [],
    // only against what hangs: a test of a time-out sets a shorter one
    timeoutMs: 20_000,
    maxResponseBytes: 1 << 20,
    ...more,
  }
}
async function bodyOf(egress: Egress, request: EgressRequest): Promise<string> {
  const response = await egress.request(request)
  return response.kind === 'response' ? Buffer.from(response.body).toString() : response.reason
}
/** Stops the clock by which connections judge silence; the returned function lets time pass. */
function stopClock(): (ms: number) => void {
  let nowMs = performance.now()
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  onTestFinished(() => clock.mockRestore())
  return ms => {
    nowMs += ms
  }
}
const pathOf = (received: string): string => received.split(' ')[1]!
const responseOf = (body: string, more = ''): string =>
  `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n${more}\r\n${body}`

describe('own connections', () => {
  it('are kept and used again, one request at a time', async () => {
    const backend = keep(
      await rawBackend((socket, received) => void socket.write(responseOf(pathOf(received)))),
    )
    const egress = client()
    for (let i = 0; i < 20; i++) expect(await bodyOf(egress, ask(backend, `/${i}`))).toBe(`/${i}`)
    expect(backend.connections()).toBe(1)
  })

  it('give a second, unrequested response to no call', async () => {
    const backend = keep(
      await rawBackend(
        (socket, received) => void socket.write(responseOf(pathOf(received)) + responseOf('stolen')),
      ),
    )
    const egress = client()
    for (let i = 0; i < 5; i++) expect(await bodyOf(egress, ask(backend, `/${i}`))).toBe(`/${i}`)
    expect(backend.connections()).toBe(5)
  })

  it('give no call the bytes that arrive between calls', async () => {
    const sockets: Socket[] = []
    const backend = keep(
      await rawBackend((socket, received) => {
        sockets.push(socket)
        socket.write(responseOf(pathOf(received)))
      }),
    )
    const egress = client()
    expect(await bodyOf(egress, ask(backend, '/1'))).toBe('/1')
    const closed = once(sockets[0]!, 'close')
    sockets[0]!.write(responseOf('early'))
    sockets[0]!.on('end', () => sockets[0]!.end())
    await closed
    expect(await bodyOf(egress, ask(backend, '/2'))).toBe('/2')
    expect(backend.connections()).toBe(2)
  })

  /** Three idle connections. `ignores` decides which later requests get no response; `isOld` says that one came on one of the three. */
  async function threeIdle(egress: Egress, ignores: (path: string, isOld: boolean) => boolean) {
    const old = new Set<Socket>()
    let held: (() => void)[] | undefined = []
    const backend = keep(
      await rawBackend((socket, received) => {
        const path = pathOf(received)
        if (ignores(path, old.has(socket))) return
        const respond = (): void => void socket.write(responseOf(path))
        if (held === undefined) return respond()
        old.add(socket)
        held.push(respond)
        // three connections are open at once
        if (held.length === 3) for (const each of held) each()
      }),
    )
    await Promise.all(['/1', '/2', '/3'].map(path => bodyOf(egress, ask(backend, path))))
    held = undefined
    return backend
  }

  it('that idled while another got no response are not used again: their peer may be gone in the same way', async () => {
    const egress = client()
    const backend = await threeIdle(egress, (_, isOld) => isOld)
    expect(await bodyOf(egress, ask(backend, '/4', { timeoutMs: 400 }))).toBe('timeout')
    expect(await bodyOf(egress, ask(backend, '/5'))).toBe('/5')
    expect(backend.connections()).toBe(4)
  })

  it.each([
    ['are not used again', 'already', 400, 4],
    ['are used again', 'not yet', 0, 3],
  ])(
    'that idled while another waits for a response %s when it has %s waited long',
    async (_, __, waitMs, connections) => {
      const pass = stopClock()
      const egress = client()
      const backend = await threeIdle(egress, (path, isOld) => path === '/pending' || (waitMs > 0 && isOld))
      pass(1)
      // as a caller whose time-out is a minute
      const pending = egress.request(ask(backend, '/pending', { timeoutMs: 60_000 }))
      pass(waitMs)
      expect(await bodyOf(egress, ask(backend, '/5'))).toBe('/5')
      expect(backend.connections()).toBe(connections)
      await egress.close()
      await pending
    },
  )

  it('stay when a call over another is cancelled at once', async () => {
    stopClock()
    const held: (() => void)[] = []
    const asked = deferred<void>()
    const backend = keep(
      await rawBackend((socket, received) => {
        const path = pathOf(received)
        if (path === '/never') return asked.resolve()
        held.push(() => void socket.write(responseOf(path)))
        if (path === '/3' || held.length === 2) for (const respond of held.splice(0)) respond()
      }),
    )
    const egress = client()
    await Promise.all(['/1', '/2'].map(path => bodyOf(egress, ask(backend, path))))
    const cancellation = new Cancellation()
    const never = bodyOf(egress, ask(backend, '/never', { cancellation }))
    await asked.promise
    cancellation.cancel()
    expect(await never).toBe('cancelled')
    expect(await bodyOf(egress, ask(backend, '/3'))).toBe('/3')
    expect(backend.connections()).toBe(2)
  })

  it('are not used again after a response that came before the request was taken', async () => {
    const backend = keep(
      await rawBackend((socket, received) => {
        socket.write(responseOf(pathOf(received)))
        socket.pause()
      }),
    )
    const egress = client()
    const large = 'x'.repeat(8 << 20)
    expect(await bodyOf(egress, ask(backend, '/1', { method: 'POST', body: large }))).toBe('/1')
    expect(await bodyOf(egress, ask(backend, '/2'))).toBe('/2')
    expect(backend.connections()).toBe(2)
  })

  it('are closed when the peer says so, and when its own time has nearly run out', async () => {
    for (const more of ['Connection: close\r\n', 'Keep-Alive: timeout=1\r\n']) {
      const backend = keep(
        await rawBackend((socket, received) => void socket.write(responseOf(pathOf(received), more))),
      )
      const egress = client()
      for (let i = 0; i < 3; i++) expect(await bodyOf(egress, ask(backend, `/${i}`))).toBe(`/${i}`)
      expect(backend.connections()).toBe(3)
    }
  })

  it('serve those that wait in order, and skip who has given up', async () => {
    const seen: string[] = []
    const backend = keep(
      await rawBackend((socket, received) => {
        seen.push(pathOf(received))
        setTimeout(() => socket.write(responseOf(pathOf(received))), 30)
      }),
    )
    const egress = client({ maxConnectionsPerOrigin: 1 })
    const cancellation = new Cancellation()
    const all = ['/1', '/2', '/3'].map(path =>
      bodyOf(egress, ask(backend, path, path === '/2' ? { cancellation } : {})),
    )
    cancellation.cancel()
    expect(await Promise.all(all)).toEqual(['/1', 'cancelled', '/3'])
    expect(seen).toEqual(['/1', '/3'])
    expect(backend.connections()).toBe(1)
  })

  it('send text and bytes of every length with the length they have', async () => {
    const backend = keep(
      await httpBackend((request, response) => {
        const chunks: Buffer[] = []
        request.on('data', chunk => chunks.push(chunk))
        request.on('end', () => response.end(Buffer.concat(chunks)))
      }),
    )
    const egress = client()
    for (const body of ['', 'a', 'ü€𝄞'.repeat(10), 'ü'.repeat(20_000), 'x'.repeat(300_000)]) {
      expect(await bodyOf(egress, ask(backend, '/', { method: 'POST', body }))).toBe(body)
      expect(await bodyOf(egress, ask(backend, '/', { method: 'PUT', body: Buffer.from(body) }))).toBe(body)
      expect(
        await bodyOf(egress, ask(backend, '/', { method: 'POST', body, headers: ['x-latin', 'é'] })),
      ).toBe(body)
    }
    expect(backend.connections()).toBe(1)
  })

  it('leave what is not ordinary to the library, and send nothing that could split a request', async () => {
    const backend = keep(await httpBackend((request, response) => void response.end(request.headers.host)))
    const egress = client()
    expect(await bodyOf(egress, ask(backend, '/', { headers: ['host', 'shop.example'] }))).toBe(
      'shop.example',
    )
    for (const headers of [
      ['x-a', 'b\r\nx-c: d'],
      ['x-a\r\nx-c', 'd'],
      ['x a', 'b'],
      ['transfer-encoding', 'chunked'],
      ['content-length', '5'],
    ])
      expect(await bodyOf(egress, ask(backend, '/', { method: 'POST', headers, body: 'abc' }))).toBe(
        'unsendable',
      )
  })

  it('carry nothing after the client is closed, and end what was under way', async () => {
    const arrived = deferred<void>()
    const backend = keep(await rawBackend(() => arrived.resolve()))
    const egress = client({ maxConnectionsPerOrigin: 1 })
    const pending = [bodyOf(egress, ask(backend, '/1')), bodyOf(egress, ask(backend, '/2'))]
    await arrived.promise
    await egress.close()
    expect(await Promise.all(pending)).toEqual(['reset', 'unreachable'])
    expect(await bodyOf(egress, ask(backend, '/3'))).toBe('unreachable')
  })
})
