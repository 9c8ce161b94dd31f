/** The limit of failed attempts on the kernel's buckets: cost of a call, refill, trusted addresses, bounded memory. */
import { describe, expect, it } from 'vitest'
import {
  ATTEMPT_BUCKETS,
  AttemptLimit,
  type AttemptLimitOptions,
} from '../../../../src/data-plane/http/attempt-limit.ts'
import type { Call } from '../../../../src/data-plane/http/call.ts'
import { createKernel } from '../../../../src/data-plane/kernel/create.ts'
import type { Final } from '../../../../src/data-plane/pipeline/outcome.ts'
import { type RefusalReason, refuse } from '../../../../src/model/refusal.ts'
import { networkOf } from '../../../../src/net/server/client-address.ts'

const START_MS = Date.UTC(2026, 0, 1)

function limiter(options: Partial<AttemptLimitOptions> = {}) {
  const at = { ms: START_MS }
  const seen = { addresses: 0 }
  const limit = new AttemptLimit({
    buckets: createKernel().kernel,
    perMinute: 6,
    clientAddress: request => {
      seen.addresses++
      return request.peerAddress
    },
    trusted: [],
    nowMs: () => at.ms,
    ...options,
  })
  const from = (peerAddress: string) => ({ request: { peerAddress }, receivedAtMs: at.ms }) as Call
  const count = (address: string, times: number): void => {
    for (let n = 0; n < times; n++) limit.count(from(address))
  }
  return { limit, at, seen, from, count }
}

describe('the limit', () => {
  it('refuses an address whose attempts are used up, and gives them back evenly', () => {
    const refused: string[] = []
    const { limit, at, from, count } = limiter({ onRefused: address => refused.push(address) })
    count('192.0.2.1', 5)
    expect(limit.check(from('192.0.2.1'))).toBeUndefined()
    count('192.0.2.1', 1)
    expect(limit.check(from('192.0.2.1'))).toMatchObject({ reason: 'too_many_attempts', retryAfterSecs: 10 })
    at.ms += 9500
    expect(limit.check(from('192.0.2.1'))).toMatchObject({ retryAfterSecs: 1 })
    at.ms += 500
    expect(limit.check(from('192.0.2.1'))).toBeUndefined()
    count('192.0.2.1', 1)
    expect(limit.check(from('192.0.2.1'))).toMatchObject({ retryAfterSecs: 10 })
    expect([limit.refused, refused]).toEqual([3, Array(3).fill('192.0.2.1')])
  })

  it('does not extend the wait of a client that keeps asking', () => {
    const { limit, at, from, count } = limiter()
    count('192.0.2.1', 6)
    for (let n = 0; n < 1000; n++) expect(limit.check(from('192.0.2.1'))).toBeDefined()
    at.ms += 10_000
    expect(limit.check(from('192.0.2.1'))).toBeUndefined()
  })

  it('does not look at the address of a request unless a bucket is empty', () => {
    const { limit, at, seen, from, count } = limiter()
    count('192.0.2.1', 5)
    const counted = seen.addresses
    for (let n = 0; n < 100; n++) limit.check(from('192.0.2.2'))
    expect(seen.addresses).toBe(counted)
    count('192.0.2.1', 1)
    expect(limit.check(from('192.0.2.2'))).toBeUndefined()
    expect(seen.addresses).toBe(counted + 2)
    at.ms += 10_000
    limit.check(from('192.0.2.2'))
    expect(seen.addresses).toBe(counted + 2)
  })

  it('counts failed logins and unknown tools, and nothing else', () => {
    const isCounted = (final: Final): boolean => {
      const { limit, from } = limiter({ perMinute: 1 })
      const call = from('192.0.2.1')
      limit.countFailure(call, final)
      return limit.check(call) !== undefined
    }
    const counted = (reasons: readonly RefusalReason[]) => reasons.filter(reason => isCounted(refuse(reason)))
    expect(isCounted(undefined)).toBe(false)
    expect(isCounted({ kind: 'reply', result: { content: [], isError: true } })).toBe(false)
    expect(
      counted([
        'keys_unavailable',
        'policy_denied',
        'insufficient_scope',
        'quota_exceeded',
        'invalid_arguments',
      ]),
    ).toEqual([])
    const failed: readonly RefusalReason[] = [
      'token_missing',
      'token_malformed',
      'token_expired',
      'invalid_audience',
      'api_key_invalid',
      'tool_not_found',
    ]
    expect(counted(failed)).toEqual(failed)
  })

  it.each(['127.0.0.1', '::1', '10.1.2.3', ''])('has none for %j', address => {
    const { limit, from, count } = limiter({ trusted: ['10.0.0.0/8'] })
    count(address, 100)
    expect(limit.check(from(address))).toBeUndefined()
  })

  it('is off at 0', () => {
    const { limit, from, count } = limiter({ perMinute: 0 })
    count('192.0.2.1', 10_000)
    expect(limit.check(from('192.0.2.1'))).toBeUndefined()
  })

  const nth = (n: number): string => `192.${n >> 16}.${(n >> 8) & 255}.${n & 255}`

  it('of an address is used up by no other one, in none of 3,000', () => {
    const { limit, from, count } = limiter({ perMinute: 2 })
    for (let n = 0; n < ATTEMPT_BUCKETS; n += 2) count(nth(n), 2)
    for (let n = 1; n < ATTEMPT_BUCKETS; n += 2) {
      count(nth(n), 1)
      expect(limit.check(from(nth(n)))).toBeUndefined()
    }
    for (let n = 0; n < ATTEMPT_BUCKETS; n += 2) expect(limit.check(from(nth(n)))).toBeDefined()
  })

  it('is kept for those with the latest attempts when more addresses have some, and is whole for each new one', () => {
    const { limit, from, count } = limiter({ perMinute: 2 })
    for (let n = 0; n < 3 * ATTEMPT_BUCKETS; n++) {
      count(nth(n), 1)
      expect(limit.check(from(nth(n)))).toBeUndefined()
      count(nth(n), 1)
      expect(limit.check(from(nth(n)))).toBeDefined()
    }
    const kept = (n: number) => limit.check(from(nth(n))) !== undefined
    expect([0, 2 * ATTEMPT_BUCKETS - 1, 2 * ATTEMPT_BUCKETS, 3 * ATTEMPT_BUCKETS - 1].map(kept)).toEqual([
      false,
      false,
      true,
      true,
    ])
  })
})

it.each([
  ['192.0.2.1', '192.0.2.1'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['2001:0DB8:0000:0000:0000:0000:0000:0001', '2001:db8:0:0'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['::', '0:0:0:0'],
  ['fe80::', 'fe80:0:0:0'],
])('the network of %s is %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})
