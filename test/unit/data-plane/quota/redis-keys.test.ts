/** Names of keys in Redis, the clock of its calendar, and requests as threads post them; all without a Redis. */
import { describe, expect, it } from 'vitest'
import { HashedKey, type QuotaTable } from '../../../../src/data-plane/quota/memory/table.ts'
import { BUCKETS, keysUnder, shortKey, shortName } from '../../../../src/data-plane/quota/redis/keys.ts'
import { storeClocks } from '../../../../src/data-plane/quota/redis/membership.ts'
import { keyData, requestOf } from '../../../../src/data-plane/quota/redis/thread-messages.ts'

const keys = keysUnder('gate')
const hashTag = (key: string) => /\{([^}]+)\}/.exec(key)?.[1]

describe('keys in Redis', () => {
  it('of one consumer are on one node: they share their hash tag', () => {
    for (const name of ['acme', 'bob', 'ü']) {
      const bucket = keys.bucketOf(name)
      const tags = [keys.consumer(name), keys.tool(name, 't'), keys.epoch(bucket), keys.names(bucket)].map(
        hashTag,
      )
      expect(tags[0]).toBeDefined()
      expect(new Set(tags).size).toBe(1)
    }
  })

  it('spread the consumers over all parts', () => {
    const buckets = Array.from({ length: 200 }, (_, n) => keys.bucketOf(`consumer-${n}`))
    expect([...new Set(buckets)].sort()).toEqual(Array.from({ length: BUCKETS }, (_, n) => n))
    expect(new Set(buckets.map(bucket => hashTag(keys.epoch(bucket)))).size).toBe(BUCKETS)
  })

  it('differ for whatever may be limited apart, and between deployments', () => {
    const other = keysUnder('other')
    const all = [keys, other].flatMap(under => [
      under.consumer('a'),
      under.consumer('b'),
      under.tool('a', 'b'),
      under.tool('a', 'bc'),
      under.tool('ab', 'c'),
      under.epoch(0),
      under.names(0),
      under.channel,
    ])
    expect(new Set(all).size).toBe(all.length)
  })
})

describe('the name of a consumer', () => {
  it.each([
    ['127 bytes', 'x'.repeat(127)],
    ['126 bytes of three each', '€'.repeat(42)],
    ['127 bytes of several lengths', `${'€'.repeat(42)}x`],
  ])('of %s stays', (_, name) => {
    expect(shortName(name)).toBe(name)
  })

  it.each([
    ['128 bytes', 'x'.repeat(128)],
    ['129 bytes of three each', '€'.repeat(43)],
  ])('of %s becomes its digest', (_, name) => {
    expect(shortName(name)).toMatch(/^sha256:[0-9a-f]{64}$/)
    expect(shortName(name)).not.toBe(shortName(`${name}x`))
    expect(shortKey(name)).toBe(shortName(name))
  })

  it('of a key that is prepared stays as it is', () => {
    const key = new HashedKey('x'.repeat(200), [1, 2, 3, 4])
    expect(shortKey(key as never)).toBe(key)
  })
})

describe('the calendar', () => {
  const table = (unixOffsetMs: number) => ({ unixOffsetMs, nowMs: () => 1_000.7 }) as QuotaTable

  it('follows Redis as soon as it has responded', () => {
    const clocks = storeClocks(() => table(1_700_000_000_000))
    expect(clocks.unixMs()).toBe(1_700_000_001_000)
    expect(clocks.calendarMs(5)).toBe(1_700_000_001_000)
  })

  it.each([
    ['there is no table', undefined],
    ['Redis has not responded', table(0)],
  ])('follows the request and this machine while %s', (_, none) => {
    const clocks = storeClocks(() => none)
    expect(clocks.calendarMs(5)).toBe(5)
    expect(Math.abs(clocks.unixMs() - Date.now())).toBeLessThan(10_000)
  })
})

describe('a request that one thread posts to another', () => {
  it('arrives with its keys, limits and tool', () => {
    const key = new HashedKey('acme', [1, -2, 3, -4])
    const toolKey = new HashedKey('acme\0tool', [5, 6, 7, 8])
    const rateLimit = { requestsPerMinute: 3, burst: 1 }
    const limits = { perMinute: 10 }
    const bare = structuredClone({ key: keyData(key), limits })
    expect(requestOf(bare, 9)).toEqual({ key, limits, nowMs: 9 })
    const whole = structuredClone({ ...bare, tool: { key: keyData(toolKey), rateLimit } })
    expect(requestOf(whole, 9)).toEqual({ key, limits, nowMs: 9, tool: { key: toolKey, rateLimit } })
  })
})
