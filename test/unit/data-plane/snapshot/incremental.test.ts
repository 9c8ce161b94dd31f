/** An incremental compiler serves what a compilation of the whole document does, after generated changes; also its steps and its shared table. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runAtOnce } from '../../../../src/base/async/slices.ts'
import { SnapshotCompiler } from '../../../../src/data-plane/snapshot/compile.ts'
import { SharedTable } from '../../../../src/data-plane/snapshot/shared-table.ts'
import type { Snapshot } from '../../../../src/data-plane/snapshot/snapshot.ts'
import { applyUpdate, type ControlShare, EMPTY_SHARE } from '../../../../src/link/control-share.ts'
import { EMPTY_CONTENT, seal } from '../../../../src/link/document.ts'
import type { TenantShare } from '../../../../src/link/share-schema.ts'
import { principal } from '../../../../src/model/principal.ts'
import type { Tool } from '../../../../src/model/tool.ts'
import type { PreparedPolicy } from '../../../../src/policy/engine.ts'
import { compile, compileNow } from '../../../fixtures/compile.ts'
import { aTool, builds } from '../../../fixtures/exchange.ts'

const policy = {} as PreparedPolicy
const prepare = () => ({ validate: () => [], ...builds({ method: 'GET', url: '', headers: [] }) })
const TENANTS = ['a', 'a-b', 'b', 'c']
const SLOTS = [0, 1, 2]

const planOf = (perSecond: number) => ({
  slug: 'gold',
  name: 'Gold',
  perSecond,
  perMinute: 0,
  perDay: 0,
  perMonth: 0,
  burst: 0,
})

interface Drawn {
  readonly tenant: number
  readonly gone: boolean
  readonly suspended: boolean
  readonly apis: readonly { readonly at: number; readonly upstream: number; readonly path: number }[]
  readonly keys: readonly { readonly at: number; readonly api: number }[]
  readonly tool: boolean
  readonly plan: number | undefined
}

const drawn: fc.Arbitrary<Drawn> = fc.record({
  tenant: fc.integer({ min: 0, max: TENANTS.length - 1 }),
  gone: fc.boolean(),
  suspended: fc.boolean(),
  apis: fc.uniqueArray(fc.record({ at: fc.constantFrom(...SLOTS), upstream: fc.nat(1), path: fc.nat(1) }), {
    selector: ({ at }) => at,
  }),
  keys: fc.uniqueArray(fc.record({ at: fc.constantFrom(...SLOTS), api: fc.constantFrom(...SLOTS) }), {
    selector: ({ at }) => at,
  }),
  tool: fc.boolean(),
  plan: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
})

function tenantOf({ tenant, suspended, apis, keys, tool }: Drawn): TenantShare {
  const name = TENANTS[tenant]!
  return {
    id: `ten_${name}`,
    name,
    suspended,
    plans: [],
    apis: apis.map(({ at, upstream, path }) => ({
      id: `api_${name}_${at}`,
      path: `/p${at}${path}`,
      upstreamUrl: `http://u${upstream}`,
      authRequired: true,
      requestsPerHour: null,
    })),
    subscriptions: keys.map(({ at, api }) => ({
      id: `sub_${name}_${at}`,
      apiId: `api_${name}_${api}`,
      application: `app${at}`,
      plan: 'gold',
      rateLimit: null,
      quota: null,
      expiresAtMs: null,
    })),
    keys: keys.map(({ at }) => ({
      id: `key_${name}_${at}`,
      subscriptionId: `sub_${name}_${at}`,
      prefix: `tgk_${tenant}${at}`,
      hash: 'x',
      expiresAtMs: null,
    })),
    consumers: [],
    tools: tool ? [aTool({ name: `t_${name}`, tenant: name, apiId: `api_${name}_0` } as Partial<Tool>)] : [],
  }
}

/** What both snapshots must have alike; the numbers of their APIs may differ. */
function reported(snapshot: Snapshot) {
  const ids = TENANTS.flatMap(name => SLOTS.map(at => `api_${name}_${at}`))
  const without = (id: string) => {
    const { index: _, ...api } = snapshot.apiOf(id) ?? { index: 0 }
    return api
  }
  return {
    version: snapshot.version,
    count: snapshot.toolCount,
    apis: snapshot.apis.map(({ prefix, upstreamUrl }) => [prefix, upstreamUrl]),
    byId: ids.map(without),
    keys: TENANTS.flatMap((_, tenant) => SLOTS.map(at => snapshot.keyOf(`tgk_${tenant}${at}`))),
    tools: TENANTS.map(name => [...snapshot.toolsOf(name).keys()]),
    tenantIds: TENANTS.map(name => snapshot.tenantIdOf(name)),
    suspended: TENANTS.map(name => snapshot.isSuspended(name)),
    entitled: TENANTS.flatMap(tenant =>
      ids.map(id =>
        snapshot.entitlementOf(
          principal({
            kind: 'token',
            subject: 'app0',
            consumer: 'app0',
            tenant,
            roles: [],
            scopes: [],
            subscriptionId: undefined,
            expiresAtMs: 1,
          }),
          id,
          0,
        ),
      ),
    ),
  }
}

