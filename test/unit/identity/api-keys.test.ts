/** Which API keys are let in, how long one is cached, and what its text looks like. */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { digestOf, generateApiKey, prefixOf } from '../../../src/identity/api-key-format.ts'
import { type ApiKeyRecord, createApiKeyVerifier } from '../../../src/identity/api-keys.ts'

function known(more: Partial<ApiKeyRecord> = {}) {
  const { key, digest } = generateApiKey()
  const record: ApiKeyRecord = {
    id: 'key_1',
    hash: digest.hash,
    status: 'active',
    expiresAtMs: undefined,
    application: 'app-1',
    tenant: 'acme',
    subscriptionId: 'sub_1',
    apiIds: ['api_1'],
    roles: [],
    scopes: ['read', 'execute'],
    ...more,
  }
  return { key, prefix: digest.prefix, record }
}

function verifierOf(...entries: ReturnType<typeof known>[]) {
  const table = new Map(entries.map(entry => [entry.prefix, entry.record]))
  let lookups = 0
  const verifier = createApiKeyVerifier({
    lookup: prefix => {
      lookups++
      return table.get(prefix)
    },
    capacity: 100,
  })
  return { verifier, table, lookups: () => lookups }
}

describe('the text of a key', () => {
  it('has the specified shape, is never the same twice, and its digest is SHA-256 of the whole', () => {
    const keys = Array.from({ length: 200 }, generateApiKey)
    for (const { key, digest } of keys) {
      expect(key).toMatch(/^tgk_[0-9A-Za-z]{8}_[0-9A-Za-z]{32}$/)
      expect(digest.prefix).toBe(key.slice(0, 12))
      expect(prefixOf(key)).toBe(digest.prefix)
      expect(digest.hash).toBe(createHash('sha256').update(key).digest('hex'))
      expect(digestOf(key)).toBe(digest.hash)
    }
    expect(new Set(keys.map(({ key }) => key)).size).toBe(200)
  })

  it('is not found in anything that is a character off', () => {
    const { key } = generateApiKey()
    for (const odd of [
      '',
      key.slice(1),
      `${key}x`,
      key.slice(0, -1),
      ` ${key}`,
      `${key}\n`,
      key.replace('tgk_', 'tgk-'),
      key.replace(/.$/, '!'),
    ])
      expect(prefixOf(odd), odd).toBeUndefined()
  })
})

