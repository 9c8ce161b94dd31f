/** Random damage to good tokens, and garbage: none is accepted and none throws; the damage causes no more fetches than the cool-down allows. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { goodClaims, makeKey, sign, startProvider, type TestProvider, verifierFor } from './provider.ts'

let provider: TestProvider
let verifier: ReturnType<typeof verifierFor>
const tokens: string[] = []

beforeAll(async () => {
  const keys = await Promise.all(['RS256', 'ES256', 'EdDSA'].map(alg => makeKey(alg)))
  provider = await startProvider(keys)
  verifier = verifierFor(provider)
  verifier.start()
  await vi.waitUntil(() => verifier.ready, 15_000)
  for (const key of keys) tokens.push(await sign(key, goodClaims(provider)))
})
afterAll(async () => {
  await verifier.close()
  await provider.close()
})

describe('hostile tokens', () => {
  it('refuses every token with one character changed, left out or added', async () => {
    const damage = fc.tuple(
      fc.constantFrom(0, 1, 2),
      fc.nat(),
      fc.constantFrom('set', 'drop', 'add'),
      fc.constantFrom(...'ABCXYZabcxyz0189-_.=+/ \n\0é'),
    )
    await fc.assert(
      fc.asyncProperty(damage, async ([which, where, how, character]) => {
        const good = tokens[which]!
        const at = where % good.length
        const bad =
          good.slice(0, at) + (how === 'drop' ? '' : character) + good.slice(how === 'add' ? at : at + 1)
        if (bad === good) return
        const verified = await verifier.verify(bad, Date.now())
        expect(verified.kind, bad).toBe('refusal')
      }),
      { numRuns: 20_000 },
    )
    // Damage to the header makes unknown keys; the cool-down holds all those fetches to one.
    expect(provider.fetches).toBeLessThanOrEqual(2)
    for (const token of tokens)
      expect(await verifier.verify(token, Date.now())).toMatchObject({ kind: 'token' })
  })

  it('refuses garbage of every kind', async () => {
    const part = fc.oneof(
      fc.base64String().map(text => text.replace(/[+/=]/g, '-')),
      fc.jsonValue().map(value => Buffer.from(JSON.stringify(value)).toString('base64url')),
      fc
        .record({
          alg: fc.constantFrom('RS256', 'ES256', 'EdDSA', 'none', 'HS256', 1, null),
          kid: fc.constantFrom('RS256-1', 'ES256-1', 'EdDSA-1', undefined, '', 0),
        })
        .map(header => Buffer.from(JSON.stringify(header)).toString('base64url')),
    )
    const token = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(part, { maxLength: 6 }).map(parts => parts.join('.')),
    )
    await fc.assert(
      fc.asyncProperty(token, async text => {
        expect((await verifier.verify(text, Date.now())).kind).toBe('refusal')
      }),
      { numRuns: 20_000 },
    )
  })
})
