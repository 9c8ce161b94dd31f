/** Cached decisions: found again for the same facts, for no other, and never more than allowed. */
import { describe, expect, it } from 'vitest'
import { policyUnavailable } from '../../../src/policy/decision.ts'
import { DecisionCache } from '../../../src/policy/decision-cache.ts'
import type { Decision } from '../../../src/policy/engine.ts'
import { INPUT_PATHS, readsOf } from '../../../src/policy/reads.ts'
import { type InputParts, inputOf } from '../../fixtures/policy/inputs.ts'

const YES: Decision = { allow: true, reasons: [], revision: 'r' }
const SHIPPED_READS = [
  'action.name',
  'resource.properties.annotations.destructiveHint',
  'resource.properties.annotations.readOnlyHint',
  'resource.properties.own',
  'resource.properties.tenant',
  'subject.properties.roles',
  'subject.properties.scopes',
  'subject.properties.tenant',
]
const ALL_BUT_THE_CHANGING = INPUT_PATHS.filter(
  path => !['context.time', 'context.arguments', 'context.answers'].includes(path),
)

/** Caches for the first input, asks for the second under the same keys. */
function foundFor(reads: readonly string[], cached: InputParts, asked: InputParts): boolean {
  const cache = new DecisionCache(readsOf(reads), 100)
  cache.cache(inputOf(cached), 'caller', 7, YES)
  return cache.find(inputOf(asked), 'caller', 7) === YES
}

describe('a cached decision', () => {
  it('is found by the same keys and facts', () => {
    expect(foundFor(SHIPPED_READS, {}, {})).toBe(true)
  })

  it('is found for a resource without tags and hints', () => {
    const { tags: _, annotations: __, ...bare } = inputOf().resource.properties
    const input = { ...inputOf(), resource: { ...inputOf().resource, properties: bare } }
    const cache = new DecisionCache(readsOf(ALL_BUT_THE_CHANGING), 100)
    cache.cache(input, 'caller', 7, YES)
    expect(cache.find(structuredClone(input), 'caller', 7)).toBe(YES)
    expect(cache.find(inputOf(), 'caller', 7)).toBeUndefined()
  })

  it('is not found for another caller or another resource', () => {
    const cache = new DecisionCache(readsOf(SHIPPED_READS), 100)
    cache.cache(inputOf(), 'caller', 7, YES)
    expect(cache.find(inputOf(), 'other', 7)).toBeUndefined()
    expect(cache.find(inputOf(), 'caller', 8)).toBeUndefined()
  })

  it.each<[string, InputParts]>([
    ['another action', { action: 'tools.list' }],
    ['another tool under the same number', { id: 'delete_order' }],
    ['a tenant switched under the same key', { caller: { tenant: 'beta' } }],
    ['a thing of another tenant', { resource: { tenant: 'beta' } }],
    ['a thing of one’s own', { resource: { own: true } }],
    [
      'a hint that changed with the tool set',
      { resource: { annotations: { readOnlyHint: false, destructiveHint: true } } },
    ],
    ['another kind of thing', { type: 'api' }],
  ])('is not found for %s', (_, asked) => {
    expect(foundFor(SHIPPED_READS, {}, asked)).toBe(false)
  })

  it.each<[string, InputParts]>([
    ['arguments', { context: { arguments: { id: 1 } } }],
    ['the time', { context: { time: 1 } }],
    ['the plan', { context: { plan: 'gold' } }],
    ['the way of access', { context: { access: 'rest' } }],
    ['the consumer', { caller: { consumer: 'another' } }],
    ['the subject', { subject: { id: 'another', type: 'api_key' } }],
    ['the tags', { resource: { tags: ['other'] } }],
  ])('does not depend on %s when no rule reads it', (_, asked) => {
    expect(foundFor(SHIPPED_READS, {}, asked)).toBe(true)
  })

  it.each<[string, InputParts]>([
    ['the plan', { context: { plan: 'gold' } }],
    ['no plan', { context: { plan: null } }],
    ['the way of access', { context: { access: 'rest' } }],
    ['the consumer', { caller: { consumer: 'another' } }],
    ['the subject', { subject: { id: 'another' } }],
    ['the kind of credential', { subject: { type: 'api_key' } }],
    ['the tags', { resource: { tags: ['other'] } }],
    ['the tool set', { resource: { toolSet: 'other' } }],
  ])('depends on %s when a rule reads it', (_, asked) => {
    expect(foundFor(ALL_BUT_THE_CHANGING, {}, {})).toBe(true)
    expect(foundFor(ALL_BUT_THE_CHANGING, {}, asked)).toBe(false)
  })

  it('is found although lists and hints are new objects of the same content', () => {
    expect(
      foundFor(ALL_BUT_THE_CHANGING, { resource: { tags: ['a', 'b'] } }, { resource: { tags: ['a', 'b'] } }),
    ).toBe(true)
  })
})

