/** Pipelining and HTTP/2 over Unix sockets: the same as over TCP, behind the same list of sockets. */

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import type { Server, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { UpstreamTransport } from '../../../src/model/upstream-transport.ts'
import { createEgress } from '../../../src/shared/egress/client.ts'
import { keep } from './carriers.ts'

const inFlight = new Map<object, number>()

it.each<[string, UpstreamTransport, () => Server]>([
  [
    'pipelining',
    { pipelining: 4 },
    () =>
      createServer((request, response) => {
        inFlight.set(request.socket, (inFlight.get(request.socket) ?? 0) + 1)
        setTimeout(() => response.end(request.url), 10)
      }),
  ],
  [
    'HTTP/2',
    { http2: true },
    () =>
      createHttp2Server((request, response) => {
        inFlight.set(request.stream.session!, (inFlight.get(request.stream.session!) ?? 0) + 1)
        setTimeout(() => response.end(request.url), 10)
      }) as unknown as Server,
  ],
])('%s', async (_, transport, serve) => {
  inFlight.clear()
  const folder = mkdtempSync(join(tmpdir(), 'unix-'))
  const path = join(folder, 's.sock')
  const server = serve()
  const sockets = new Set<Socket>()
  server.on('connection', socket => sockets.add(socket))
  await new Promise<void>(resolve => server.listen(path, resolve))
  keep({
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      rmSync(folder, { recursive: true })
    },
  })
  const call = async (allow: readonly string[], page: number) => {
    const egress =
      egresses.get(allow) ??
      keep(createEgress({ allow: [...allow], allowLoopback: false, unixSockets: true }))
    egresses.set(allow, egress)
    const response = await egress.request({
      method: 'GET',
      url: `http+unix://${encodeURIComponent(path)}/${page}`,
      headers: [],
      timeoutMs: 5000,
      maxResponseBytes: 1000,
      transport,
    })
    return response.kind === 'response' ? Buffer.from(response.body).toString() : response.reason
  }
  const egresses = new Map<readonly string[], ReturnType<typeof createEgress>>()
  const pages = Array.from({ length: 16 }, (_, page) => page)
  const allowed = [`unix:${path}`]
  expect(await Promise.all(pages.map(page => call(allowed, page)))).toEqual(pages.map(page => `/${page}`))
  expect(sockets.size).toBeLessThanOrEqual(4)
  expect(Math.max(...inFlight.values())).toBeGreaterThan(1)
  const before = sockets.size
  expect(await call([], 1)).toBe('blocked_address')
  expect(sockets.size).toBe(before)
})
