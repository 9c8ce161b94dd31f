/** Which published keys are usable, for which algorithms, and which of them may have signed a token. */
import { sign } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { algorithmsOf, isAlgorithm, verifies } from '../../../src/identity/algorithms.ts'
import { importKeySet, KeySet, MAX_KEYS } from '../../../src/identity/key-set.ts'
import { makeKeyPair } from '../../fixtures/key-pair.ts'

const ec = makeKeyPair('ec')
const rsa = makeKeyPair('rsa')
const jwkOf = (pair: typeof ec, more: object = {}) => ({
  ...pair.publicKey.export({ format: 'jwk' }),
  ...more,
})

async function importing(...keys: unknown[]) {
  const skipped: (readonly [string | undefined, string])[] = []
  const set = await importKeySet({ keys }, (kid, reason) => skipped.push([kid, reason]))
  return { set, kids: set?.keys.map(key => key.kid), skipped }
}

describe('a set of keys', () => {
  it.each([undefined, null, 'text', [], {}, { keys: {} }, { keys: null }])(
    'is not the document %j',
    async document => {
      const skipped: unknown[] = []
      expect(await importKeySet(document, (...fault) => skipped.push(fault))).toBeUndefined()
      expect(skipped).toEqual([])
    },
  )

  it('is none when no key of it is usable, and one key is enough', async () => {
    expect(await importing()).toEqual({ set: undefined, kids: undefined, skipped: [] })
    expect(await importing(jwkOf(ec, { kid: 'a' }))).toMatchObject({ kids: ['a'], skipped: [] })
  })

  it.each([
    ['the key is not a JSON object', null, undefined],
    ['the key is not a JSON object', 'text', undefined],
    ['the parameter "use" of the key is not "sig"', jwkOf(ec, { kid: 'a', use: 'tls' }), 'a'],
    [
      'the parameter "key_ops" of the key does not contain "verify"',
      jwkOf(ec, { kid: 'a', key_ops: ['sign'] }),
      'a',
    ],
    [
      'the parameter "key_ops" of the key does not contain "verify"',
      jwkOf(ec, { kid: 'a', key_ops: 'verify' }),
      'a',
    ],
    [
      'the key is private and must never be published',
      { ...ec.privateKey.export({ format: 'jwk' }), kid: 'a' },
      'a',
    ],
    ['the type or algorithm of the key is not accepted', { kty: 'oct', k: 'AAAA', kid: 'a' }, 'a'],
    ['the type or algorithm of the key is not accepted', jwkOf(ec, { kid: 7, alg: 'ES384' }), undefined],
    ['the key cannot be read', jwkOf(ec, { kid: 'a', x: '!' }), 'a'],
    [
      'the modulus of the key has 1024 bits, fewer than 2048',
      {
        ...makeKeyPair('rsa', 1024).publicKey.export({ format: 'jwk' }),
        kid: 'a',
      },
      'a',
    ],
  ])('leaves out one because %s, and keeps the others', async (reason, jwk, kid) => {
    expect(await importing(jwk, jwkOf(ec, { kid: 'good' }))).toMatchObject({
      kids: ['good'],
      skipped: [[kid, reason]],
    })
  })

  it('leaves out keys for encryption without a word', async () => {
    expect(await importing(jwkOf(rsa, { kid: 'e', use: 'enc' }), jwkOf(ec, { kid: 'good' }))).toMatchObject({
      kids: ['good'],
      skipped: [],
    })
  })

  it('takes keys for signatures, with and without a stated purpose', async () => {
    const keys = [
      jwkOf(ec, { kid: 'none' }),
      jwkOf(ec, { kid: 'sig', use: 'sig' }),
      jwkOf(ec, { kid: 'ops', key_ops: ['verify'] }),
      jwkOf(rsa),
    ]
    expect(await importing(...keys)).toMatchObject({
      kids: ['none', 'sig', 'ops', undefined],
      skipped: [],
    })
  })

  it(`is read up to ${MAX_KEYS} keys, and says so above`, async () => {
    const many = (count: number) => Array.from({ length: count }, (_, at) => jwkOf(ec, { kid: `k${at}` }))
    const whole = await importing(...many(MAX_KEYS))
    expect([whole.kids?.length, whole.skipped]).toEqual([MAX_KEYS, []])
    const longer = await importing(...many(MAX_KEYS + 1))
    expect(longer.kids?.at(-1)).toBe(`k${MAX_KEYS - 1}`)
    expect(longer.skipped).toEqual([
      [undefined, `the key set contains ${MAX_KEYS + 1} keys; only ${MAX_KEYS} are read`],
    ])
  })
})

