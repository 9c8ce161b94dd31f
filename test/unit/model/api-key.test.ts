/** The key's life cycle: rotation with grace, expiry by time alone, revocation that is final. */
import { describe, expect, it } from 'vitest'
import { type ApiKey, keyStatus, revokeKey, rotateKey } from '../../../src/model/api-key.ts'
import type { Transition } from '../../../src/model/transition.ts'

const T0 = new Date('2026-01-01T00:00:00Z')
const later = (ms: number) => new Date(T0.getTime() + ms)

function value(result: Transition<ApiKey>): ApiKey {
  if (!result.ok) throw new Error(result.reason)
  return result.value
}

function key(fields: Partial<ApiKey> = {}): ApiKey {
  return {
    id: 'key_1',
    tenantId: 'ten_1',
    subscriptionId: 'sub_1',
    name: 'ci',
    prefix: 'tgk_aaaaaaaa',
    hash: 'hash-a',
    previousPrefix: null,
    previousHash: null,
    previousExpiresAt: null,
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
    expiryAnnounced: null,
    revision: 1,
    createdAt: T0,
    updatedAt: T0,
    ...fields,
  }
}

describe('state of a key', () => {
  it('follows from time alone', () => {
    const rotated = key({ previousExpiresAt: later(10), expiresAt: later(20) })
    expect(keyStatus(rotated, later(9))).toBe('rotating')
    expect(keyStatus(rotated, later(10))).toBe('active')
    expect(keyStatus(rotated, later(20))).toBe('expired')
    expect(keyStatus({ ...rotated, revokedAt: T0 }, later(30))).toBe('revoked')
  })
})

describe('rotating a key', () => {
  const fresh = { prefix: 'tgk_bbbbbbbb', hash: 'hash-b' }

  it('keeps the old one beside the new one for the grace period', () => {
    const result = rotateKey(key(), fresh, 1000, T0)
    expect(result).toMatchObject({
      ok: true,
      value: {
        ...fresh,
        previousPrefix: 'tgk_aaaaaaaa',
        previousHash: 'hash-a',
        previousExpiresAt: later(1000),
      },
    })
  })

  it('drops the old one at once when the grace is 0', () => {
    const result = rotateKey(key(), fresh, 0, T0)
    expect(result.ok && keyStatus(result.value, T0)).toBe('active')
    expect(result.ok && result.value.previousHash).toBeNull()
  })

  it('drops the oldest of three when it is rotated twice within the grace period', () => {
    const once = value(rotateKey(key(), fresh, 1000, T0))
    const twice = value(rotateKey(once, { prefix: 'tgk_cccccccc', hash: 'hash-c' }, 1000, later(1)))
    expect([twice.hash, twice.previousHash]).toEqual(['hash-c', 'hash-b'])
  })

  it.each([
    ['revoked', key({ revokedAt: T0 })],
    ['expired', key({ expiresAt: T0 })],
  ])('refuses a key that is %s', (state, ended) => {
    const result = rotateKey(ended, fresh, 1000, later(1))
    expect(result.ok).toBe(false)
    expect(!result.ok && result.reason).toContain(state)
  })
})

describe('revoking a key', () => {
  it('ends the key of a running grace period as well', () => {
    const rotated = value(rotateKey(key(), { prefix: 'tgk_bbbbbbbb', hash: 'hash-b' }, 1000, T0))
    expect(value(revokeKey(rotated, later(1)))).toMatchObject({
      revokedAt: later(1),
      previousHash: null,
      previousExpiresAt: null,
    })
  })

  it('keeps the first moment when it is repeated', () => {
    const revoked = key({ revokedAt: T0 })
    expect(revokeKey(revoked, later(5))).toEqual({ ok: true, changed: false, value: revoked })
  })
})
