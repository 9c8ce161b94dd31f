/** Each limit of docs/reference/http.md, SSE connection limits, at its border. */
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

function limiter(change: Partial<StreamLimiterOptions> = {}): StreamLimiter {
  return new StreamLimiter({ ...SPECIFIED, ...change })
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

  it('limits nothing when it is switched off', () => {
    const limit = limiter({ enabled: false })
    for (let at = 0; at < 6000; at++) expect(limit.open('1.1.1.1', 'acme', 0)).toBeTypeOf('function')
  })
})
