/** Which bearer tokens are let in and why the others are not: really signed tokens against a key set served over HTTP. */
import { createHmac, createPublicKey } from 'node:crypto'
import { SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Principal } from '../../../src/model/principal.ts'
import type { Refusal } from '../../../src/model/refusal.ts'
import {
  AUDIENCE,
  goodClaims,
  makeKey,
  nowSecs,
  sign,
  startProvider,
  type TestKey,
  type TestProvider,
  verifierFor,
} from './provider.ts'

const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']

let provider: TestProvider
let keys: Map<string, TestKey>
let rs256: TestKey
let verifier: ReturnType<typeof verifierFor>

beforeAll(async () => {
  keys = new Map(await Promise.all(ALGORITHMS.map(async alg => [alg, await makeKey(alg)] as const)))
  rs256 = keys.get('RS256')!
  provider = await startProvider([...keys.values()])
  verifier = verifierFor(provider)
  verifier.start()
  await vi.waitUntil(() => verifier.ready, 15_000)
})
afterAll(async () => {
  await verifier.close()
  await provider.close()
})

async function outcome(token: string, using = verifier): Promise<string> {
  const verified: Principal | Refusal = await using.verify(token, Date.now())
  return verified.kind === 'refusal' ? verified.reason : 'accepted'
}
const claims = () => goodClaims(provider)
const b64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('good tokens', () => {
  for (const alg of ALGORITHMS) {
    it(`accepts ${alg}`, async () => {
      expect(await outcome(await sign(keys.get(alg)!, claims()))).toBe('accepted')
    })
  }

  it('gives the principal of the claims, and the same frozen object at once when the token is shown again', async () => {
    const token = await sign(rs256, claims())
    const first = await verifier.verify(token, Date.now())
    expect(first).toMatchObject({
      kind: 'token',
      subject: 'user-1',
      consumer: 'demo-agent',
      tenant: 'acme',
      scopes: ['execute', 'openid', 'read'],
    })
    expect(Object.isFrozen(first)).toBe(true)
    expect(verifier.verify(`${token}`, Date.now())).toBe(first)
  })

  it('verifies a new token without waiting when the keys are at hand', async () => {
    expect(verifier.verify(await sign(rs256, claims()), Date.now())).toMatchObject({ kind: 'token' })
  })

  it('accepts any one of several audiences, and the own resource addresses', async () => {
    expect(await outcome(await sign(rs256, { ...claims(), aud: ['other', AUDIENCE] }))).toBe('accepted')
    expect(await outcome(await sign(rs256, { ...claims(), aud: 'https://gw.example/mcp' }))).toBe('accepted')
  })

  it.each([
    'https://gw.example/mcp/',
    'HTTPS://GW.example/mcp',
    'https://gw.example:443/mcp',
    'https://gw.example:443/mcp/',
  ])('accepts the own resource address written as %s', async aud => {
    expect(await outcome(await sign(rs256, { ...claims(), aud }))).toBe('accepted')
  })

  it.each([
    'http://gw.example/mcp',
    'https://gw.example/MCP',
    'https://gw.example:8443/mcp',
    'https://gw.example/mcp//',
    'https://gw.example/mcp?a',
    'https://gw.example.evil/mcp',
    'https://u@gw.example/mcp',
  ])('does not accept %s, which is another address', async aud => {
    expect(await outcome(await sign(rs256, { ...claims(), aud }))).toBe('invalid_audience')
  })

  it('accepts the type of RFC 9068', async () => {
    expect(await outcome(await sign(rs256, claims(), { typ: 'at+jwt' }))).toBe('accepted')
  })

  it('gives 30 seconds of leeway to clocks, and not more', async () => {
    const at = (exp: number, nbf: number) =>
      sign(rs256, { ...claims(), exp: nowSecs() + exp, nbf: nowSecs() + nbf })
    expect(await outcome(await at(-25, 0))).toBe('accepted')
    expect(await outcome(await at(-31, 0))).toBe('token_expired')
    expect(await outcome(await at(300, 25))).toBe('accepted')
    expect(await outcome(await at(300, 35))).toBe('token_not_yet_valid')
  })

  it('checks no audience when the list is empty', async () => {
    const unchecked = verifierFor(provider, { audiences: [] })
    expect(await outcome(await sign(rs256, { ...claims(), aud: 'elsewhere' }), unchecked)).toBe('accepted')
    await unchecked.close()
  })
})

