/** Which ToolViews are bound to a caller, most specific first, which one a name means, and which tools they offer. */
import { describe, expect, it } from 'vitest'
import { isOffered, offerOf } from '../../../../src/data-plane/pipeline/offer.ts'
import { EVERYTHING } from '../../../../src/data-plane/pipeline/selection.ts'
import { viewIndex } from '../../../../src/data-plane/snapshot/view-index.ts'
import { principal } from '../../../../src/model/principal.ts'
import type { Tool } from '../../../../src/model/tool.ts'
import type { ToolView, ViewBinding } from '../../../../src/model/tool-view.ts'

const view = (
  name: string,
  tenant: string | null,
  bindings: ViewBinding[],
  tools: string[] = [],
): ToolView => ({
  name,
  namespace: tenant === null ? 'platform' : `tenant-${tenant}`,
  tenant,
  select: { toolSets: [], tags: [], tools, exclude: [] },
  changes: [],
  order: [],
  overBudget: 'search',
  bindings,
})
const caller = (consumer: string, roles: string[] = [], tenant = 'acme') =>
  principal({
    kind: 'token',
    subject: consumer,
    consumer,
    tenant,
    roles,
    scopes: [],
    subscriptionId: undefined,
    expiresAtMs: Number.POSITIVE_INFINITY,
  })
const tool = (name: string) => ({ name, toolSet: 's', tags: [] }) as unknown as Tool

const index = viewIndex([
  view('all', null, [{ tenant: 'acme' }]),
  view('by-role', null, [{ role: 'support' }], ['a', 'b']),
  view('own', 'acme', [{ role: 'support' }], ['b', 'c']),
  view('bot', null, [{ consumer: 'bot', tenant: 'acme' }]),
  view('free', null, [], ['c']),
  view('same', null, []),
  view('same', 'acme', []),
])
const boundNames = (...args: Parameters<typeof caller>) =>
  index.boundTo(caller(...args), args[2] ?? 'acme').map(({ view: { name } }) => name)

describe('the bound views of a caller', () => {
  it.each([
    [['anyone'], ['all']],
    [
      ['anyone', ['support']],
      ['own', 'by-role', 'all'],
    ],
    [
      ['bot', ['support']],
      ['bot', 'own', 'by-role', 'all'],
    ],
    [['anyone', [], 'other'], []],
    [['anyone', ['support'], 'other'], ['by-role']],
    [['bot', [], 'other'], []],
  ] as const)('%j', (who, names) => {
    expect(boundNames(...(who as unknown as Parameters<typeof caller>))).toEqual(names)
  })

  it('are those of the tenant in which the caller acts', () => {
    const operator = caller('operator', ['support'], 'other')
    expect(index.boundTo(operator, 'other').map(({ view: { name } }) => name)).toEqual(['by-role'])
    expect(index.boundTo(operator, 'acme').map(({ view: { name } }) => name)).toEqual([
      'own',
      'by-role',
      'all',
    ])
  })
})

describe('a name', () => {
  it("means the tenant's own view first, and none of another tenant", () => {
    expect(index.named('same', 'acme')?.view.tenant).toBe('acme')
    expect(index.named('same', 'other')?.view.tenant).toBeNull()
    expect(index.named('own', 'other')).toBeUndefined()
    expect(index.named('own', undefined)).toBeUndefined()
  })
})

describe('what is offered', () => {
  const offered = (who: ReturnType<typeof caller> | undefined, name?: string) => {
    const selection = name === undefined ? EVERYTHING : { ...EVERYTHING, toolSet: name, key: name }
    const offer = offerOf({ views: index }, { principal: who, tenant: 'acme' }, selection)
    return ['a', 'b', 'c'].filter(each => isOffered(tool(each), offer)).join('')
  }

  it('is the bound view, a view bound as well by its address, and what a further view has in common with it', () => {
    const support = caller('anyone', ['support'])
    expect(offered(support)).toBe('bc')
    expect(offered(support, 'by-role')).toBe('ab')
    expect(offered(support, 'free')).toBe('c')
    expect(offered(support, 's')).toBe('bc')
    expect(offered(support, 'unknown')).toBe('')
  })

  it('is the named view for callers without a binding, and everything without a name', () => {
    const stranger = caller('anyone', [], 'other')
    expect(offered(undefined, 'free')).toBe('c')
    expect(offered(undefined)).toBe('abc')
    expect(offered(stranger, 'free')).toBe('c')
  })
})
