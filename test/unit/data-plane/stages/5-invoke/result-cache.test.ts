/** Which calls share a result and which never do; cancellation of shared calls, the size of the cache, and clearing it. */
import { describe, expect, it } from 'vitest'
import { Cancellation } from '../../../../../src/base/cancellation.ts'
import type { Exchange } from '../../../../../src/data-plane/pipeline/exchange.ts'
import type { Outcome } from '../../../../../src/data-plane/pipeline/outcome.ts'
import { ResultCache } from '../../../../../src/data-plane/stages/5-invoke/result-cache.ts'
import { refuse } from '../../../../../src/model/refusal.ts'
import { aPrincipal, aSnapshot, aTool, compiled, exchange } from '../../../../fixtures/exchange.ts'

const SNAPSHOT = aSnapshot()
const CACHED = aTool({
  cache: { ttlMs: 1000 },
  inputSchema: {
    type: 'object',
    properties: { id: { type: 'number' }, size: { type: 'number', default: 10 } },
  },
})

function call(
  args: Record<string, unknown>,
  fields: { tool?: typeof CACHED; scopes?: string[]; atMs?: number; cancellation?: Cancellation } = {},
): Exchange {
  const x = exchange({
    snapshot: SNAPSHOT,
    operation: { action: 'tools.call', tool: 'get_order', arguments: args },
    receivedAtMs: fields.atMs ?? 0,
    cancellation: fields.cancellation ?? new Cancellation(),
  })
  x.principal = aPrincipal(fields.scopes === undefined ? {} : { scopes: fields.scopes })
  x.tenant = 'acme'
  x.tool = compiled(fields.tool ?? CACHED)
  return x
}

function backend(
  outcome: (count: number) => Outcome = n => ({
    kind: 'reply',
    result: { content: [{ type: 'text', text: `result ${n}` }], isError: false },
  }),
) {
  const seen = { calls: 0 }
  return {
    seen,
    call: async () => {
      seen.calls++
      const n = seen.calls
      await new Promise(resolve => setImmediate(resolve))
      return outcome(n)
    },
  }
}

