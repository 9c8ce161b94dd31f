/** The names of counters: their bound, the digests of long parts, and which names and ids find them in a table. HTTP is in test/e2e/quotas.test.ts. */
import { describe, expect, test } from 'vitest'
import {
  boundedName,
  counterKey,
  isConsumer,
  isPartOf,
  nameOfPart,
  partsOf,
} from '../../../../src/data-plane/quota/counter-key.ts'
import { createQuotaRegion } from '../../../../src/data-plane/quota/memory/kernel.ts'
import { TableQuota } from '../../../../src/data-plane/quota/memory/table-quota.ts'
import { MAX_NAME_BYTES } from '../../../../src/data-plane/quota/quota.ts'

const NOON = Date.UTC(2026, 5, 1, 12)
const ID = 'a1b2c3d4-0000-4000-8000-123456789abc'
const DIGEST = /^sha256:[0-9a-f]{32}$/

describe('a name', () => {
  test('that fits has its parts unchanged, with %2F for a slash', () => {
    expect(counterKey('acme', 'agent')).toBe('acme/agent')
    expect(counterKey('', 'agent', ID)).toBe(`/agent/${ID}`)
    expect(counterKey('a/b', 'https://x/y')).toBe('a%2Fb/https:%2F%2Fx%2Fy')
    expect(partsOf(counterKey('a/b', 'c', ID))).toEqual({
      tenant: 'a%2Fb',
      consumer: 'c',
      target: ID,
    })
    // the last one that fits, in characters and in bytes
    expect(counterKey('t', 'x'.repeat(125))).toBe(`t/${'x'.repeat(125)}`)
    expect(counterKey('t', `${'é'.repeat(62)}x`)).toBe(`t/${'é'.repeat(62)}x`)
  })

  test('that does not fit has digests for its long parts alone', () => {
    for (const consumer of ['x'.repeat(126), 'é'.repeat(63), '界'.repeat(42), '🛒'.repeat(32)]) {
      const parts = partsOf(counterKey('t', consumer))
      expect(parts).toEqual({
        tenant: 't',
        consumer: expect.stringMatching(DIGEST),
        subscriptionId: undefined,
      })
      expect(isConsumer(parts.consumer, consumer)).toBe(true)
      expect(isConsumer(parts.consumer, parts.consumer)).toBe(true)
      expect(isConsumer(parts.consumer, `${consumer}x`)).toBe(false)
      expect(nameOfPart(parts.consumer)).toBeUndefined()
    }
    const long = counterKey('é'.repeat(300), 'x/'.repeat(300), 's'.repeat(300))
    expect(long.split('/')).toEqual(Array(3).fill(expect.stringMatching(DIGEST)))
    expect(Buffer.byteLength(long)).toBeLessThanOrEqual(MAX_NAME_BYTES)
  })

  test('that begins like a digest is replaced by one, so that a caller cannot be counted for another', () => {
    const long = 'x'.repeat(200)
    const digest = partsOf(counterKey('t', long)).consumer
    const imitation = partsOf(counterKey('t', digest)).consumer
    expect(imitation).toMatch(DIGEST)
    expect(imitation).not.toBe(digest)
    expect(isPartOf(digest, digest)).toBe(false)
    expect(isPartOf(imitation, digest)).toBe(true)
    // an id of the listing
    expect(isConsumer(imitation, digest)).toBe(false)
  })

  test('of a limit of the policy keeps its prefix', () => {
    expect(boundedName('~policy ', '["t"]')).toBe('~policy ["t"]')
    expect(boundedName('~policy ', 'é'.repeat(60))).toMatch(/^~policy sha256:[0-9a-f]{32}$/)
  })
})

test('every listed name is the one under which its counter is reset', () => {
  const quota = new TableQuota(createQuotaRegion({ consumers: 32, toolBuckets: 1 }), { unixMs: () => NOON })
  const keys = [1, 60, 126, 127, 500, 5000].flatMap(length =>
    ['x', 'é', '🛒'].map(character => counterKey('acme', character.repeat(length / character.length), ID)),
  )
  for (const key of new Set(keys)) {
    quota.take({ key, limits: { perDay: 5, burst: 2 }, nowMs: NOON })
    expect(quota.statistics().at(-1)).toMatchObject({ key, dailyCount: 1 })
    expect(quota.useOf(key).inFlight).toBe(1)
    expect(quota.reset(key)).toBe(true)
    expect(quota.statistics().at(-1)).toMatchObject({ key, dailyCount: 0 })
  }
})
