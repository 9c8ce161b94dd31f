/** Retries and the circuit breaker against real servers that refuse, hang, break off and come back. */
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, createServer as createSocketServer, type Server as SocketServer } from 'node:net'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { Cancellation } from '../../../src/base/cancellation.ts'
import { createEgress } from '../../../src/net/egress/client.ts'
import type { Egress } from '../../../src/net/egress/egress.ts'
import { type UpstreamRequest, Upstreams } from '../../../src/net/egress/upstreams.ts'
import { freePort } from '../../fixtures/free-ports.ts'

const CIRCUIT = { opensAfter: 3, openMs: 300, maxOpenMs: 600, maxCircuits: 16 }
const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

function keep(egress: Egress): Egress {
  closers.push(() => egress.close())
  return egress
}

async function listen(server: Server | SocketServer, port = 0): Promise<number> {
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  closers.push(() => {
    if ('closeAllConnections' in server) server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

function counted(egress: Egress) {
  const counts = { retries: 0, refused: 0 }
  const upstreams = new Upstreams({
    egress,
    circuit: CIRCUIT,
    onRetry: () => counts.retries++,
    onRefused: () => counts.refused++,
  })
  return { upstreams, counts }
}

function request(port: number, more: Partial<UpstreamRequest> = {}, host = '127.0.0.1'): UpstreamRequest {
  return {
    method: 'GET',
    url: `http://${host}:${port}/x`,
    headers: [],
    timeoutMs: 5_000,
    unread: () => true,
    ...more,
  }
}

/** What came, with a response's body read to its end. */
async function outcome(upstreams: Upstreams, asked: UpstreamRequest): Promise<string> {
  const response = await upstreams.stream(asked)
  if (response.kind === 'circuit_open') return `open ${response.retryAfterSecs}`
  if (response.kind === 'failure') return `${response.reason}${response.sent ? ' after sending' : ''}`
  for await (const _ of response.body);
  return String(response.status)
}

const ok: RequestListener = (_, response) => response.end('ok')

describe('a request that never reached the upstream', () => {
  it.each([
    ['GET', 1],
    ['PUT', 1],
    ['DELETE', 1],
    ['POST', 0],
    ['PATCH', 0],
  ])('of method %s is tried again %i times when the connection is refused', async (method, retries) => {
    const { upstreams, counts } = counted(keep(createEgress({ allow: [], allowLoopback: true })))
    expect(await outcome(upstreams, request(await freePort(), { method }))).toBe('unreachable')
    expect(counts.retries).toBe(retries)
  })

  it('arrives with the second try', async () => {
    const port = await listen(createServer(ok))
    let asked = 0
    const egress = keep(
      createEgress({
        allow: ['up.example'],
        allowLoopback: true,
        resolveHost: (_, done) => {
          asked++
          // an address where no one listens, as while a replica is replaced
          done(null, [{ address: asked === 1 ? '127.0.0.9' : '127.0.0.1', family: 4 }])
        },
      }),
    )
    const { upstreams, counts } = counted(egress)
    expect(await outcome(upstreams, request(port, {}, 'up.example'))).toBe('200')
    expect(counts.retries).toBe(1)
  })

  it('has the rest of its time for the second try, and no second try when its time is over', async () => {
    const port = await listen(createServer(ok))
    let asked = 0
    let lookedUpAtMs = Number.NaN
    const egress = keep(
      createEgress({
        allow: ['up.example'],
        allowLoopback: true,
        resolveHost: (_, done) => {
          asked++
          const address = asked === 1 ? '127.0.0.9' : '127.0.0.1'
          const lookUp = () => {
            lookedUpAtMs = asked === 1 ? performance.now() : lookedUpAtMs
            done(null, [{ address, family: 4 }])
          }
          setTimeout(lookUp, asked === 1 ? 600 : 0)
        },
      }),
    )
    const tries: { readonly atMs: number; readonly timeoutMs: number }[] = []
    const { upstreams, counts } = counted({
      ...egress,
      stream: tried => {
        tries.push({ atMs: performance.now(), timeoutMs: tried.timeoutMs })
        return egress.stream(tried)
      },
    })
    expect(await outcome(upstreams, request(port, { timeoutMs: 615 }, 'up.example'))).toMatch(
      /^(unreachable|timeout)$/,
    )
    expect(counts.retries).toBe(0)
    tries.length = 0
    asked = 0
    const timeoutMs = 30_000
    expect(await outcome(upstreams, request(port, { timeoutMs }, 'up.example'))).toBe('200')
    expect([tries.length, tries[0]!.timeoutMs, counts.retries]).toEqual([2, timeoutMs, 1])
    // the second one has at most what the lookup of the first one left, however busy the machine is
    const tookMs = lookedUpAtMs - tries[0]!.atMs
    expect(tookMs).toBeGreaterThan(590)
    expect(tries[1]!.timeoutMs).toBeLessThanOrEqual(Math.ceil(timeoutMs - tookMs))
  })

  it('is not repeated once its body has been read, nor after its caller has gone', async () => {
    const { upstreams, counts } = counted(keep(createEgress({ allow: [], allowLoopback: true })))
    const port = await freePort()
    await outcome(upstreams, request(port, { method: 'PUT', unread: () => false }))
    const cancellation = new Cancellation()
    const waiting = outcome(upstreams, request(port, { cancellation }))
    setTimeout(() => cancellation.cancel(), 10)
    await waiting
    expect(counts.retries).toBe(0)
  })
})

describe('a request that may have reached the upstream', () => {
  it('is never repeated: the connection closes after it was read', async () => {
    let arrived = 0
    const port = await listen(
      createServer(({ socket }) => {
        arrived++
        socket.destroy()
      }),
    )
    const { upstreams, counts } = counted(keep(createEgress({ allow: [], allowLoopback: true })))
    expect(await outcome(upstreams, request(port))).toBe('reset after sending')
    expect([arrived, counts.retries]).toEqual([1, 0])
  })

  it('is never repeated: half a response, garbage, or none in time', async () => {
    // the last one has to be sent within its time, also on a busy machine
    for (const [says, expected, timeoutMs] of [
      ['HTTP/1.1 200 OK\r\ncontent-le', 'protocol', 20_000],
      ['SSH-2.0-OpenSSH\r\n\r\n', 'protocol', 20_000],
      ['', 'timeout', 2_000],
    ] as const) {
      let arrived = 0
      const port = await listen(
        createSocketServer(socket => {
          socket.on('error', () => {})
          socket.once('data', () => {
            arrived++
            if (says !== '') socket.end(says)
          })
        }),
      )
      const { upstreams, counts } = counted(keep(createEgress({ allow: [], allowLoopback: true })))
      expect(await outcome(upstreams, request(port, { timeoutMs }))).toMatch(
        new RegExp(`^(${expected}|reset) after sending`),
      )
      expect([arrived, counts.retries]).toEqual([1, 0])
    }
  })
})

describe('the circuit of an upstream', () => {
  it('opens when it refuses connections, and closes when it is back', async () => {
    // the circuit stays open until the test says that its time is over
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const { upstreams, counts } = counted(keep(createEgress({ allow: [], allowLoopback: true })))
    const port = await freePort()
    for (let time = 0; time < 3; time++) expect(await outcome(upstreams, request(port))).toBe('unreachable')
    expect(await outcome(upstreams, request(port))).toBe('open 1')
    expect([upstreams.openCircuits, counts.refused]).toEqual([1, 1])
    await listen(createServer(ok), port)
    expect(await outcome(upstreams, request(port))).toBe('open 1')
    vi.advanceTimersByTime(CIRCUIT.openMs)
    expect(await outcome(upstreams, request(port))).toBe('200')
    expect(upstreams.openCircuits).toBe(0)
  })

  it('is one for all paths and queries, also of an address without a path', async () => {
    const { upstreams } = counted(keep(createEgress({ allow: [], allowLoopback: true })))
    const port = await freePort()
    const to = (end: string) => outcome(upstreams, request(port, { url: `http://127.0.0.1:${port}${end}` }))
    for (const end of ['?id=1', '?id=2/orders', '/x?id=3']) expect(await to(end)).toBe('unreachable')
    expect(await to('?id=4')).toBe('open 1')
    expect(upstreams.openCircuits).toBe(1)
  })

  it('opens when it hangs, and sends one of twenty calls as its probe', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    let arrived = 0
    const port = await listen(createServer(() => arrived++))
    const { upstreams } = counted(keep(createEgress({ allow: [], allowLoopback: true })))
    // calls have to be sent within their time, also on a busy machine
    const slow = request(port, { timeoutMs: 1_500 })
    const timedOut = await Promise.all(Array.from({ length: 3 }, () => outcome(upstreams, slow)))
    expect(timedOut).toEqual(Array(3).fill('timeout after sending'))
    vi.advanceTimersByTime(CIRCUIT.openMs)
    arrived = 0
    const answers = await Promise.all(Array.from({ length: 20 }, () => outcome(upstreams, slow)))
    expect(arrived).toBe(1)
    expect(answers.filter(response => response.startsWith('timeout'))).toHaveLength(1)
    expect(answers.filter(response => response.startsWith('open'))).toHaveLength(19)
  })

  it('stays closed for errors that are responses, and for callers that disconnected', async () => {
    const port = await listen(
      createServer((asked, response) => {
        if (asked.url === '/x') response.writeHead(503).end()
      }),
    )
    const { upstreams } = counted(keep(createEgress({ allow: [], allowLoopback: true })))
    for (let time = 0; time < 5; time++) expect(await outcome(upstreams, request(port))).toBe('503')
    for (let time = 0; time < 5; time++) {
      const cancellation = new Cancellation()
      const waiting = outcome(
        upstreams,
        request(port, { url: `http://127.0.0.1:${port}/hang`, cancellation }),
      )
      setTimeout(() => cancellation.cancel(), 20)
      expect(await waiting).toContain('cancelled')
    }
    expect(upstreams.openCircuits).toBe(0)
  })

  it('stays closed when our own pool is what is full', async () => {
    const port = await listen(createServer(() => {}))
    const egress = keep(
      createEgress({
        allow: [],
        allowLoopback: true,
        maxConnectionsPerOrigin: 1,
        maxWaitingPerOrigin: 0,
      }),
    )
    const { upstreams, counts } = counted(egress)
    const cancellation = new Cancellation()
    const first = outcome(upstreams, request(port, { cancellation }))
    for (let time = 0; time < 5; time++) expect(await outcome(upstreams, request(port))).toBe('unreachable')
    expect([upstreams.openCircuits, counts.retries]).toEqual([0, 0])
    cancellation.cancel()
    await first
  })
})
