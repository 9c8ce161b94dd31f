/** The cache of verified credentials: never a principal for another text or after its expiry, and a bounded number, whatever the texts look like. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CredentialMemory } from '../../../src/identity/credential-cache.ts'
import { type Principal, principal } from '../../../src/model/principal.ts'

const principalOf = (subject: string): Principal =>
  principal({
    kind: 'token',
    subject,
    consumer: subject,
    tenant: undefined,
    roles: [],
    scopes: [],
    subscriptionId: undefined,
    expiresAtMs: 0,
  })

const memoryOf = (capacity: number) => new CredentialMemory({ capacity, tailChars: 6 })

describe('the credential memory', () => {
  it('gives back exactly what was put in, never anything for another text', () => {
    // Many texts with the same tail, so that the fingerprint alone cannot distinguish them.
    const text = fc
      .tuple(fc.string({ maxLength: 4 }), fc.constantFrom('', 'sametail-sametail'))
      .map(([head, tail]) => head + tail)
    fc.assert(
      fc.property(fc.array(fc.tuple(text, fc.nat(100)), { maxLength: 60 }), fc.nat(100), (puts, nowMs) => {
        const memory = memoryOf(16)
        const model = new Map<string, { principal: Principal; untilMs: number }>()
        for (const [token, untilMs] of puts) {
          const who = principalOf(token)
          memory.set(token, who, untilMs, -1)
          model.set(token, { principal: who, untilMs })
        }
        for (const [token, expected] of model) {
          const found = memory.get(token, nowMs)
          // Bounded: an entry may have been evicted, but none is too old or that of another text.
          if (found !== undefined) {
            expect(found).toBe(expected.principal)
            expect(expected.untilMs).toBeGreaterThan(nowMs)
          }
        }
        expect(memory.size).toBeLessThanOrEqual(16)
      }),
      { numRuns: 5000 },
    )
  })

  it('holds 4,096 tokens in use nearly all at once', () => {
    const memory = memoryOf(8192)
    const tokens = Array.from({ length: 4096 }, (_, at) => `${'h'.repeat(20)}.${at}.${hash(at)}`)
    for (const token of tokens) memory.set(token, principalOf(token), 1000, 0)
    const held = tokens.filter(token => memory.get(token, 1)?.subject === token)
    expect(held.length).toBeGreaterThan(4070)
    expect(memory.size).toBe(held.length)
    expect(memory.clear()).toBe(held.length)
    expect(memory.get(tokens[0]!, 1)).toBeUndefined()
  })

  it('takes nothing that is over already', () => {
    const memory = memoryOf(16)
    memory.set('abcdefg', principalOf('a'), 5, 5)
    memory.set('short', principalOf('a'), 10, 5)
    expect(memory.size).toBe(0)
  })

  it('stays within its bound under a flood of colliding tails and still serves the newest', () => {
    const memory = memoryOf(64)
    for (let at = 0; at < 10_000; at++)
      memory.set(`${at}-the-very-same-tail`, principalOf(String(at)), 1000 + at, 0)
    expect(memory.size).toBeLessThanOrEqual(64)
    expect(memory.get('9999-the-very-same-tail', 1)?.subject).toBe('9999')
  })
})

function hash(at: number): string {
  return Buffer.from(
    `${Math.imul(at + 1, 0x9e3779b1) >>> 0}-${Math.imul(at + 7, 0x85ebca6b) >>> 0}`,
  ).toString('base64url')
}
