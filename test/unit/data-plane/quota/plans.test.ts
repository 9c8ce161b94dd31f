/** The seeded plans, and the plans file: what it may say, and how its faults are named. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { describe, expect, test } from 'vitest'
import { parsePlans, readPlans } from '../../../../src/data-plane/quota/plans.ts'
import { SEEDED_PLANS } from '../../../../src/model/plan.ts'

const byslug = (plans: readonly { slug: string }[]) =>
  Object.fromEntries(plans.map(plan => [plan.slug, plan]))

describe('what it says', () => {
  test('the seeded plans have these limits', () => {
    expect(byslug(SEEDED_PLANS)).toEqual({
      community: {
        slug: 'community',
        name: 'Community',
        perSecond: 5,
        perMinute: 60,
        perDay: 10_000,
        perMonth: 100_000,
      },
      silver: {
        slug: 'silver',
        name: 'Silver',
        perSecond: 20,
        perMinute: 300,
        perDay: 50_000,
        perMonth: 1_000_000,
      },
      gold: {
        slug: 'gold',
        name: 'Gold',
        perSecond: 100,
        perMinute: 5_000,
        perDay: 500_000,
        perMonth: 10_000_000,
      },
      enterprise: { slug: 'enterprise', name: 'Enterprise' },
    })
  })

  test('the file at the top of the repository says the same and gives the demo clients their plans', () => {
    const file = readPlans(new URL('../../../../plans.yaml', import.meta.url).pathname)
    expect(byslug(file.plans)).toEqual(byslug(SEEDED_PLANS))
    expect(file.consumers).toEqual({
      'demo-agent': 'community',
      'demo-viewer': 'community',
      'demo-admin': 'enterprise',
    })
    expect(readFileSync(new URL('../../../../plans.yaml', import.meta.url), 'utf8')).toContain(
      '5 calls a minute',
    )
  })

  test('an empty file is the seeded plans', () => {
    for (const text of ['', '# nothing\n', 'plans:\nconsumers:\n'])
      expect(parsePlans(text)).toEqual({ plans: SEEDED_PLANS, consumers: {} })
  })

  test('a plan under a seeded name replaces it whole; others come on top', () => {
    const { plans, consumers } = parsePlans(
      'plans:\n  silver: { perMinute: 7, burst: 2 }\n  own-1: { name: Ours, perDay: 0 }\nconsumers:\n  a: own-1\n  42: silver\n  __proto__: silver\n',
    )
    expect(byslug(plans).silver).toEqual({ slug: 'silver', name: 'silver', perMinute: 7, burst: 2 })
    expect(byslug(plans)['own-1']).toEqual({ slug: 'own-1', name: 'Ours', perDay: 0 })
    expect(plans).toHaveLength(5)
    expect(Object.entries(consumers).sort()).toEqual(
      [
        ['a', 'own-1'],
        ['42', 'silver'],
        ['__proto__', 'silver'],
      ].sort(),
    )
  })
})

test('rules are kept in their order', () => {
  const rules = [
    { plan: 'gold', role: 'analyst', per: 'user' },
    { plan: 'silver', tenant: 'acme' },
    { plan: 'gold', user: 'u-1' },
  ]
  expect(parsePlans(JSON.stringify({ rules })).planRules).toEqual(rules)
})

describe('faults', () => {
  test('all are reported together, each with its field, the reason and the fix', () => {
    const text = [
      'plans:',
      '  Bad Name: {}',
      '  a: { perMinute: -1, perDay: 1.5, perSecond: lots, burst: 1e12, perWeek: 3, name: 5 }',
      '  b: 12',
      'consumers:',
      '  x: nowhere',
      '  y: [gold]',
      'extra: 1',
      'rules:',
      '  - { plan: nowhere, role: 5, per: day, group: x }',
      '  - gold',
    ].join('\n')
    let message = ''
    try {
      parsePlans(text, 'my.yaml')
    } catch (error) {
      message = (error as Error).message
    }
    for (const part of [
      'my.yaml cannot be used:',
      'plans.Bad Name: "Bad Name" is not a plan name',
      'plans.a.perMinute: -1 is not a limit; write a whole number',
      'plans.a.perDay: 1.5',
      'plans.a.perSecond: "lots"',
      'plans.a.burst: 1000000000000',
      'plans.a.perWeek: this field does not exist; the fields are name, perSecond',
      'plans.a.name: 5 is not a name',
      'plans.b: 12 is not a mapping',
      'consumers.x: "nowhere" is not a plan; use one of community, silver, gold, enterprise, a, b',
      'consumers.y: ["gold"] is not a plan',
      'extra: this field does not exist; the fields are plans, consumers, rules',
      'rules[0].plan: "nowhere" is not a plan; use one of',
      'rules[0].role: 5 is not a name',
      'rules[0].per: "day" is not a valid value; write "user"',
      'rules[0].group: this field does not exist',
      'rules[1]: "gold" is not a mapping',
    ])
      expect(message).toContain(part)
  })

  test('broken YAML is named with line and column, a repeated key too', () => {
    expect(() => parsePlans('plans:\n  a: {')).toThrow(/plans is not valid YAML:\n {2}line \d+, column \d+/)
    expect(() => parsePlans('consumers:\n  a: gold\n  a: silver\n')).toThrow(/line 3/)
  })

  test('a file that expands without end is refused', () => {
    const bomb = ['a: &a [x, x]']
    for (let i = 0; i < 20; i++)
      bomb.push(`b${i}: &b${i} [${`*${i === 0 ? 'a' : `b${i - 1}`}, `.repeat(9)}1]`)
    expect(() => parsePlans(bomb.join('\n'), 'my.yaml')).toThrow(
      /^my\.yaml is not valid YAML:\n {2}.*alias count.*write the values in place of the aliases/,
    )
    expect(() => parsePlans('#'.repeat(5 << 20))).toThrow(/the maximum is/)
  })

  test('an alias without an anchor is refused with the file', () => {
    expect(() => parsePlans('plans: *nowhere', 'my.yaml')).toThrow(/^my\.yaml is not valid YAML:\n {2}/)
  })

  // worker threads cannot change the working directory
  test.runIf(isMainThread)('a missing file is a fault, except at the place where none has to be', () => {
    expect(() => readPlans('/nowhere/plans.yaml')).toThrow(
      /\/nowhere\/plans.yaml: the plans file cannot be read .*\. Set PLANS to a readable file/,
    )
    const before = process.cwd()
    const empty = mkdtempSync(join(tmpdir(), 'plans-'))
    process.chdir(empty)
    try {
      expect(readPlans('./plans.yaml')).toEqual({ plans: SEEDED_PLANS, consumers: {} })
    } finally {
      process.chdir(before)
      rmSync(empty, { recursive: true })
    }
  })
})
