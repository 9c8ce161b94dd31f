/** What happens to tokens while the provider is slow, broken, unavailable, or changes its keys; against a real HTTP key set. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type FetchJson, fetchJsonOver } from '../../../src/identity/fetch-json.ts'
import { createEgress } from '../../../src/net/egress/client.ts'
import { goodClaims, makeKey, sign, startProvider, type TestProvider, verifierFor } from './provider.ts'

/** Longer than this test takes. */
const COOLDOWN_MS = 600_000

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function provider(...kids: string[]) {
  const keys = await Promise.all(kids.map(kid => makeKey('ES256', kid)))
  const started = await startProvider(keys)
  closers.push(() => started.close())
  return { started, keys }
}
function verifier(of: Pick<TestProvider, 'issuer'>, more: Parameters<typeof verifierFor>[1] = {}) {
  const made = verifierFor(of, more)
  closers.push(() => made.close())
  return made
}
/** A verifier that has the first of the keys of these ids; the provider publishes no other one yet. */
async function verifierWithFirst(kids: readonly string[], more?: Parameters<typeof verifierFor>[1]) {
  const { started, keys } = await provider(...kids)
  started.keys = [keys[0]!.jwk]
  const using = verifier(started, more)
  using.start()
  await vi.waitUntil(() => using.ready, 15_000)
  return { started, keys, using }
}
async function outcome(using: ReturnType<typeof verifierFor>, token: string): Promise<string> {
  const verified = await using.verify(token, Date.now())
  return verified.kind === 'refusal' ? verified.reason : 'accepted'
}

describe('before the first keys', () => {
  it('is not ready, says keys_unavailable, keeps trying, and becomes ready by itself', async () => {
    const { started, keys } = await provider('a')
    started.status = 503
    const using = verifier(started)
    using.start()
    const token = await sign(keys[0]!, goodClaims(started))
    expect(await outcome(using, token)).toBe('keys_unavailable')
    expect(using.ready).toBe(false)
    started.status = 200
    await vi.waitUntil(() => using.ready, 15_000)
    expect(await outcome(using, token)).toBe('accepted')
  })

  it('says keys_unavailable without delay, also for many tokens, when no one listens', async () => {
    const { started, keys } = await provider('a')
    const token = await sign(keys[0]!, goodClaims(started))
    await started.close()
    closers.pop()
    let fetches = 0
    const egress = createEgress({ allow: [], allowLoopback: true })
    closers.push(() => egress.close())
    const fetchJson: FetchJson = url => {
      fetches++
      return fetchJsonOver(egress)(url)
    }
    const using = verifier(started, { firstRetryMs: 10_000, fetchJson })
    expect(await outcome(using, token)).toBe('keys_unavailable')
    expect(fetches).toBe(1)
    // not a promise: nothing is waited for
    for (let i = 0; i < 1000; i++)
      expect(using.verify(token, Date.now())).toMatchObject({ reason: 'keys_unavailable' })
    expect(fetches).toBe(1)
  })

  it('shares one fetch among all tokens that wait for it', async () => {
    const { started, keys } = await provider('a')
    started.delayMs = 50
    const using = verifier(started)
    const token = await sign(keys[0]!, goodClaims(started))
    const outcomes = await Promise.all(Array.from({ length: 200 }, () => outcome(using, token)))
    expect(new Set(outcomes)).toEqual(new Set(['accepted']))
    expect(started.fetches).toBe(1)
  })
})

describe('an unknown kid', () => {
  it('causes one shared fetch, then none until the cool-down is over', async () => {
    const { started, keys, using } = await verifierWithFirst(['a', 'b'], { cooldownMs: COOLDOWN_MS })
    const token = await sign(keys[1]!, goodClaims(started))
    const asked = await Promise.all(Array.from({ length: 100 }, () => outcome(using, token)))
    expect(new Set(asked)).toEqual(new Set(['token_unknown_key']))
    expect(started.fetches).toBe(2)

    started.keys = keys.map(key => key.jwk)
    expect(await outcome(using, token)).toBe('token_unknown_key')
    expect(started.fetches).toBe(2)
    const now = performance.now.bind(performance)
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + COOLDOWN_MS)
    closers.push(async () => void clock.mockRestore())
    expect(await outcome(using, token)).toBe('accepted')
    expect(started.fetches).toBe(3)
  })

  it('is found at once after a rotation', async () => {
    const { started, keys, using } = await verifierWithFirst(['a', 'b'])
    started.keys = keys.map(key => key.jwk)
    expect(await outcome(using, await sign(keys[1]!, goodClaims(started)))).toBe('accepted')
  })
})

describe('a key that is replaced under its kid', () => {
  it('is found by the first token that it has signed, in one fetch for all, and that of the old one is refused', async () => {
    const { started, keys, using } = await verifierWithFirst(['a', 'a'], { cooldownMs: COOLDOWN_MS })
    const old = await sign(keys[0]!, goodClaims(started))
    expect(await outcome(using, old)).toBe('accepted')
    started.keys = [keys[1]!.jwk]
    const token = await sign(keys[1]!, goodClaims(started))
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => outcome(using, token)))
    expect(new Set(outcomes)).toEqual(new Set(['accepted']))
    expect(await outcome(using, old)).toBe('token_signature')
    expect(started.fetches).toBe(2)
  })

  it('is not asked for by forged tokens more than once in the cool-down', async () => {
    const { started, keys, using } = await verifierWithFirst(['a', 'a'], { cooldownMs: COOLDOWN_MS })
    const forged = await sign(keys[1]!, goodClaims(started))
    for (let call = 0; call < 20; call++) expect(await outcome(using, forged)).toBe('token_signature')
    expect(started.fetches).toBe(2)
    expect(await outcome(using, await sign(keys[0]!, goodClaims(started)))).toBe('accepted')
  })
})