describe('nothing is cached', () => {
  it.each(['context.time', 'context.arguments.amount', ''])('when rules read %j', path => {
    expect(foundFor([path], {}, {})).toBe(false)
  })

  it('of a decision that was none', () => {
    const cache = new DecisionCache(readsOf(SHIPPED_READS), 100)
    cache.cache(inputOf(), 'caller', 7, policyUnavailable('r'))
    expect(cache.size).toBe(0)
  })

  it('about a tool with a hint that no one compares', () => {
    const parts = { resource: { annotations: { readOnlyHint: true, myOwnHint: 1 } } }
    expect(foundFor(SHIPPED_READS, parts, parts)).toBe(false)
  })
})

describe('the number of cached decisions', () => {
  it('stays within its bound, and the oldest caller’s go first', () => {
    const cache = new DecisionCache(readsOf(SHIPPED_READS), 10)
    for (let caller = 0; caller < 7; caller++) {
      for (let tool = 0; tool < 3; tool++) cache.cache(inputOf(), `caller ${caller}`, tool, YES)
      expect(cache.size).toBeLessThanOrEqual(10)
    }
    expect(cache.find(inputOf(), 'caller 0', 0)).toBeUndefined()
    expect(cache.find(inputOf(), 'caller 6', 2)).toBe(YES)
  })

  it('holds for one caller with many tools', () => {
    const cache = new DecisionCache(readsOf(SHIPPED_READS), 10)
    for (let tool = 0; tool < 35; tool++) {
      cache.cache(inputOf(), 'caller', tool, YES)
      expect(cache.size).toBeLessThanOrEqual(10)
      expect(cache.find(inputOf(), 'caller', tool)).toBe(YES)
    }
  })

  it('is reported when they are cleared, and is then 0', () => {
    const cache = new DecisionCache(readsOf(SHIPPED_READS), 10)
    for (let tool = 0; tool < 4; tool++) cache.cache(inputOf(), 'caller', tool, YES)
    cache.cache(inputOf(), 'caller', 0, YES)
    expect(cache.clearCache()).toBe(4)
    expect(cache.size).toBe(0)
    expect(cache.find(inputOf(), 'caller', 0)).toBeUndefined()
    expect(cache.clearCache()).toBe(0)
  })

  it.each(['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint', 'title'])(
    'is not found for a thing whose %s has changed alone',
    hint => {
      const cache = new DecisionCache(readsOf(['resource.properties.annotations']), 100)
      const annotations = {
        readOnlyHint: true,
        destructiveHint: true,
        idempotentHint: true,
        openWorldHint: true,
      }
      const input = (more: object) =>
        inputOf({ resource: { annotations: { ...annotations, title: 'a', ...more } as never } })
      const decision: Decision = { allow: true, reasons: [], revision: 'r' }
      cache.cache(input({}), 'k', 0, decision)
      expect(cache.find(input({}), 'k', 0)).toBe(decision)
      expect(cache.find(input({ [hint]: hint === 'title' ? 'b' : false }), 'k', 0)).toBeUndefined()
    },
  )

  it.each(['tags', 'toolSet', 'source'])(
    'is not found for a thing whose %s alone is read and has changed',
    name => {
      const cache = new DecisionCache(readsOf([`resource.properties.${name}`]), 100)
      const input = (resource: object) => inputOf({ resource })
      const decision: Decision = { allow: true, reasons: [], revision: 'r' }
      cache.cache(input({}), 'k', 0, decision)
      expect(cache.find(input({}), 'k', 0)).toBe(decision)
      expect(cache.find(input({ [name]: name === 'tags' ? ['b'] : 'b' }), 'k', 0)).toBeUndefined()
    },
  )

  it.each([
    [undefined, { readOnlyHint: false }],
    [{ readOnlyHint: false }, undefined],
  ])('is not found for a thing with hints %j when it was cached with %j', (asked, cached) => {
    const cache = new DecisionCache(readsOf(['resource.properties.annotations']), 100)
    const input = (annotations: object | undefined) => inputOf({ resource: { annotations } as never })
    cache.cache(input(cached), 'k', 0, YES)
    expect(cache.find(input(cached), 'k', 0)).toBe(YES)
    expect(cache.find(input(asked), 'k', 0)).toBeUndefined()
  })
})