describe('the key of a token', () => {
  it('is the one with its kid that fits its algorithm', async () => {
    const { set } = await importing(
      jwkOf(ec, { kid: 'a' }),
      jwkOf(rsa, { kid: 'a' }),
      jwkOf(rsa, { kid: 'b' }),
    )
    const kids = (kid: string | undefined, algorithm: 'ES256' | 'RS256') =>
      set!.candidates(kid, algorithm).map(key => [key.kid, key.key.asymmetricKeyType])
    expect(kids('a', 'ES256')).toEqual([['a', 'ec']])
    expect(kids('a', 'RS256')).toEqual([['a', 'rsa']])
    expect(kids('c', 'RS256')).toEqual([])
    // without kid: only where there is no choice
    expect(kids(undefined, 'ES256')).toEqual([['a', 'ec']])
    expect(kids(undefined, 'RS256')).toEqual([])
  })

  it('stays the same when the set is published again, and is another one under another kid', async () => {
    const both = (await importing(jwkOf(ec, { kid: 'a' }), jwkOf(rsa))).set!
    const one = (await importing(jwkOf(ec, { kid: 'a' }))).set!
    const renamed = (await importing(jwkOf(ec, { kid: 'b' }))).set!
    expect([one.isWithin(both), both.isWithin(one), one.isWithin(renamed)]).toEqual([true, false, false])
    expect(new KeySet([]).isWithin(one)).toBe(true)
  })
})

describe('algorithms', () => {
  it.each([
    [{ kty: 'RSA' }, ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']],
    [{ kty: 'RSA', crv: 'P-256' }, ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']],
    [{ kty: 'RSA', alg: 'PS384' }, ['PS384']],
    [{ kty: 'EC', crv: 'P-384' }, ['ES384']],
    [{ kty: 'EC', crv: 'P-384', alg: 'ES256' }, []],
    [{ kty: 'EC' }, []],
    [{ kty: 'OKP', crv: 'Ed25519' }, ['EdDSA']],
    [{ kty: 'OKP', crv: 'P-256' }, []],
    [{ kty: 'oct', alg: 'HS256' }, []],
    [{}, []],
  ])('of %j are those of its type and curve', (jwk, algorithms) => {
    expect(algorithmsOf(jwk)).toEqual(algorithms)
  })

  it('are known by their own names only', () => {
    expect(['RS256', 'none', 'HS256', 'toString', 7].map(isAlgorithm)).toEqual([
      true,
      false,
      false,
      false,
      false,
    ])
  })

  it('verify signatures of the right length by the right key', () => {
    const data = Buffer.from('content')
    const signature = sign('sha256', data, { key: ec.privateKey, dsaEncoding: 'ieee-p1363' })
    expect(verifies('ES256', ec.publicKey, data, signature)).toBe(true)
    expect(verifies('ES256', ec.publicKey, Buffer.from('other'), signature)).toBe(false)
    // OpenSSL reads a DER form of any length too
    expect(verifies('ES256', ec.publicKey, data, sign('sha256', data, ec.privateKey))).toBe(false)
    expect(verifies('ES256', ec.publicKey, data, Buffer.concat([signature, Buffer.of(0)]))).toBe(false)
    // a key that OpenSSL refuses for the algorithm throws there
    expect(verifies('EdDSA', rsa.publicKey, data, Buffer.alloc(64))).toBe(false)
  })
})
