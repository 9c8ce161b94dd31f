/** The cases every policy engine must decide alike: roles × scopes × operations × kinds of tools and tenants. No engine is named here. */
import { expect, it } from 'vitest'
import type { Decision, PolicyInput, PreparedPolicy } from '../../../src/policy/engine.ts'
import { expectedOf, OPERATIONS } from './oracle.ts'

const ROLES: readonly (readonly string[])[] = [
  [],
  ['viewer'],
  ['devops'],
  ['tenant-admin'],
  ['cpi-admin'],
  ['subscriber'],
  ['offline_access', 'subscriber'],
  ['subscriber', 'viewer'],
  ['offline_access', 'uma_authorization'],
  ['devops', 'viewer'],
]

const ALL_SCOPES = ['read', 'write', 'execute', 'admin', 'deploy', 'audit']

/** Each scope alone, none, each missing from all, all, and what real tokens carry besides. */
const SCOPES: readonly (readonly string[])[] = [
  [],
  ...ALL_SCOPES.map(scope => [scope]),
  ...ALL_SCOPES.map(scope => ALL_SCOPES.filter(other => other !== scope)),
  ALL_SCOPES,
  ['execute', 'read'],
  ['openid', 'profile', 'email'],
]

type Properties = PolicyInput['resource']['properties']

const HINTS: readonly Properties['annotations'][] = [
  undefined,
  {},
  ...[true, false].flatMap(readOnlyHint =>
    [true, false].map(destructiveHint => ({
      readOnlyHint,
      destructiveHint,
      idempotentHint: true,
      openWorldHint: true,
    })),
  ),
]

const TENANTS: readonly (readonly [subject: string | null, resource: string | null])[] = [
  ['acme', null],
  ['acme', 'acme'],
  ['acme', 'beta'],
  [null, null],
  [null, 'acme'],
]

const UNKNOWN = [
  'tools.destroy',
  'control.tenants',
  'control.apis.*',
  '',
  'TOOLS.LIST',
  '__proto__',
  'toString',
]

interface Case {
  readonly input: PolicyInput
  readonly subjectKey: string
  readonly resourceKey: number
}

function inputOf(
  action: string,
  roles: readonly string[],
  scopes: readonly string[],
  tenants: (typeof TENANTS)[number],
  beside: Partial<Properties>,
  context: Partial<PolicyInput['context']>,
): PolicyInput {
  const [subjectTenant, tenant] = tenants
  return {
    subject: {
      type: 'token',
      id: 'subject-1',
      properties: { consumer: 'consumer-1', tenant: subjectTenant, roles, scopes },
    },
    action: { name: action },
    resource: { type: typeOf(action), id: 'thing-1', properties: { tenant, ...beside } },
    context: { access: 'rest', time: 1_790_000_000_000, plan: 'community', ...context },
  }
}

function typeOf(action: string): PolicyInput['resource']['type'] {
  if (action === 'tools.call') return 'tool'
  if (action.startsWith('control.')) return 'control'
  if (action === 'admin') return 'admin'
  return action === 'proxy' ? 'api' : 'tools'
}

/** Beside the tenant: what may differ for this operation. */
function variantsOf(action: string): readonly Partial<Properties>[] {
  if (action === 'tools.call') {
    return HINTS.map(annotations => ({
      toolSet: 'shop',
      tags: ['orders'],
      ...(annotations === undefined ? undefined : { annotations }),
    }))
  }
  return action.startsWith('control.') ? [{}, { own: true }, { own: false }] : [{}]
}

function* cases(): Generator<Case> {
  const resourceKeys = new Map<string, number>()
  for (const action of [...OPERATIONS, ...UNKNOWN]) {
    for (const beside of variantsOf(action)) {
      for (const tenants of TENANTS) {
        const resource = JSON.stringify([action, beside, tenants[1]])
        const resourceKey = resourceKeys.get(resource) ?? resourceKeys.size
        resourceKeys.set(resource, resourceKey)
        for (const roles of ROLES) {
          for (const scopes of SCOPES) {
            yield {
              input: inputOf(action, roles, scopes, tenants, beside, {}),
              subjectKey: JSON.stringify([tenants[0], roles, scopes]),
              resourceKey,
            }
          }
        }
      }
    }
  }
}