describe('an incremental compiler', () => {
  it('serves the same as a compilation of the whole document, after any changes', () => {
    fc.assert(
      fc.property(fc.array(drawn, { minLength: 1, maxLength: 12 }), changes => {
        const caching = new SnapshotCompiler(prepare)
        let control: ControlShare = EMPTY_SHARE
        for (const [at, change] of changes.entries()) {
          const id = `ten_${TENANTS[change.tenant]}`
          control = applyUpdate(control, {
            version: `v${at}`,
            base: control.version,
            tenants: change.gone ? [] : [tenantOf(change)],
            removed: change.gone ? [id] : [],
            ...(change.plan === undefined ? {} : { plans: [planOf(change.plan)] }),
          })
          const document = seal({ ...EMPTY_CONTENT, control })
          const snapshot = compileNow(caching, document, policy)
          expect(reported(snapshot)).toEqual(reported(compile(document, { policy, prepare })))
          const numbers = snapshot.apis.map(api => api.index)
          expect(new Set(numbers).size).toBe(numbers.length)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('keeps APIs that stay as they are, and their list when all do', () => {
    const compiler = new SnapshotCompiler(prepare)
    const base: Drawn = {
      tenant: 0,
      gone: false,
      suspended: false,
      apis: [{ at: 0, upstream: 0, path: 0 }],
      keys: [],
      tool: false,
      plan: undefined,
    }
    const step = (share: ControlShare, change: Drawn, version: string) =>
      applyUpdate(share, { version, base: share.version, tenants: [tenantOf(change)], removed: [] })
    const serve = (control: ControlShare) => compileNow(compiler, seal({ ...EMPTY_CONTENT, control }), policy)
    const one = step(EMPTY_SHARE, base, '1')
    const two = step(one, { ...base, keys: [{ at: 0, api: 0 }] }, '2')
    const three = step(two, { ...base, apis: [{ at: 0, upstream: 1, path: 0 }] }, '3')
    const [first, second, third] = [serve(one), serve(two), serve(three)]
    expect(second.apis).toBe(first.apis)
    expect(third.apis).not.toBe(first.apis)
    expect(first.apiOf('api_a_0')!.upstreamUrl).toBe('http://u0')
    expect(second.keyOf('tgk_00')).toBeDefined()
    expect(third.keyOf('tgk_00')).toBeUndefined()
  })

  it('leaves out the tool of an API when a tool set has a tool of the same name', () => {
    const own = aTool({ name: 'echo', tenant: null, toolSet: 'platform-set' })
    const share = tenantOf({
      tenant: 0,
      gone: false,
      suspended: false,
      apis: [],
      keys: [],
      tool: false,
      plan: undefined,
    })
    const theirs = aTool({ name: 'echo', tenant: 'a', toolSet: 'api', apiId: 'api_a_0' } as Partial<Tool>)
    const control = applyUpdate(EMPTY_SHARE, {
      version: '1',
      base: '',
      tenants: [{ ...share, tools: [theirs] }],
      removed: [],
    })
    const snapshot = compile(seal({ ...EMPTY_CONTENT, tools: [own], control }), { policy, prepare })
    expect(snapshot.toolsOf('a').get('echo')?.tool.toolSet).toBe('platform-set')
  })
})

describe('a tenant with 20,000 subscriptions', () => {
  const SUBSCRIPTIONS = 20_000
  const slots = Array.from({ length: SUBSCRIPTIONS }, (_, at) => ({ at, api: at % 3 }))
  const whole = { tenant: 0, gone: false, suspended: false, tool: false, plan: undefined, keys: slots }
  const apis = SLOTS.map(at => ({ at, upstream: 0, path: 0 }))
  const documentOf = (tenant: TenantShare, version: string) =>
    seal({
      ...EMPTY_CONTENT,
      control: applyUpdate(EMPTY_SHARE, {
        version,
        base: null,
        plans: [planOf(1)],
        tenants: [tenant],
        removed: [],
      }),
    })

  it('is compiled in steps that other work may interrupt, and keeps what did not change', () => {
    const compiler = new SnapshotCompiler(prepare)
    const steps = (tenant: TenantShare, version: string) => {
      const work = compiler.compileSteps(documentOf(tenant, version))
      let count = 1
      let step = work.next()
      for (; step.done !== true; step = work.next()) count++
      return { count, snapshot: step.value(policy) }
    }
    const tenant = tenantOf({ ...whole, apis })
    const first = steps(tenant, '1')
    expect(first.count).toBeGreaterThan(SUBSCRIPTIONS / 64)

    const [key, ...others] = tenant.keys
    const second = steps({ ...tenant, keys: [{ ...key!, hash: 'y' }, ...others] }, '2')
    expect(second.count).toBeGreaterThan(SUBSCRIPTIONS / 64)
    expect(second.snapshot.keyOf('tgk_00')?.hash).toBe('y')
    expect(first.snapshot.keyOf('tgk_00')?.hash).toBe('x')
    for (const at of [1, 7, SUBSCRIPTIONS - 1])
      expect(second.snapshot.keyOf(`tgk_0${at}`)).toBe(first.snapshot.keyOf(`tgk_0${at}`))
  })
})

describe('a shared table', () => {
  it('is what a map would be, and stays as it was when a changed one is made', () => {
    const key = fc.integer({ min: 0, max: 30 }).map(at => `key-${at}`)
    const change = fc.record({ gone: fc.array(key), come: fc.array(fc.tuple(key, fc.nat())) })
    fc.assert(
      fc.property(fc.array(change, { maxLength: 20 }), changes => {
        let table = SharedTable.empty<number>()
        const oracle = new Map<string, number>()
        for (const { gone, come } of changes) {
          const before = table
          const was = [...oracle]
          for (const one of gone) oracle.delete(one)
          for (const [one, value] of come) oracle.set(one, value)
          table = runAtOnce(table.changeSteps(gone, come))
          for (let at = 0; at <= 30; at++) expect(table.get(`key-${at}`)).toBe(oracle.get(`key-${at}`))
          for (const [one, value] of was) expect(before.get(one)).toBe(value)
        }
      }),
    )
  })
})
