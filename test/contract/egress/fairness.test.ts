/** Parties that call one origin: connections that others find while one of them has all it may, turns of calls that wait, and the end of a wait. */
import type { ServerResponse } from 'node:http'
import { expect, it, vi } from 'vitest'
import { Cancellation } from '../../../src/base/cancellation.ts'
import { httpBackend } from './backend.ts'
import { client, get, keep, overBoth } from './carriers.ts'

const of = (owner: string, part = '') => ({ party: { owner, part } })

/** A backend that responds when the test says so. */
async function heldBackend() {
  const held: { readonly path: string; readonly response: ServerResponse }[] = []
  const order: string[] = []
  const backend = keep(
    await httpBackend(({ url }, response) => {
      order.push(url!)
      held.push({ path: url!, response })
    }),
  )
  return {
    backend,
    order,
    get: (path: string, more: object) => ({ ...get(backend, more), url: `${backend.url}${path}` }),
    releaseOne: () => held.shift()?.response.end('ok'),
    releaseAll: () => {
      for (const { response } of held.splice(0)) response.end('ok')
    },
    running: () => held.length,
  }
}

overBoth('parties', () => {
  it('find a connection while another one has all it may', async () => {
    const { get: to, order, running, releaseAll } = await heldBackend()
    const egress = client({ maxConnectionsPerOrigin: 64, maxWaitingPerOrigin: 1_000, maxWaitMs: 20_000 })
    const cancellation = new Cancellation()
    const flood = Array.from({ length: 300 }, () => egress.request(to('/a', { cancellation, ...of('a') })))
    await vi.waitUntil(() => running() >= 60, 5_000)
    expect(running()).toBeLessThanOrEqual(64)
    const others = ['b', 'c'].map(owner => egress.request(to(`/${owner}`, of(owner))))
    await vi.waitUntil(() => order.includes('/b') && order.includes('/c'), 2_000)
    // the same holds for two consumers of the tenant
    const consumer = egress.request(to('/consumer', of('a', 'other')))
    await vi.waitUntil(() => order.includes('/consumer'), 2_000)
    releaseAll()
    expect((await Promise.all([...others, consumer])).map(({ kind }) => kind)).toEqual(
      new Array(3).fill('response'),
    )
    cancellation.cancel()
    await Promise.all(flood)
  })

  it('take turns where calls wait', async () => {
    const { get: to, order, running, releaseOne } = await heldBackend()
    const egress = client({ maxConnectionsPerOrigin: 1, maxWaitMs: 20_000 })
    const calls = ['/a1', '/a2', '/a3', '/a4'].map(path => egress.request(to(path, of('a'))))
    calls.push(egress.request(to('/b1', of('b'))))
    calls.push(egress.request(to('/a5', of('a', 'other'))))
    for (let ended = 0; ended < calls.length; ended++) {
      await vi.waitUntil(() => running() === 1, 5_000)
      releaseOne()
    }
    expect((await Promise.all(calls)).every(({ kind }) => kind === 'response')).toBe(true)
    expect(order).toEqual(['/a1', '/a2', '/b1', '/a5', '/a3', '/a4'])
  })

  it('leave places in the queue for others', async () => {
    const { get: to, releaseAll, running } = await heldBackend()
    const egress = client({ maxConnectionsPerOrigin: 1, maxWaitingPerOrigin: 90, maxWaitMs: 20_000 })
    const cancellation = new Cancellation()
    const flood = Array.from({ length: 200 }, () => egress.request(to('/a', { cancellation, ...of('a') })))
    const other = Promise.resolve(egress.request(to('/b', of('b'))))
    const early = await Promise.race([other, new Promise(resolve => setTimeout(resolve, 50, 'waits'))])
    expect(early).toBe('waits')
    await vi.waitUntil(() => running() === 1, 5_000)
    cancellation.cancel()
    releaseAll()
    const ended = await Promise.all(flood)
    const refused = ended.filter(end => end.kind === 'failure' && end.saturated === true)
    expect(refused.length).toBeGreaterThan(110)
    await vi.waitUntil(() => running() === 1, 5_000)
    releaseAll()
    expect(await other).toMatchObject({ kind: 'response' })
  })
})

overBoth('a call that waits', () => {
  it.each([
    ['for as long as it may', {}, 100],
    ['until its own time-out', { timeoutMs: 100 }, 20_000],
  ])('%s ends without being sent, and says nothing about the peer', async (_, more, maxWaitMs) => {
    const { get: to, order, releaseAll } = await heldBackend()
    const egress = client({ maxConnectionsPerOrigin: 1, maxWaitMs })
    const first = egress.request(to('/first', of('a')))
    const startedAt = performance.now()
    expect(await egress.request(to('/second', { ...of('b'), ...more }))).toMatchObject({
      kind: 'failure',
      reason: 'unreachable',
      sent: false,
      saturated: true,
    })
    expect(performance.now() - startedAt).toBeLessThan(5_000)
    releaseAll()
    expect(await first).toMatchObject({ kind: 'response' })
    const third = egress.request(to('/third', of('b')))
    await vi.waitUntil(() => order.includes('/third'), 5_000)
    releaseAll()
    expect(await third).toMatchObject({ kind: 'response' })
    expect(order).toEqual(['/first', '/third'])
  })
})

/** A backend that serves 4 calls at once, 10 ms each; the others wait there. */
async function fourAtOnce() {
  const waiting: ServerResponse[] = []
  let [serving, atOnce] = [0, 0]
  const serveNext = (): void => {
    const response = serving < 4 ? waiting.shift() : undefined
    if (response === undefined) return
    serving++
    setTimeout(() => {
      serving--
      response.end('ok')
      serveNext()
    }, 10)
  }
  const backend = keep(
    await httpBackend((_, response) => {
      waiting.push(response)
      atOnce = Math.max(atOnce, waiting.length + serving)
      serveNext()
    }),
  )
  const takeAtOnce = (): number => {
    const taken = atOnce
    atOnce = 0
    return taken
  }
  return { backend, takeAtOnce }
}

overBoth('an adaptive limit', () => {
  it('keeps the calls that an overloaded backend cannot serve yet here, and serves as many', {
    timeout: 60_000,
  }, async () => {
    const { backend, takeAtOnce } = await fourAtOnce()
    const egress = client({ isAdaptive: true, maxWaitMs: 60_000, maxWaitingPerOrigin: 20_000 })
    const send = async (count: number, owner: string): Promise<void> => {
      const calls = Array.from({ length: count }, () =>
        egress.request(get(backend, { timeoutMs: 60_000, ...of(owner) })),
      )
      for (const { kind } of await Promise.all(calls)) expect(kind).toBe('response')
    }
    for (let round = 0; round < 80; round++) await send(4, 'a')
    expect(takeAtOnce()).toBeLessThanOrEqual(5)
    const flood = send(4_000, 'a')
    await vi.waitUntil(() => takeAtOnce() > 100, 5_000)
    await vi.waitUntil(() => takeAtOnce() < 40, { timeout: 20_000, interval: 1_000 })
    // the turn of another party comes while 4,000 calls wait
    const startedAt = performance.now()
    await send(1, 'b')
    expect(performance.now() - startedAt).toBeLessThan(2_000)
    await flood
  })
})