describe('tokens that are refused', () => {
  const cases: Record<string, [reason: string, make: () => Promise<string> | string]> = {
    expired: ['token_expired', () => sign(rs256, { ...claims(), exp: nowSecs() - 60 })],
    'not yet valid': ['token_not_yet_valid', () => sign(rs256, { ...claims(), nbf: nowSecs() + 120 })],
    'issued in the future': ['token_not_yet_valid', () => sign(rs256, { ...claims(), iat: nowSecs() + 120 })],
    'for another audience': ['invalid_audience', () => sign(rs256, { ...claims(), aud: 'elsewhere' })],
    'for no audience': ['invalid_audience', () => sign(rs256, without('aud'))],
    'for an audience that only begins alike': [
      'invalid_audience',
      () => sign(rs256, { ...claims(), aud: `${AUDIENCE}x` }),
    ],
    'with an audience that is not text': [
      'invalid_audience',
      () => sign(rs256, { ...claims(), aud: { 0: AUDIENCE } as never }),
    ],
    'from another issuer': ['invalid_issuer', () => sign(rs256, { ...claims(), iss: 'http://evil.example' })],
    'from the issuer with a trailing slash': [
      'invalid_issuer',
      () => sign(rs256, { ...claims(), iss: `${provider.issuer}/` }),
    ],
    'the ID token of a client': ['token_malformed', () => sign(rs256, { ...claims(), typ: 'ID' })],
    'without issuer': ['token_claims', () => sign(rs256, without('iss'))],
    'without expiry': ['token_claims', () => sign(rs256, without('exp'))],
    'with an expiry that is text': [
      'token_claims',
      () => sign(rs256, { ...claims(), exp: '9999999999' as never }),
    ],
    'with an expiry beyond reason': ['token_claims', () => sign(rs256, { ...claims(), exp: 1e300 })],
    'with a start that is text': ['token_claims', () => sign(rs256, { ...claims(), nbf: 'now' as never })],
    'with a tenant that is a list': [
      'token_claims',
      () => sign(rs256, { ...claims(), tenant_id: ['a', 'b'] }),
    ],
    'without a subject': ['token_claims', () => sign(rs256, without('sub', 'azp'))],
    'alg none': ['token_algorithm', () => new UnsecuredJWT(claims()).encode()],
    'alg None with a signature': ['token_algorithm', () => `${b64({ alg: 'None' })}.${b64(claims())}.AAAA`],
    'alg of an object prototype': [
      'token_algorithm',
      () => `${b64({ alg: 'constructor' })}.${b64(claims())}.AAAA`,
    ],
    'alg that is not text': ['token_malformed', () => `${b64({ alg: ['RS256'] })}.${b64(claims())}.AAAA`],
    'HS256 signed with the public key': ['token_algorithm', signedWithPublicKey],
    'HS256 under the kid of an RSA key': [
      'token_algorithm',
      () =>
        new SignJWT(claims()).setProtectedHeader({ alg: 'HS256', kid: rs256.kid }).sign(Buffer.alloc(32, 7)),
    ],
    'RS256 declared as PS256 under the same kid': [
      'token_unknown_key',
      async () => relabelled(await sign(rs256, claims()), 'PS256'),
    ],
    'tampered payload': ['token_signature', async () => tampered(await sign(rs256, claims()))],
    'tampered header': [
      'token_signature',
      async () =>
        `${b64({ alg: 'RS256', kid: rs256.kid, x: 1 })}${(await sign(rs256, claims())).slice((await sign(rs256, claims())).indexOf('.'))}`,
    ],
    'signature of another key under a known kid': [
      'token_signature',
      async () => sign({ ...(await makeKey('RS256')), kid: rs256.kid }, claims()),
    ],
    'empty signature': ['token_signature', async () => (await sign(rs256, claims())).replace(/[^.]*$/, '')],
    'ECDSA signature of 71 bytes': [
      'token_signature',
      async () =>
        (await sign(keys.get('ES256')!, claims())).replace(
          /[^.]*$/,
          Buffer.alloc(71, 0x30).toString('base64url'),
        ),
    ],
    'ECDSA signature of zeros': [
      'token_signature',
      async () =>
        (await sign(keys.get('ES256')!, claims())).replace(/[^.]*$/, Buffer.alloc(64).toString('base64url')),
    ],
    'embedded jwk, unknown kid': [
      'token_unknown_key',
      async () => {
        const own = await makeKey('RS256', 'mine')
        return sign(own, claims(), { jwk: own.jwk })
      },
    ],
    'embedded jwk, known kid': [
      'token_signature',
      async () => {
        const own = await makeKey('RS256', rs256.kid)
        return sign(own, claims(), { jwk: own.jwk, jku: 'http://127.0.0.1:1/', x5u: 'http://127.0.0.1:1/' })
      },
    ],
    'crit header': [
      'token_malformed',
      () => `${b64({ alg: 'RS256', kid: rs256.kid, crit: ['exp'], exp: 1 })}.${b64(claims())}.AAAA`,
    ],
    'unencoded payload': [
      'token_malformed',
      () => `${b64({ alg: 'RS256', kid: rs256.kid, b64: false })}.${b64(claims())}.AAAA`,
    ],
    'a logout token': ['token_malformed', () => sign(rs256, claims(), { typ: 'logout+jwt' })],
    'kid that is not text': [
      'token_malformed',
      () => `${b64({ alg: 'RS256', kid: 1 })}.${b64(claims())}.AAAA`,
    ],
    'two parts': ['token_malformed', () => 'aa.bb'],
    'five parts': ['token_malformed', () => 'aa.bb.cc.dd.ee'],
    'padding characters': ['token_malformed', async () => `${await sign(rs256, claims())}==`],
    'unused bits set in the last character': [
      'token_malformed',
      async () => respelled(await sign(rs256, claims())),
    ],
    'an empty text': ['token_malformed', () => ''],
    'a line break': ['token_malformed', async () => `${await sign(rs256, claims())}\n`],
    'a token of 20 KiB': ['token_malformed', () => sign(rs256, { ...claims(), filler: 'x'.repeat(20_000) })],
    'a header that is an array': ['token_malformed', () => `${b64([])}.${b64(claims())}.AAAA`],
    'an API key in the wrong place': ['token_malformed', () => `tgk_abcdefgh_${'x'.repeat(32)}`],
  }
  for (const [name, [reason, make]] of Object.entries(cases)) {
    it(`refuses ${name} as ${reason}`, async () => {
      expect(await outcome(await make())).toBe(reason)
    })
  }

  it('refuses a payload that is signed but no object', async () => {
    const { CompactSign } = await import('jose')
    for (const payload of ['[]', 'null', '"x"', '1', '{', '\xff']) {
      const token = await new CompactSign(Buffer.from(payload, 'latin1'))
        .setProtectedHeader({ alg: 'RS256', kid: rs256.kid })
        .sign(rs256.privateKey)
      expect(await outcome(token), payload).toBe('token_malformed')
    }
  })

  function without(...names: string[]) {
    return Object.fromEntries(Object.entries(claims()).filter(([name]) => !names.includes(name)))
  }
  /** The classic confusion: the public key, which everyone knows, used as the secret of an HMAC. */
  function signedWithPublicKey(): string {
    const pem = createPublicKey({ key: rs256.jwk as never, format: 'jwk' }).export({
      type: 'spki',
      format: 'pem',
    })
    const signed = `${b64({ alg: 'HS256', kid: rs256.kid })}.${b64(claims())}`
    return `${signed}.${createHmac('sha256', pem).update(signed).digest('base64url')}`
  }
  function relabelled(token: string, alg: string): string {
    return `${b64({ alg, kid: rs256.kid })}${token.slice(token.indexOf('.'))}`
  }
  function tampered(token: string): string {
    const [header, , signature] = token.split('.')
    return `${header}.${b64({ ...claims(), scope: 'platform:admin' })}.${signature}`
  }
  /** Another spelling of the very same signature bytes. */
  function respelled(token: string): string {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    return token.slice(0, -1) + alphabet[alphabet.indexOf(token.at(-1)!) | 1]
  }
})

