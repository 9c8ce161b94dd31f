/** A tenant's own bundle on top of the platform's: whatever it says, nothing becomes looser. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Decision, PreparedPolicy } from '../../../../src/policy/engine.ts'
import { tighten } from '../../../../src/policy/live/tightened.ts'
import { aPolicy } from '../../../fixtures/exchange.ts'
import { inputOf } from '../../../fixtures/policy/inputs.ts'

const says = (part: Partial<Decision>): PreparedPolicy => aPolicy(() => part)
const denies = (code: string): Partial<Decision> => ({ allow: false, reasons: [{ code, message: code }] })

function decide(
  platform: Partial<Decision>,
  tenants: Record<string, Partial<Decision> | null>,
  parts = inputOf(),
): Decision {
  const policies = Object.entries(tenants).map(
    ([name, part]) => [name, part === null ? null : says({ revision: name, ...part })] as const,
  )
  return tighten(says({ revision: 'platform', ...platform }), new Map(policies)).decide(
    parts,
    'k',
    0,
  ) as Decision
}

describe('a tenant with its own bundle', () => {
  it('is decided by the policy of the platform itself where there are no such bundles', () => {
    const platform = says({})
    expect(tighten(platform, new Map())).toBe(platform)
  })

  it('denies what the platform allows, by its own reasons; the revision names both', () => {
    expect(decide({}, { acme: denies('no_friday') })).toMatchObject({
      allow: false,
      revision: 'platform+acme',
      reasons: [{ code: 'no_friday' }],
    })
  })

  it('cannot allow what the platform denies', () => {
    expect(decide(denies('other_tenant'), { acme: { allow: true } })).toMatchObject({
      allow: false,
      revision: 'platform',
      reasons: [{ code: 'other_tenant' }],
    })
  })

  it('does not concern callers of other tenants, but does those who use its things', () => {
    const others = inputOf({ caller: { tenant: 'globex' } })
    expect(decide({}, { acme: denies('x') }, others)).toMatchObject({ allow: true, revision: 'platform' })
    const its = inputOf({ caller: { tenant: 'globex' }, resource: { tenant: 'acme' } })
    expect(decide({}, { acme: denies('x'), globex: {} }, its)).toMatchObject({
      allow: false,
      revision: 'platform+globex+acme',
    })
  })

  it('whose bundle cannot be served is denied everything', () => {
    expect(decide({}, { acme: null })).toMatchObject({ allow: false, unavailable: true })
  })

  it.each([
    [
      'paths to redact add up',
      { redact: { paths: ['/a'] } },
      { redact: { paths: ['/b'] } },
      { redact: { paths: ['/a', '/b'] } },
    ],
    [
      'the lower limit counts',
      { limit: { per_minute: 5 } },
      { limit: { per_minute: 9 } },
      { limit: { per_minute: 5 } },
    ],
    [
      'a lower one of the tenant, too',
      { limit: { per_minute: 5 } },
      { limit: { per_minute: 2 } },
      { limit: { per_minute: 2 } },
    ],
    [
      'a limit that is not a number limits to nothing known',
      { limit: { per_minute: 5 } },
      { limit: { per_minute: '2' } },
      { limit: {} },
    ],
    ['whichever it is', { limit: {} }, { limit: { per_minute: 2 } }, { limit: {} }],
    ['the same obligation stays once', { fly: { n: 1 } }, { fly: { n: 1 } }, { fly: { n: 1 } }],
    [
      'what is not a list is kept for the gateway to refuse',
      { redact: { paths: '/a' } },
      { redact: null },
      { redact: { paths: ['/a', undefined] } },
    ],
    ['one more obligation comes on top', { log: true }, { confirm: {} }, { log: true, confirm: {} }],
    [
      'none is taken back',
      { confirm: { message: 'Sure?' } },
      { confirm: false },
      { confirm: { message: 'Sure?' } },
    ],
    [
      'the platform asks in its own words',
      { confirm: { message: 'A' } },
      { confirm: { message: 'B' } },
      { confirm: { message: 'A' } },
    ],
  ])('obligations: %s', (_, platform, tenant, both) => {
    const decision = decide({ obligations: platform }, { acme: { obligations: tenant } })
    expect(decision.allow).toBe(true)
    expect(decision.obligations).toEqual(both)
  })

  it('obligations that contradict each other deny', () => {
    const decision = decide({ obligations: { fly: 1 } }, { acme: { obligations: { fly: 2 } } })
    expect(decision).toMatchObject({ allow: false, unavailable: true })
  })

  it('makes nothing looser, whatever both say', () => {
    const part = fc.record({
      allow: fc.boolean(),
      obligations: fc.dictionary(
        fc.constantFrom('confirm', 'log', 'fly'),
        fc.oneof(fc.constant(false), fc.constant(true), fc.record({ n: fc.integer({ max: 3 }) })),
      ),
    })
    fc.assert(
      fc.property(part, part, (platform, tenant) => {
        const decision = decide(platform, { acme: tenant })
        if (!decision.allow) return
        expect(platform.allow && tenant.allow).toBe(true)
        for (const [name, value] of Object.entries(platform.obligations))
          if (value !== false) expect(decision.obligations?.[name]).toEqual(value)
        for (const [name, value] of Object.entries(tenant.obligations))
          if (value !== false) expect(decision.obligations?.[name]).toBeTruthy()
      }),
    )
  })

  it('costs one object for each pair of decisions, not one for each call', () => {
    const frozen = (part: Partial<Decision>) =>
      Object.freeze({ allow: true, reasons: [], revision: 'r', ...part })
    const [one, two] = [frozen({}), frozen({ revision: 't' })]
    const policy = tighten(
      { ...says({}), decide: () => one },
      new Map([['acme', { ...says({}), decide: () => two }]]),
    )
    expect(policy.decide(inputOf(), 'k', 0)).toBe(policy.decide(inputOf(), 'k', 1))
  })

  it('waits for an engine that responds later', async () => {
    const later = aPolicy(async () => denies('later'))
    const policy = tighten(
      aPolicy(async () => ({})),
      new Map([['acme', later]]),
    )
    expect(await policy.decide(inputOf(), 'k', 0)).toMatchObject({
      allow: false,
      reasons: [{ code: 'later' }],
    })
  })

  it('asks once where caller and thing are of the same tenant', () => {
    const same = inputOf({ caller: { tenant: 'acme' }, resource: { tenant: 'acme' } })
    expect(decide({}, { acme: {} }, same).revision).toBe('platform+acme')
  })

  it('counts and clears what all its parts cache', () => {
    let cleared = 0
    const part = (cached: number): PreparedPolicy => ({
      ...says({}),
      cached,
      clearCache: () => {
        cleared++
        return cached
      },
    })
    const policy = tighten(
      part(1),
      new Map([
        ['acme', part(10)],
        ['globex', null],
        ['initech', part(100)],
      ]),
    )
    expect(policy.cached).toBe(111)
    expect(policy.clearCache()).toBe(111)
    expect(cleared).toBe(3)
  })
})
