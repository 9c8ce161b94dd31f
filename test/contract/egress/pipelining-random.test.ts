/** Thousands of calls in lines to a server with random delays, lengths and closed connections: no call may get the response to another one. */
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { Cancellation } from '../../../src/shared/call/cancellation.ts'
import { createEgress } from '../../../src/shared/egress/client.ts'
import { httpBackend } from './backend.ts'
import { keep } from './carriers.ts'

const CALLS = 10_000
const CONCURRENT = 64
const METHODS = ['GET', 'GET', 'GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'POST'] as const

/** Numbers from 0 to 1, the same for each seed. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

it.each([
  [1, 0, 0],
  [2, 0.02, 0],
  [3, 0.02, 0.02],
])(
  'seed %i: Connection: close in %d, broken connections in %d of the calls',
  async (seed, closing, breaking) => {
    const random = randomOf(seed)
    const executed = new Map<string, number>()
    const inFlight = new Map<Socket, number>()
    let shared = 0
    const backend = keep(
      await httpBackend((request, response) => {
        const id = String(request.headers['x-id'])
        executed.set(id, (executed.get(id) ?? 0) + 1)
        const { socket } = request
        const others = inFlight.get(socket) ?? 0
        inFlight.set(socket, others + 1)
        response.on('close', () => inFlight.set(socket, inFlight.get(socket)! - 1))
        if (others > 0) shared++
        const chunks: Buffer[] = []
        request.on('data', chunk => chunks.push(chunk))
        request.on('end', async () => {
          const [delay, end, length, form] = [random(), random(), random(), random()]
          if (delay < 0.3) await sleep(delay * 10)
          if (end < breaking / 2) return void request.socket.destroy()
          if (end > 1 - closing) response.setHeader('connection', 'close')
          const body = `${request.method} ${request.url} ${Buffer.concat(chunks)} ${'x'.repeat(length * 3000)}`
          response.setHeader('x-id', id)
          if (form < 0.5) response.setHeader('content-length', body.length)
          response.write(body.slice(0, body.length >> 1))
          if (end < breaking) return void request.socket.destroy()
          response.end(body.slice(body.length >> 1))
        })
      }),
    )
    const egress = keep(createEgress({ allow: [], allowLoopback: true }))
    const outcomes = new Map<string, number>()
    let next = 0
    async function call(): Promise<void> {
      while (next < CALLS) {
        const id = next++
        const method = METHODS[id % METHODS.length]!
        const hasBody = method === 'PUT' || method === 'POST'
        const cancellation = new Cancellation()
        if (id % 97 === 0) setTimeout(() => cancellation.cancel(), 1)
        const response = await egress.request({
          method,
          url: `${backend.url}/${id}`,
          headers: ['x-id', `${id}`],
          ...(hasBody ? { body: `body-${id}` } : {}),
          timeoutMs: 20_000,
          maxResponseBytes: 1 << 20,
          cancellation,
          transport: { pipelining: 2 + (id % 3) * 3 },
        })
        const outcome = response.kind === 'response' ? 'response' : response.reason
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
        if (response.kind !== 'response') continue
        const start = method === 'HEAD' ? '' : `${method} /${id} ${hasBody ? `body-${id}` : ''} `
        expect(Buffer.from(response.body).toString().startsWith(start)).toBe(true)
        expect(response.headers.get('x-id')).toBe(`${id}`)
      }
    }
    await Promise.all(Array.from({ length: CONCURRENT }, call))

    expect(shared).toBeGreaterThan(0)
    const count = (outcome: string): number => outcomes.get(outcome) ?? 0
    expect(count('cancelled')).toBeLessThanOrEqual(Math.ceil(CALLS / 97))
    // a broken connection fails the response that had begun; others, and those that were retried already, rarely
    expect(count('reset') + count('truncated')).toBeLessThanOrEqual(CALLS * breaking * 1.5)
    expect(count('response') + count('cancelled') + count('reset') + count('truncated')).toBe(CALLS)
    for (const [id, times] of executed)
      expect(times).toBeLessThanOrEqual(METHODS[Number(id) % 8] === 'POST' ? 1 : 2)
  },
  120_000,
)