describe('tokens without kid', () => {
  it('are accepted when exactly one published key fits, refused when several do', async () => {
    const one = await makeKey('ES256', 'a')
    const two = await makeKey('ES256', 'b')
    const own = await startProvider([one])
    const using = verifierFor(own, { cooldownMs: 0 })
    const token = await new SignJWT(goodClaims(own)).setProtectedHeader({ alg: 'ES256' }).sign(one.privateKey)
    expect(await outcome(token, using)).toBe('accepted')
    own.keys = [one.jwk, two.jwk]
    using.clearCache()
    await using.verify(await sign(two, goodClaims(own)), Date.now())
    expect(await outcome(token, using)).toBe('token_unknown_key')
    await using.close()
    await own.close()
  })
})

describe('the cache of verified tokens', () => {
  it('ends at the expiry of the token, and after five minutes at most', async () => {
    const short = await sign(rs256, { ...claims(), exp: nowSecs() + 100 })
    const now = Date.now()
    const first = await verifier.verify(short, now)
    expect(verifier.verify(short, now + 60_000)).toBe(first)
    const late = await verifier.verify(short, (nowSecs() + 101) * 1000)
    expect(late).not.toBe(first)
    expect(await verifier.verify(short, (nowSecs() + 200) * 1000)).toMatchObject({ reason: 'token_expired' })

    const long = await sign(rs256, { ...claims(), exp: nowSecs() + 3600 })
    const cached = await verifier.verify(long, now)
    expect(verifier.verify(long, now + 299_000)).toBe(cached)
    const again = await verifier.verify(long, now + 301_000)
    expect(again).not.toBe(cached)
    expect(again).toEqual(cached)
  })

  it('is emptied by clearCache, which counts', async () => {
    verifier.clearCache()
    await verifier.verify(await sign(rs256, claims()), Date.now())
    await verifier.verify(await sign(rs256, { ...claims(), sub: 'user-2' }), Date.now())
    expect(verifier.clearCache()).toBe(2)
    expect(verifier.clearCache()).toBe(0)
  })

  it('never takes a token for another one that ends alike', async () => {
    const token = await sign(rs256, claims())
    expect(await outcome(token)).toBe('accepted')
    const [header, payload, signature] = token.split('.')
    const forged = Buffer.from(payload!, 'base64url').toString().replace('demo-agent', 'demo-admin')
    expect(await outcome(`${header}.${Buffer.from(forged).toString('base64url')}.${signature}`)).toBe(
      'token_signature',
    )
  })
})
