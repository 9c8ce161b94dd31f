/** The check of connections whose query takes long, at a server that refuses the connection of the check or never responds to it. */

import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import type pg from 'pg'
import { expect, it, onTestFinished, vi } from 'vitest'
import { SilentConnections } from '../../../../../src/control-plane/store/postgres/silent-connections.ts'

/** A query that was not ended by the first two of these is not ended by the next. */
const CHECKS = 3

/** `ErrorResponse` of the protocol of PostgreSQL. */
function errorResponse(code: string, message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`)
  const head = Buffer.alloc(5)
  head.write('E')
  head.writeInt32BE(fields.length + 4, 1)
  return Buffer.concat([head, fields])
}

/** @returns whether a query in progress was ended */
async function endsQuery(onConnection: (socket: Socket) => void): Promise<boolean> {
  let asked = 0
  const server = createServer(socket => {
    asked++
    socket.on('error', () => {})
    onConnection(socket)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const checks = new SilentConnections({
    host: '127.0.0.1',
    port,
    user: 'test',
    database: 'test',
    ssl: false,
  })
  onTestFinished(() => checks.close())
  let isEnded = false
  const client = {
    processID: 7,
    end: async () => {
      isEnded = true
    },
  } as unknown as pg.PoolClient
  checks.handleOpen(client)
  // the next check begins when the one before is over
  await checks.watch(client, () =>
    vi.waitUntil(() => isEnded || asked >= CHECKS, { timeout: 40_000, interval: 20 }),
  )
  expect(asked).toBeGreaterThan(0)
  return isEnded
}

it('a server that refuses the connection of the check ends no query: it has responded', async () => {
  const refused = errorResponse('53300', 'sorry, too many clients already')
  expect(await endsQuery(socket => socket.once('data', () => socket.end(refused)))).toBe(false)
})

it('a server that responds to no connection ends the query', async () => {
  expect(await endsQuery(() => {})).toBe(true)
})