describe('while the provider is unavailable', () => {
  it('goes on with the keys it has, although they are stale, and says so for a key it does not know', async () => {
    const { started, keys } = await provider('a', 'b')
    started.keys = [keys[0]!.jwk]
    const using = verifier(started, { refreshMs: 30, cooldownMs: 30 })
    using.start()
    await vi.waitUntil(() => using.ready, 15_000)
    started.status = 500
    const before = started.requests
    await vi.waitUntil(() => started.requests >= before + 3, 15_000)
    for (const sub of ['x', 'y'])
      expect(await outcome(using, await sign(keys[0]!, { ...goodClaims(started), sub }))).toBe('accepted')
    expect(await outcome(using, await sign(keys[1]!, goodClaims(started)))).toBe('keys_unavailable')
    started.status = 200
    started.keys = keys.map(key => key.jwk)
    const back = started.requests
    await vi.waitUntil(() => started.requests >= back + 2, 15_000)
    expect(await outcome(using, await sign(keys[1]!, goodClaims(started)))).toBe('accepted')
  })

  it('keeps the old keys when the response is not a key set', async () => {
    const { started, keys } = await provider('a')
    const using = verifier(started, { refreshMs: 20, cooldownMs: 20 })
    using.start()
    await vi.waitUntil(() => using.ready, 15_000)
    for (const body of ['', 'not json', '[]', '{}', '{"keys":{}}', '{"keys":[]}', '{"keys":[null,1,{}]}']) {
      started.body = body
      const before = started.fetches
      await vi.waitUntil(() => started.fetches >= before + 2, 15_000)
      expect(
        await outcome(using, await sign(keys[0]!, { ...goodClaims(started), sub: body || 'x' })),
        body,
      ).toBe('accepted')
    }
  })
})

describe('a published key that is withdrawn', () => {
  it('takes the tokens it signed along, cached ones too', async () => {
    const { started, keys } = await provider('a', 'b')
    const using = verifier(started, { refreshMs: 30 })
    using.start()
    await vi.waitUntil(() => using.ready, 15_000)
    const token = await sign(keys[0]!, goodClaims(started))
    expect(await outcome(using, token)).toBe('accepted')
    started.keys = [keys[1]!.jwk]
    await vi.waitUntil(async () => (await outcome(using, token)) === 'token_unknown_key', 15_000)
  })
})

describe('key sets', () => {
  it('uses the good keys of a set and leaves the others out', async () => {
    const { started, keys } = await provider('good')
    const [weak, secret] = await Promise.all([makeKey('RS256', 'weak'), makeKey('ES256', 'secret')])
    const { exportJWK, generateKeyPair } = await import('jose')
    const short = await generateKeyPair('RS256', { modulusLength: 2048, extractable: true })
    started.keys = [
      { kty: 'oct', k: 'AAAA', kid: 'symmetric', alg: 'HS256' },
      { ...weak.jwk, n: weak.jwk.n!.slice(0, 170), kid: 'weak' },
      { ...(await exportJWK(secret.privateKey)), kid: 'secret' },
      { ...weak.jwk, kid: 'enc', use: 'enc', alg: 'RSA-OAEP' },
      { kty: 'EC', crv: 'P-256', x: 'AAAA', y: 'AAAA', kid: 'broken' },
      { kty: 'EC', crv: 'secp256k1', x: 'AAAA', y: 'AAAA', kid: 'curve' },
      { ...(await exportJWK(short.publicKey)), kid: 'ops', key_ops: ['encrypt'] },
      keys[0]!.jwk,
    ]
    const using = verifier(started, { cooldownMs: 60_000 })
    using.start()
    await vi.waitUntil(() => using.ready, 15_000)
    expect(await outcome(using, await sign(keys[0]!, goodClaims(started)))).toBe('accepted')
    for (const key of [weak, secret])
      expect(await outcome(using, await sign(key, goodClaims(started)))).toBe('token_unknown_key')
    const ops = { kid: 'ops', alg: 'RS256', privateKey: short.privateKey, jwk: {} }
    expect(await outcome(using, await sign(ops, goodClaims(started)))).toBe('token_unknown_key')
  })

  it('reads no more than 64 keys', async () => {
    const { started, keys } = await provider('good')
    started.keys = [
      ...Array.from({ length: 64 }, (_, at) => ({ ...keys[0]!.jwk, kid: `k${at}` })),
      keys[0]!.jwk,
    ]
    const using = verifier(started)
    expect(await outcome(using, await sign(keys[0]!, goodClaims(started)))).toBe('token_unknown_key')
    expect(await outcome(using, await sign({ ...keys[0]!, kid: 'k63' }, goodClaims(started)))).toBe(
      'accepted',
    )
  })
})

describe('discovery', () => {
  it('refuses a document that names another issuer', async () => {
    const { started, keys } = await provider('a')
    const using = verifier({ issuer: `${started.issuer}/` })
    expect(
      await outcome(using, await sign(keys[0]!, { ...goodClaims(started), iss: `${started.issuer}/` })),
    ).toBe('keys_unavailable')
  })

  it('is not asked when the address of the keys is given', async () => {
    const { started, keys } = await provider('a')
    const using = verifier({ issuer: 'https://idp.example' }, { jwksUri: `${started.issuer}/certs` })
    expect(
      await outcome(using, await sign(keys[0]!, { ...goodClaims(started), iss: 'https://idp.example' })),
    ).toBe('accepted')
  })
})