describe('verifying a key', () => {
  it('gives the principal of its subscription, and the same object without another lookup', () => {
    const entry = known()
    const { verifier, lookups } = verifierOf(entry)
    const first = verifier.verify(entry.key, 1000)
    expect(first).toMatchObject({
      kind: 'api_key',
      subject: 'key_1',
      consumer: 'app-1',
      tenant: 'acme',
      subscriptionId: 'sub_1',
      scopes: ['execute', 'read'],
    })
    expect(verifier.verify(`${entry.key}`, 2000)).toBe(first)
    expect(lookups()).toBe(1)
  })

  it('refuses every other secret behind a known prefix, cached or not', () => {
    const entry = known()
    const { verifier } = verifierOf(entry)
    const flip = (at: number): string => {
      const other = entry.key[at] === 'a' ? 'b' : 'a'
      return entry.key.slice(0, at) + other + entry.key.slice(at + 1)
    }
    for (let at = 13; at < entry.key.length; at++)
      expect(verifier.verify(flip(at), 0)).toMatchObject({ reason: 'api_key_invalid' })
    expect(verifier.verify(entry.key, 0)).toMatchObject({ kind: 'api_key' })
    for (let at = 13; at < entry.key.length; at++)
      expect(verifier.verify(flip(at), 0)).toMatchObject({ reason: 'api_key_invalid' })
    expect(verifier.verify(entry.key, 0)).toMatchObject({ kind: 'api_key' })
  })

  it('refuses what is unknown, revoked, expired, or stored with a digest that cannot be read', () => {
    const good = known()
    const { verifier } = verifierOf(
      known({ id: 'x' }),
      ...[
        known({ status: 'revoked' }),
        known({ status: 'expired' }),
        known({ expiresAtMs: 500 }),
        known({ hash: 'zz' }),
        known({ hash: '' }),
      ],
    )
    expect(verifier.verify(good.key, 0)).toMatchObject({ reason: 'api_key_invalid' })
    for (const more of [
      { status: 'revoked' },
      { status: 'expired' },
      { expiresAtMs: 1000 },
      { hash: 'zz' },
      { hash: '' },
    ] as const) {
      const entry = known(more)
      expect(verifierOf(entry).verifier.verify(entry.key, 1000), JSON.stringify(more)).toMatchObject({
        reason: 'api_key_invalid',
      })
    }
  })

  it('accepts a rotating key until its own expiry', () => {
    const entry = known({ status: 'rotating', expiresAtMs: 5000 })
    const { verifier } = verifierOf(entry)
    expect(verifier.verify(entry.key, 4999)).toMatchObject({ kind: 'api_key', expiresAtMs: 5000 })
    expect(verifier.verify(entry.key, 5000)).toMatchObject({ reason: 'api_key_invalid' })
  })

  it('asks again after five minutes, and at once after clearCache', () => {
    const entry = known()
    const { verifier, table, lookups } = verifierOf(entry)
    verifier.verify(entry.key, 0)
    table.delete(entry.prefix)
    expect(verifier.verify(entry.key, 299_999)).toMatchObject({ kind: 'api_key' })
    expect(verifier.verify(entry.key, 300_000)).toMatchObject({ reason: 'api_key_invalid' })
    table.set(entry.prefix, entry.record)
    verifier.verify(entry.key, 300_001)
    table.delete(entry.prefix)
    expect(verifier.clearCache()).toBe(1)
    expect(verifier.verify(entry.key, 300_002)).toMatchObject({ reason: 'api_key_invalid' })
    expect(lookups()).toBe(4)
  })

  it('caches no more than its capacity, rounded up to whole buckets', () => {
    const entries = Array.from({ length: 150 }, () => known())
    const { verifier, lookups } = verifierOf(...entries)
    for (const entry of entries) verifier.verify(entry.key, 0)
    expect(lookups()).toBe(150)
    verifier.verify(entries[149]!.key, 0)
    expect(lookups()).toBe(150)
    const held = verifier.clearCache()
    expect(held).toBeLessThanOrEqual(112)
    expect(held).toBeGreaterThan(80)
  })

  it('waits for a lookup that takes time, and fails closed when it breaks', async () => {
    const entry = known()
    const later = createApiKeyVerifier({
      lookup: async prefix => (prefix === entry.prefix ? entry.record : undefined),
    })
    expect(await later.verify(entry.key, 0)).toMatchObject({ kind: 'api_key' })
    const rejecting = createApiKeyVerifier({
      lookup: () => Promise.reject(new Error('store is unavailable')),
    })
    expect(await rejecting.verify(entry.key, 0)).toMatchObject({ reason: 'api_key_invalid' })
    const throwing = createApiKeyVerifier({
      lookup: () => {
        throw new Error('store is unavailable')
      },
    })
    expect(throwing.verify(entry.key, 0)).toMatchObject({ reason: 'api_key_invalid' })
  })

  it('does not bring back a key that was evicted while its lookup ran', async () => {
    const entry = known()
    let respond: (record: ApiKeyRecord | undefined) => void = () => {}
    const answers: (ApiKeyRecord | undefined)[] = [entry.record, undefined]
    const verifier = createApiKeyVerifier({
      lookup: () =>
        new Promise(resolve => {
          respond = () => resolve(answers.shift())
        }),
    })
    const running = verifier.verify(entry.key, 0)
    verifier.clearCache()
    respond(undefined)
    expect(await running).toMatchObject({ kind: 'api_key' })
    const next = verifier.verify(entry.key, 1)
    respond(undefined)
    expect(await next).toMatchObject({ reason: 'api_key_invalid' })
  })

  it('responds to any text with a refusal and never throws', () => {
    const { verifier, lookups } = verifierOf(known())
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ maxLength: 60 }),
          fc.string({ unit: 'binary' }),
          fc.stringMatching(/^tgk_.{41}$/),
        ),
        text => {
          expect(verifier.verify(text, 0)).toMatchObject({ kind: 'refusal', reason: 'api_key_invalid' })
        },
      ),
      { numRuns: 20_000 },
    )
    expect(lookups()).toBeLessThan(20_000)
  })
})
