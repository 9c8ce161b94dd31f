/** A client that opens a stream and never reads: it is shed and counted, what is kept for it is bounded, and others notice nothing. */
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { EventReader } from '../fixtures/event-stream.ts'

/** An answer this large goes out on the stream for each ping. */
const ID_CHARACTERS = 200_000

let gateway: Deployment
let token: string
beforeAll(async () => {
  gateway = await deploy({ SSE_LIMITER_ENABLED: 'false' })
  token = await gateway.token('demo-admin')
})
afterAll(() => gateway?.stop())

const ping = (address: string, id: string) =>
  gateway.post(address, { jsonrpc: '2.0', id, method: 'ping' }, token)

/** Opens an HTTP+SSE stream, takes the address it tells, and reads nothing more. */
function openWithoutReading(): Promise<{ socket: Socket; address: string }> {
  const { hostname, port, host } = new URL(gateway.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.write(
    `GET /mcp/sse HTTP/1.1\r\nhost: ${host}\r\naccept: text/event-stream\r\nauthorization: Bearer ${token}\r\n\r\n`,
  )
  return new Promise(resolve => {
    let text = ''
    socket.on('data', function opening(chunk: Buffer) {
      text += chunk.toString('latin1')
      const address = /data: (\S+sessionId=\S+)\n\n/.exec(text)?.[1]
      if (address === undefined) return
      socket.off('data', opening)
      socket.pause()
      resolve({ socket, address })
    })
  })
}

async function counted(name: string): Promise<number> {
  const text = await (await fetch(`${gateway.running.addresses.metrics_url}/metrics`)).text()
  return Number(
    text
      .split('\n')
      .find(row => row.startsWith(`${name} `))
      ?.split(' ')[1] ?? 0,
  )
}

it('sheds a client that does not read, and counts it', async () => {
  const reader = new EventReader(
    await fetch(`${gateway.url}/mcp/sse`, {
      headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
    }),
  )
  const own = (await reader.message())!.data
  const { socket, address } = await openWithoutReading()

  let sent = 0
  const shed = async () => (await counted('platform_streams_ended_total{reason="slow_reader"}')) === 1
  // what the system itself buffers comes first: some megabytes on both sides
  while (!(await shed())) {
    expect(sent).toBeLessThan(200)
    for (let burst = 0; burst < 5; burst++) {
      sent++
      const { status } = await ping(address, `${sent}`.padEnd(ID_CHARACTERS, '.'))
      if (status === 404) break
      expect(status).toBe(202)
    }
  }
  expect(await counted('platform_connections_refused_total{reason="slow_reader"}')).toBe(1)
  // a session of a stream ends with it
  expect((await ping(address, 'late')).status).toBe(404)

  expect((await ping(own, 'mine')).status).toBe(202)
  expect(await reader.json()).toMatchObject({ id: 'mine', result: {} })
  expect(await counted('platform_streams')).toBe(1)
  await reader.close()
  socket.destroy()
}, 60_000)
