/** What follows from a ToolView for names, order and budget. */
import { describe, expect, it } from 'vitest'
import type { Tool } from '../../../src/model/tool.ts'
import type { ToolView } from '../../../src/model/tool-view.ts'
import { countWithin, matchesPattern, viewRules } from '../../../src/model/view-rules.ts'

const view = (more: Partial<ToolView>): ToolView => ({
  name: 'v',
  namespace: 'platform',
  tenant: null,
  select: { toolSets: [], tags: [], tools: [], exclude: [] },
  changes: [],
  order: [],
  overBudget: 'search',
  bindings: [],
  ...more,
})
const tool = (name: string) => ({ name, toolSet: 's', tags: [], description: name }) as unknown as Tool

it.each([
  ['a', 'a', true],
  ['a', 'ab', false],
  ['*', '', true],
  ['a*', 'a', true],
  ['*b', 'ab', true],
  ['a*b', 'ab', true],
  ['a*b', 'a', false],
  ['ab*ab', 'ab', false],
  ['a*b*c', 'a-b-b-c', true],
  ['a*b*c', 'a-c-b', false],
  ['shop.get', 'shopXget', false],
])('the pattern %s and the name %s', (pattern, name, expected) => {
  expect(matchesPattern(pattern, name)).toBe(expected)
})

it('takes no more time for many stars', () => {
  expect(matchesPattern(`${'a*'.repeat(120)}b`, 'a'.repeat(10_000))).toBe(false)
})

describe('names', () => {
  const rules = viewRules(
    view({
      changes: [
        { tool: 'a', name: 'b' },
        { tool: 'c', name: 'a' },
      ],
    }),
  )

  it('are exchanged without two tools of one name', () => {
    expect(rules.realName('b')).toBe('a')
    expect(rules.realName('a')).toBe('c')
    expect(rules.realName('c')).toBeUndefined()
    // b lost its name to a
    expect([tool('a'), tool('b'), tool('c'), tool('d')].map(rules.includes)).toEqual([
      true,
      false,
      true,
      true,
    ])
  })

  it('are those of the order, then of the alphabet', () => {
    const { compare } = viewRules(view({ order: ['z', 'm*'] }))
    expect(['a', 'm2', 'z', 'm1', 'b'].sort(compare)).toEqual(['z', 'm1', 'm2', 'a', 'b'])
  })
})

it.each([
  [[3, 3, 3], 9, 4, 'all'],
  [[3, 3, 3], 8, 0, 2],
  [[3, 3, 3], 8, 4, 1],
  [[], 1, 1, 'all'],
  [[9], 8, 0, 0],
])('of the costs %j within %i, with %i reserved: %s', (costs, budget, reserved, expected) => {
  expect(countWithin(costs, budget, reserved)).toBe(expected)
})