/** The parts of a decision that are fixed. */
function essence(decision: Decision): unknown {
  return {
    allow: decision.allow,
    unavailable: decision.unavailable === true,
    codes: [...new Set(decision.reasons.map(reason => reason.code))].sort(),
    scopes: [...new Set(decision.reasons.flatMap(reason => reason.scopes ?? []))].sort(),
  }
}

export interface ContractSubject {
  /** The engine with the shipped policies. */
  readonly policy: () => PreparedPolicy
  /** Every how many cases one is asked; 1 = all. An engine behind a network need not be asked 180,000 times. */
  readonly stride: number
}

/** Declares the tests of the suite; call it within a `describe`. */
export function policyContract({ policy, stride }: ContractSubject): void {
  it('decides roles × scopes × operations × kinds of tools as the documented table does', {
    timeout: 120_000,
  }, async () => {
    let asked = 0
    let at = 0
    for (const { input, subjectKey, resourceKey } of cases()) {
      if (at++ % stride !== 0) continue
      const expected = { ...expectedOf(input), unavailable: false }
      const decision = await policy().decide(input, subjectKey, resourceKey)
      if (JSON.stringify(sorted(essence(decision))) !== JSON.stringify(sorted(expected))) {
        expect({ input, ...(essence(decision) as object) }).toEqual({ input, ...expected })
      }
      asked++
    }
    expect(asked).toBeGreaterThan(30_000 / stride)
  })

  it('gives the same responses when asked again', async () => {
    let at = 0
    for (const { input, subjectKey, resourceKey } of cases()) {
      if (at++ % (stride * 37) !== 0) continue
      const first = await policy().decide(input, subjectKey, resourceKey)
      expect(await policy().decide(input, subjectKey, resourceKey)).toEqual(first)
    }
  })

  it('gives every denial a reason with a code and a message, and names its revision', async () => {
    let denials = 0
    let at = 0
    for (const { input, subjectKey, resourceKey } of cases()) {
      if (at++ % (stride * 11) !== 0) continue
      const decision = await policy().decide(input, subjectKey, resourceKey)
      expect(decision.revision).toBe(policy().revision)
      if (decision.allow) continue
      denials++
      expect(decision.reasons.length).toBeGreaterThan(0)
      for (const { code, message } of decision.reasons) {
        expect(code).toMatch(/^[a-z_]+$/)
        expect(message).toMatch(/^[A-Z].*\.$/)
      }
    }
    expect(denials).toBeGreaterThan(0)
  })

  it('decides the same with and without arguments: at list time they are unknown', async () => {
    for (const scopes of SCOPES) {
      const annotations = {
        readOnlyHint: false,
        destructiveHint: true,
        idempotentHint: false,
        openWorldHint: true,
      }
      const listed = inputOf('tools.call', [], scopes, ['acme', null], { annotations }, {})
      const called = inputOf(
        'tools.call',
        [],
        scopes,
        ['acme', null],
        { annotations },
        { arguments: { id: 'o-1' } },
      )
      const key = JSON.stringify(['acme', [], scopes])
      const [one, other] = [await policy().decide(listed, key, 900), await policy().decide(called, key, 901)]
      expect(one.allow).toBe(other.allow)
    }
  })

  it('names the scopes that would have been enough', async () => {
    const annotations = {
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: true,
      openWorldHint: true,
    }
    const input = inputOf('tools.call', ['viewer'], [], ['acme', null], { annotations }, {})
    const decision = await policy().decide(input, 'viewer', 902)
    expect(essence(decision)).toMatchObject({
      allow: false,
      codes: ['insufficient_scope'],
      scopes: ['execute', 'write'],
    })
    const stepped = inputOf(
      'tools.call',
      ['viewer'],
      ['execute', 'write'],
      ['acme', null],
      { annotations },
      {},
    )
    expect((await policy().decide(stepped, 'stepped', 902)).allow).toBe(true)
  })
}

function sorted(value: unknown): unknown {
  return Object.fromEntries(Object.entries(value as object).sort(([a], [b]) => (a < b ? -1 : 1)))
}
