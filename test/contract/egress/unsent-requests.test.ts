/** Requests that were given to a connection in the turn of the event loop in which it ends: they are carried once, by another one. */
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Egress, EgressResponse } from '../../../src/net/egress/egress.ts'
import { rawBackend, type TestBackend } from './backend.ts'
import { client, get, keep } from './carriers.ts'

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
const STOLEN = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen'

interface Peer {
  readonly backend: TestBackend
  readonly sockets: Socket[]
  readonly received: string[]
}

async function peer(): Promise<Peer> {
  const sockets: Socket[] = []
  const received: string[] = []
  const backend = keep(
    await rawBackend((socket, text) => {
      if (!sockets.includes(socket)) sockets.push(socket)
      received.push(text.slice(0, text.indexOf(' HTTP/')))
      socket.write(OK)
    }),
  )
  return { backend, sockets, received }
}

const post = (backend: TestBackend, path: string) =>
  get(backend, { method: 'POST', url: backend.url + path, body: '{}' })

/** In a timer: what the peer has sent is read before the end of the turn, in which requests are written. */
function inTimer<T>(run: () => T): Promise<Awaited<T>> {
  return sleep(1).then(
    () =>
      new Promise((resolve, reject) => {
        setTimeout(() => Promise.resolve(run()).then(resolve, reject), 1)
      }),
  ) as Promise<Awaited<T>>
}

async function bodyOf(egress: Egress, request: ReturnType<typeof post>): Promise<string> {
  const response = await egress.request(request)
  return response.kind === 'response' ? textOf(response) : response.reason
}
const textOf = ({ body }: EgressResponse): string => Buffer.from(body).toString()

describe('a request that is not written yet', () => {
  it('does not get bytes that its connection had received before', async () => {
    const { backend, sockets, received } = await peer()
    const egress = client()
    expect(await bodyOf(egress, post(backend, '/1'))).toBe('ok')
    const body = await inTimer(() => {
      sockets[0]!.write(STOLEN)
      return bodyOf(egress, post(backend, '/2'))
    })
    expect(body).toBe('ok')
    expect(received).toEqual(['POST /1', 'POST /2'])
    expect(sockets).toHaveLength(2)
  })

  it('is carried by another connection when the peer ends this one', async () => {
    const { backend, sockets, received } = await peer()
    const egress = client()
    expect(await bodyOf(egress, post(backend, '/1'))).toBe('ok')
    for (const end of [() => sockets.at(-1)!.destroy(), () => sockets.at(-1)!.resetAndDestroy()]) {
      const body = await inTimer(() => {
        end()
        return bodyOf(egress, post(backend, `/${sockets.length + 1}`))
      })
      expect(body).toBe('ok')
    }
    expect(received).toEqual(['POST /1', 'POST /2', 'POST /3'])
  })

  it('fails at the second connection that ends so', async () => {
    const end = (socket: Socket): void => void socket.destroy()
    const backend = keep(await rawBackend(() => {}, end))
    expect(await bodyOf(client(), post(backend, '/1'))).toBe('reset')
    expect(backend.connections()).toBeLessThanOrEqual(2)
  })
})
