/** Each limit of docs/reference/http.md, SSE connection limits, at its border. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  StreamLimiter,
  type StreamLimiterOptions,
} from '../../../../../src/data-plane/http/mcp/stream-limiter.ts'

const SPECIFIED: StreamLimiterOptions = {
  enabled: true,
  maxPerIp: 10,
  maxPerTenant: 100,
  maxTotal: 5000,
  newPerMinutePerIp: 5,
}

/** Opens streams without an end. */
class Opener {
  readonly #limit: StreamLimiter
  constructor(limit: StreamLimiter) {
    this.#limit = limit
  }
  open(ip: string, tenant: string | undefined, nowMs: number, consumer = 'app', evict = () => {}) {
    const party = { owner: tenant ?? '', part: consumer }
    return this.#limit.open({ ip, party, nowMs, isConnection: true }, evict)
  }
}

function limiter(change: Partial<StreamLimiterOptions> = {}): Opener {
  return new Opener(new StreamLimiter({ ...SPECIFIED, ...change }))
}

describe('the stream limiter', () => {
  it('opens 10 streams per address and refuses the 11th, until one closes', () => {
    const limit = limiter({ newPerMinutePerIp: 1000 })
    const opened = Array.from({ length: 10 }, () => limit.open('1.1.1.1', undefined, 0))
    expect(opened.every(place => typeof place === 'function')).toBe(true)
    expect(limit.open('1.1.1.1', undefined, 0)).toBe('ip')
    expect(limit.open('1.1.1.2', undefined, 0)).toBeTypeOf('function')
    const release = opened[0] as () => void
    release()
    release() // giving back twice frees one place only
    expect(limit.open('1.1.1.1', undefined, 0)).toBeTypeOf('function')
    expect(limit.open('1.1.1.1', undefined, 0)).toBe('ip')
  })

  it('opens 100 streams per tenant and refuses the 101st', () => {
    const limit = limiter()
    for (let at = 0; at < 100; at++) expect(limit.open(`10.0.0.${at}`, 'acme', 0)).toBeTypeOf('function')
    expect(limit.open('10.0.1.1', 'acme', 0)).toBe('tenant')
    expect(limit.open('10.0.1.1', 'other', 0)).toBeTypeOf('function')
  })

  it('opens 5000 streams in total and refuses the 5001st', () => {
    const limit = limiter()
    for (let at = 0; at < 5000; at++)
      expect(limit.open(`10.${at >> 8}.${at & 255}.1`, undefined, 0)).toBeTypeOf('function')
    expect(limit.open('11.0.0.1', undefined, 0)).toBe('total')
  })

  it('opens 5 new streams per address in any minute', () => {
    const limit = limiter()
    for (let at = 0; at < 5; at++) (limit.open('1.1.1.1', undefined, at * 1000) as () => void)()
    expect(limit.open('1.1.1.1', undefined, 59_999)).toBe('rate')
    expect(limit.open('1.1.1.1', undefined, 60_000)).toBeTypeOf('function')
    expect(limit.open('1.1.1.1', undefined, 60_999)).toBe('rate')
  })

  it('ends the newest stream of the consumer with the most, for one that has fewer, until both have as many', () => {
    const limit = limiter({ maxPerTenant: 10 })
    const evicted: number[] = []
    const opened = Array.from({ length: 10 }, (_, at) =>
      limit.open(`10.0.0.${at}`, 'acme', 0, 'many', () => evicted.push(at)),
    )
    expect(limit.open('10.0.1.0', 'acme', 0, 'many')).toBe('tenant')
    for (let at = 0; at < 5; at++) expect(limit.open(`10.0.2.${at}`, 'acme', 0, 'few')).toBeTypeOf('function')
    expect(evicted).toEqual([9, 8, 7, 6, 5])
    expect(limit.open('10.0.2.9', 'acme', 0, 'few')).toBe('tenant')
    // what was evicted is not released once more
    for (const release of opened) (release as () => void)()
    for (let at = 0; at < 5; at++) expect(limit.open(`10.0.3.${at}`, 'acme', 0, 'few')).toBeTypeOf('function')
    expect(limit.open('10.0.3.9', 'acme', 0, 'few')).toBe('tenant')
  })

  it('leaves each consumer its equal part, and never exceeds the limit of the tenant, in any order', () => {
    const step = fc.record({ consumer: fc.integer({ min: 0, max: 3 }), opens: fc.boolean() })
    const steps = fc.array(step, { maxLength: 200 })
    fc.assert(
      fc.property(fc.integer({ min: 4, max: 20 }), steps, (max, taken) => {
        const limit = limiter({ maxPerTenant: max, maxPerIp: 1000, newPerMinutePerIp: 1000 })
        const held = Array.from({ length: 4 }, () => new Set<{ release?: () => void }>())
        for (const { consumer, opens } of taken) {
          const own = held[consumer]!
          const [first] = own
          if (!opens && first !== undefined) {
            first.release!()
            own.delete(first)
            continue
          }
          const stream: { release?: () => void } = {}
          const before = own.size
          const slot = limit.open('10.0.0.1', 'acme', 0, String(consumer), () => own.delete(stream))
          if (typeof slot === 'function') {
            stream.release = slot
            own.add(stream)
          } else expect(before).toBeGreaterThanOrEqual(Math.floor(max / 4))
          expect(held.reduce((sum, { size }) => sum + size, 0)).toBeLessThanOrEqual(max)
        }
      }),
    )
  })

  it('limits nothing when it is switched off', () => {
    const limit = limiter({ enabled: false })
    for (let at = 0; at < 6000; at++) expect(limit.open('1.1.1.1', 'acme', 0)).toBeTypeOf('function')
  })
})
