/** HTTP/2 over Unix sockets: the same as over TCP, behind the same list of sockets. */

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer as createHttp2Server } from 'node:http2'
import type { Server, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createEgress } from '../../../src/net/egress/client.ts'
import { keep } from './carriers.ts'

/** Requests of each connection that have no response yet. */
const inFlight = new Map<object, number>()
let maxInFlight = 0
let held: (() => void)[] = []

/** Responds when one connection has two requests in flight, and at once from then on. */
function serveTogether(connection: object, respond: () => void): void {
  const count = (inFlight.get(connection) ?? 0) + 1
  inFlight.set(connection, count)
  maxInFlight = Math.max(maxInFlight, count)
  held.push(() => {
    inFlight.set(connection, inFlight.get(connection)! - 1)
    respond()
  })
  if (maxInFlight > 1) for (const release of held.splice(0)) release()
}

it('HTTP/2', async () => {
  inFlight.clear()
  maxInFlight = 0
  held = []
  const folder = mkdtempSync(join(tmpdir(), 'unix-'))
  const path = join(folder, 's.sock')
  const server = createHttp2Server((request, response) =>
    serveTogether(request.stream.session!, () => void response.end(request.url)),
  ) as unknown as Server
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
      transport: { http2: true },
    })
    return response.kind === 'response' ? Buffer.from(response.body).toString() : response.reason
  }
  const egresses = new Map<readonly string[], ReturnType<typeof createEgress>>()
  const pages = Array.from({ length: 16 }, (_, page) => page)
  const allowed = [`unix:${path}`]
  expect(await Promise.all(pages.map(page => call(allowed, page)))).toEqual(pages.map(page => `/${page}`))
  expect(sockets.size).toBeLessThanOrEqual(4)
  expect(maxInFlight).toBeGreaterThan(1)
  const before = sockets.size
  expect(await call([], 1)).toBe('blocked_address')
  expect(sockets.size).toBe(before)
})