describe('the result cache', () => {
  it('calls the backend once for equivalent calls: key order, number form and defaults do not matter', async () => {
    const cache = new ResultCache()
    const { seen, call: ask } = backend()
    for (const args of [{ id: 1, size: 10 }, { size: 10, id: 1.0 }, { id: 1 }]) {
      expect(await cache.respond(call(args), ask)).toMatchObject({
        result: { content: [{ text: 'result 1' }] },
      })
    }
    expect(seen.calls).toBe(1)
    expect(cache.counts).toEqual({ hits: 2, misses: 1 })
  })

  it('calls the backend again for other arguments, another class of callers, and after the TTL', async () => {
    const cache = new ResultCache()
    const { seen, call: ask } = backend()
    await cache.respond(call({ id: 1 }), ask)
    await cache.respond(call({ id: 2 }), ask)
    await cache.respond(call({ id: 1 }, { scopes: ['read'] }), ask)
    await cache.respond(call({ id: 1 }, { atMs: 1001 }), ask)
    expect(seen.calls).toBe(4)
  })

  it('shares one backend call among concurrent callers', async () => {
    const cache = new ResultCache()
    const { seen, call: ask } = backend()
    const all = await Promise.all(Array.from({ length: 20 }, () => cache.respond(call({ id: 1 }), ask)))
    expect(seen.calls).toBe(1)
    expect(new Set(all.map(outcome => JSON.stringify(outcome))).size).toBe(1)
  })

  it('never serves a tool that did not opt in or that is not read-only', async () => {
    for (const tool of [
      aTool(),
      aTool({ cache: { ttlMs: 1000 }, annotations: { ...CACHED.annotations, readOnlyHint: false } }),
    ]) {
      const { seen, call: ask } = backend()
      const cache = new ResultCache()
      await cache.respond(call({ id: 1 }, { tool }), ask)
      await cache.respond(call({ id: 1 }, { tool }), ask)
      expect(seen.calls).toBe(2)
    }
  })

  it('caches no failure and no refusal', async () => {
    const cache = new ResultCache()
    const { seen, call: ask } = backend(n =>
      n === 1
        ? { kind: 'reply', failure: 'backend_timeout', result: { content: [], isError: true } }
        : refuse('cancelled'),
    )
    await cache.respond(call({ id: 1 }), ask)
    await cache.respond(call({ id: 1 }), ask)
    await cache.respond(call({ id: 1 }), ask)
    expect(seen.calls).toBe(3)
  })

  it('cancels the shared call only when all callers have cancelled', async () => {
    const cache = new ResultCache()
    let cancelled = 0
    const ask = (_: Exchange, cancellation: Cancellation) =>
      new Promise<Outcome>(resolve => {
        cancellation.onCancel(() => {
          cancelled++
          resolve(refuse('cancelled'))
        })
      })
    const [one, two] = [new Cancellation(), new Cancellation()]
    const both = [
      cache.respond(call({ id: 1 }, { cancellation: one }), ask),
      cache.respond(call({ id: 1 }, { cancellation: two }), ask),
    ]
    one.cancel()
    expect(cancelled).toBe(0)
    two.cancel()
    expect(cancelled).toBe(1)
    await Promise.all(both)
  })

  it('counts the bytes of a result once when a cancelled call and the next one both end', async () => {
    const cache = new ResultCache()
    const text = 'x'.repeat(1_000_000)
    const reply: Outcome = { kind: 'reply', result: { content: [{ type: 'text', text }], isError: false } }
    // a backend that cannot be stopped
    const ends: (() => void)[] = []
    const ask = () => new Promise<Outcome>(resolve => ends.push(() => resolve(reply)))
    for (let id = 0; id < 15; id++) {
      const cancellation = new Cancellation()
      const both = [cache.respond(call({ id }, { cancellation }), ask)]
      cancellation.cancel()
      both.push(cache.respond(call({ id }), ask))
      for (const end of ends.splice(0)) end()
      await Promise.all(both)
    }
    for (let id = 15; id < 30; id++) await cache.respond(call({ id }), async () => reply)
    // 30 results of 2 MB fit into 64 MB
    expect(cache.size).toBe(30)
  })

  it('returns how many entries it evicted', async () => {
    const cache = new ResultCache()
    const { call: ask } = backend()
    await cache.respond(call({ id: 1 }), ask)
    await cache.respond(call({ id: 2 }), ask)
    expect(cache.clear()).toBe(2)
    expect(cache.clear()).toBe(0)
  })

  it('does not cache a result whose call began before the cache was cleared', async () => {
    const cache = new ResultCache()
    const { seen, call: ask } = backend()
    const first = cache.respond(call({ id: 1 }), ask)
    cache.clear()
    expect(await first).toMatchObject({ result: { content: [{ text: 'result 1' }] } })
    expect(cache.size).toBe(0)
    expect(await cache.respond(call({ id: 1 }), ask)).toMatchObject({
      result: { content: [{ text: 'result 2' }] },
    })
    expect([seen.calls, cache.size]).toEqual([2, 1])
  })

  it('lets no call join one that began before the cache was cleared', async () => {
    const cache = new ResultCache()
    const { seen, call: ask } = backend()
    const before = [cache.respond(call({ id: 1 }), ask), cache.respond(call({ id: 1 }), ask)]
    cache.clear()
    const after = [cache.respond(call({ id: 1 }), ask), cache.respond(call({ id: 1 }), ask)]
    const texts = (await Promise.all([...before, ...after])).map(outcome =>
      outcome?.kind === 'reply' ? outcome.result.content : undefined,
    )
    expect(texts).toMatchObject(['result 1', 'result 1', 'result 2', 'result 2'].map(text => [{ text }]))
    expect(seen.calls).toBe(2)
  })

  it('cancels a call that began before the clear when its callers are gone, and no other', async () => {
    const cache = new ResultCache()
    const cancelled: string[] = []
    const ask = (x: Exchange, cancellation: Cancellation) =>
      new Promise<Outcome>(resolve => {
        cancellation.onCancel(() => {
          cancelled.push(x.requestId)
          resolve(refuse('cancelled'))
        })
      })
    const [one, two] = [new Cancellation(), new Cancellation()]
    const first = cache.respond(call({ id: 1 }, { cancellation: one }), ask)
    cache.clear()
    const second = cache.respond(call({ id: 1 }, { cancellation: two }), ask)
    one.cancel()
    await first
    expect(cancelled).toHaveLength(1)
    two.cancel()
    await second
    expect(cancelled).toHaveLength(2)
  })
})
