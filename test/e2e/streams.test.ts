/** Sessions and streams with SSE_LIMITER_ENABLED=false: what is counted, that a client that does not read is shed, and that no stream limit applies. */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy, post, read, rpc } from '../fixtures/deployment.ts'
import { EventReader } from '../fixtures/event-stream.ts'
import { openStream } from '../fixtures/open-streams.ts'

let gateway: Deployment
let admin: string
beforeAll(async () => {
  gateway = await deploy({
    TEST_HOOKS: '1',
    SSE_LIMITER_ENABLED: 'false',
    MAX_PER_IP: '1',
    MAX_TOTAL: '1',
    RATE_LIMIT_PER_MIN: '1',
    MAX_DURATION: '1s',
  })
  admin = await gateway.token('demo-admin')
})
afterAll(() => gateway?.stop())

/** A response this large goes out on the stream for each ping. */
const ID_CHARACTERS = 200_000

const advance = (by: string) => post(`${gateway.running.addresses.api_url}/test/clock`, { advance: by })

const ping = (address: string, id: string) =>
  gateway.post(address, { jsonrpc: '2.0', id, method: 'ping' }, admin)

/** Opens an HTTP+SSE stream, takes the address it names, and reads nothing more. */
function openWithoutReading(): Promise<{ socket: Socket; address: string }> {
  const { hostname, port, host } = new URL(gateway.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.write(
    `GET /mcp/sse HTTP/1.1\r\nhost: ${host}\r\naccept: text/event-stream\r\nauthorization: Bearer ${admin}\r\n\r\n`,
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

it.each(['/mcp', '/mcp/sse'])('HEAD %s opens no stream', async path => {
  const headers = { authorization: `Bearer ${admin}`, accept: 'text/event-stream' }
  const response = await fetch(gateway.url + path, { method: 'HEAD', headers })
  expect([response.status, response.headers.get('allow')]).toEqual([405, expect.any(String)])
})

describe('GET /admin/sessions/stats', () => {
  const statistics = async (token = admin) =>
    read(
      await fetch(`${gateway.url}/admin/sessions/stats`, { headers: { authorization: `Bearer ${token}` } }),
    )

  async function open(): Promise<string> {
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    }
    return (await gateway.post('/mcp', rpc('initialize', params), admin)).headers.get('mcp-session-id')!
  }

  const use = async (session: string) =>
    (await gateway.post('/mcp', rpc('ping'), admin, { 'mcp-session-id': session })).status

  it('counts sessions, zombies after 10 of 30 minutes, and removes them after 30', async () => {
    expect((await statistics()).json).toEqual({ active_sessions: 0, zombie_sessions: 0, total_created: 0 })
    const [used, streaming, idle] = [await open(), await open(), await open()]
    const stream = await openStream(gateway.url, {
      authorization: `Bearer ${admin}`,
      'mcp-session-id': streaming,
    })
    expect(stream.status).toBe(200)
    expect((await statistics()).json).toEqual({ active_sessions: 3, zombie_sessions: 0, total_created: 3 })

    await advance('9m')
    expect((await statistics()).json).toMatchObject({ zombie_sessions: 0 })
    expect(await use(used)).toBe(200)
    await advance('2m')
    expect((await statistics()).json).toEqual({ active_sessions: 3, zombie_sessions: 1, total_created: 3 })

    await advance('20m')
    expect(await use(idle)).toBe(404)
    expect(await use(used)).toBe(200)
    expect(await use(streaming)).toBe(200)
    expect((await statistics()).json).toEqual({ active_sessions: 2, zombie_sessions: 0, total_created: 3 })

    await stream.close()
    const ended = await fetch(`${gateway.url}/mcp`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${admin}`, 'mcp-session-id': used },
    })
    expect(ended.status).toBe(200)
    expect((await statistics()).json).toEqual({ active_sessions: 1, zombie_sessions: 0, total_created: 3 })
  })

  it('is for admins', async () => {
    expect((await statistics(await gateway.token('demo-agent'))).status).toBe(403)
    expect((await fetch(`${gateway.url}/admin/sessions/stats`)).status).toBe(401)
  })
})

describe('a client that opens a stream and never reads', () => {
  it('sheds a client that does not read, and counts it', async () => {
    const reader = new EventReader(
      await fetch(`${gateway.url}/mcp/sse`, {
        headers: { authorization: `Bearer ${admin}`, accept: 'text/event-stream' },
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
})

describe('SSE_LIMITER_ENABLED=false', () => {
  it('lets no row count, whatever it is set to', async () => {
    const token = await gateway.token('demo-admin')
    const streams = []
    for (let at = 0; at < 12; at++)
      streams.push(await openStream(gateway.url, { authorization: `Bearer ${token}` }))
    for (const stream of streams) expect(stream.status).toBe(200)
    await advance('50m')
    await sleep(2500)
    expect(await counted('platform_streams')).toBe(12)
    await Promise.all(streams.map(stream => stream.close()))
  })
})
