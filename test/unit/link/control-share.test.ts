/** What the control plane's share and the plans file become in a snapshot: APIs by prefix, keys, tools, limits and blocked consumers. */
import { describe, expect, it } from 'vitest'
import { SnapshotCompiler } from '../../../src/data-plane/snapshot/compile.ts'
import { keyLookup } from '../../../src/data-plane/snapshot/key-records.ts'
import type { Snapshot } from '../../../src/data-plane/snapshot/snapshot.ts'
import { applyUpdate, EMPTY_SHARE } from '../../../src/link/control-share.ts'
import { EMPTY_CONTENT, type SnapshotContent, seal } from '../../../src/link/document.ts'
import type { TenantShare } from '../../../src/link/share-schema.ts'
import { DEFAULT_LIMITS, type Plan } from '../../../src/model/plan.ts'
import type { Principal } from '../../../src/model/principal.ts'
import { compileNow } from '../../fixtures/compile.ts'
import { aPolicy, aPrincipal, aTool, builds } from '../../fixtures/exchange.ts'

const NOW = 1_000
const policy = aPolicy()
const prepare = () => ({ validate: () => [], ...builds({ method: 'GET', url: '', headers: [] }) })
const api = { id: 'api_1', path: '/a', upstreamUrl: 'http://u', authRequired: true, requestsPerHour: null }
const subscription = {
  id: 'sub_1',
  apiId: 'api_1',
  application: 'app',
  plan: 'gold',
  rateLimit: null,
  quota: null,
  expiresAtMs: null,
}
const key = { id: 'key_1', subscriptionId: 'sub_1', prefix: 'tgk_1', hash: 'h', expiresAtMs: null }

function plan(slug: string, perSecond: number): Plan {
  return { slug, name: slug, perSecond }
}

function tenant(fields: Partial<TenantShare> = {}): TenantShare {
  return {
    id: `ten_${fields.name ?? 'acme'}`,
    name: 'acme',
    suspended: false,
    plans: [plan('gold', 7)],
    apis: [api],
    subscriptions: [subscription],
    keys: [key],
    consumers: [],
    tools: [],
    ...fields,
  }
}

let version = 0
function control(tenants: readonly TenantShare[], plans: readonly Plan[] = []) {
  return applyUpdate(EMPTY_SHARE, { version: `${++version}`, base: null, tenants, plans, removed: [] })
}

function compiler(): (content: Partial<SnapshotContent>) => Snapshot {
  const caching = new SnapshotCompiler(prepare)
  return content => compileNow(caching, seal({ ...EMPTY_CONTENT, ...content }), policy)
}
const snapshotOf = (fields: Partial<TenantShare> = {}) => compiler()({ control: control([tenant(fields)]) })

describe('a subscription', () => {
  const app = aPrincipal({ consumer: 'app' })

  it('gives its application the limits of its plan for its API alone', () => {
    const snapshot = snapshotOf()
    expect(snapshot.entitlementOf(app, 'api_1', NOW)).toMatchObject({
      plan: { slug: 'gold' },
      limits: { perSecond: 7 },
      subscriptionId: 'sub_1',
    })
    const none = { plan: undefined, limits: DEFAULT_LIMITS, subscriptionId: undefined, per: 'user' }
    const { per: _, ...ofClient } = none
    expect(snapshot.entitlementOf(aPrincipal({ subject: 'other', consumer: 'other' }), 'api_1', NOW)).toEqual(
      ofClient,
    )
    expect(snapshot.entitlementOf(app, 'api_2', NOW)).toEqual(none)
    expect(snapshot.entitlementOf(app, undefined, NOW)).toEqual(none)
    expect(snapshot.entitlementOf(aPrincipal({ consumer: 'other' }), 'api_1', NOW)).toEqual(none)
    expect(snapshot.entitlementOf(aPrincipal({ consumer: 'app', tenant: 'globex' }), 'api_1', NOW)).toEqual(
      none,
    )
    expect(snapshot.entitlementOf(aPrincipal({ consumer: 'app', tenant: undefined }), 'api_1', NOW)).toEqual(
      none,
    )
  })

  it('overrides the limits of its plan', () => {
    const snapshot = snapshotOf({ subscriptions: [{ ...subscription, rateLimit: 3, quota: 9 }] })
    expect(snapshot.entitlementOf(app, 'api_1', NOW).limits).toMatchObject({ perMinute: 3, perMonth: 9 })
  })

  it('that a key names counts before the one of the application', () => {
    const second = { ...subscription, id: 'sub_2', application: 'elsewhere', plan: 'silver' }
    const snapshot = snapshotOf({
      plans: [plan('gold', 7), plan('silver', 2)],
      subscriptions: [subscription, second, { ...second, id: 'sub_3', apiId: 'api_2' }],
    })
    const named = (subscriptionId: string) => aPrincipal({ consumer: 'app', subscriptionId })
    expect(snapshot.entitlementOf(named('sub_2'), 'api_1', NOW).subscriptionId).toBe('sub_2')
    expect(snapshot.entitlementOf(named('sub_3'), 'api_1', NOW).subscriptionId).toBe('sub_1')
    expect(snapshot.entitlementOf(named('sub_9'), 'api_1', NOW).subscriptionId).toBe('sub_1')
  })

  it('ends at the millisecond it expires', () => {
    const snapshot = snapshotOf({ subscriptions: [{ ...subscription, expiresAtMs: NOW }] })
    expect(snapshot.entitlementOf(app, 'api_1', NOW - 1).subscriptionId).toBe('sub_1')
    expect(snapshot.entitlementOf(app, 'api_1', NOW).subscriptionId).toBeUndefined()
  })
})

describe('plans', () => {
  const consumers = [
    { subject: 'rich', plan: 'gold', blocked: false },
    { subject: 'lost', plan: 'platinum', blocked: false },
    { subject: 'plain', plan: null, blocked: true },
  ]
  const perSecond = (snapshot: ReturnType<typeof snapshotOf>, consumer: string) =>
    snapshot.entitlementOf(aPrincipal({ consumer }), undefined, NOW).limits.perSecond

  it('of consumers apply where no subscription does', () => {
    const snapshot = snapshotOf({ consumers })
    expect(perSecond(snapshot, 'rich')).toBe(7)
    expect(perSecond(snapshot, 'lost')).toBe(DEFAULT_LIMITS.perSecond)
    expect(perSecond(snapshot, 'plain')).toBe(DEFAULT_LIMITS.perSecond)
  })

  it('of a tenant win over those of all tenants, and these over the settings file', () => {
    const serve = compiler()
    const share = control(
      [tenant({ consumers }), tenant({ name: 'globex', consumers, plans: [] })],
      [plan('gold', 5)],
    )
    const snapshot = serve({ control: share, plans: [plan('gold', 3)], consumers: { someone: 'gold' } })
    expect(perSecond(snapshot, 'rich')).toBe(7)
    const globex = aPrincipal({ consumer: 'rich', tenant: 'globex' })
    expect(snapshot.entitlementOf(globex, undefined, NOW).limits.perSecond).toBe(5)
    expect(perSecond(snapshot, 'someone')).toBe(5)
  })

  it('of the settings file apply to tokens, not to a key whose application took the name', () => {
    const snapshot = compiler()({ plans: [plan('gold', 3)], consumers: { someone: 'gold' } })
    const perSecondOf = (kind: 'token' | 'api_key') =>
      snapshot.entitlementOf(aPrincipal({ consumer: 'someone', kind }), undefined, NOW).limits.perSecond
    expect(perSecondOf('token')).toBe(3)
    expect(perSecondOf('api_key')).not.toBe(3)
  })

  it('are listed in the order in which they decide', () => {
    const share = control([tenant({ consumers: [{ subject: 'app', plan: 'gold', blocked: false }] })])
    const snapshot = compiler()({ control: share, plans: [plan('silver', 3)], consumers: { app: 'silver' } })
    expect(snapshot.plansOf('acme', 'app', NOW)).toEqual([
      { source: 'subscription', api_id: 'api_1', plan: 'gold' },
      { source: 'control_plane', plan: 'gold' },
      { source: 'plans_file', plan: 'silver' },
      { source: 'default', plan: null },
    ])
    const limitIn = (tenantName: string) =>
      snapshot.entitlementOf(aPrincipal({ consumer: 'app', tenant: tenantName }), undefined, NOW).limits
        .perSecond
    expect([limitIn('acme'), limitIn('globex')]).toEqual([7, 3])
    expect(snapshot.plansOf('globex', 'app', NOW).map(({ source }) => source)).toEqual([
      'plans_file',
      'default',
    ])
    expect(snapshot.plansOf('acme', 'other', NOW)).toEqual([{ source: 'default', plan: null }])
  })

  it('are found for a counter, where no rule may have chosen another', () => {
    const share = control([tenant({ consumers: [{ subject: 'app', plan: 'gold', blocked: false }] })])
    const document = { control: share, plans: [plan('silver', 3)], consumers: { other: 'silver' } }
    const snapshot = compiler()(document)
    const subscription = snapshot.entitlementOf(aPrincipal({ consumer: 'app' }), 'api_1', NOW)
    expect(subscription.counter).toBe('api_1')
    expect(snapshot.countedEntitlement('acme', 'app', subscription.counter)).toBe(subscription)
    expect(snapshot.countedEntitlement('acme', 'app', 'api_2')).toBeUndefined()
    const slugOf = (consumer: string) => snapshot.countedEntitlement('acme', consumer, undefined)?.plan?.slug
    expect([slugOf('app'), slugOf('other'), slugOf('unknown')]).toEqual(['gold', 'silver', undefined])
    expect(snapshot.countedEntitlement('acme', 'unknown', undefined)?.limits.perMinute).toBe(5)
    const ruled = compiler()({ ...document, planRules: [{ plan: 'silver', role: 'agent' }] })
    expect(ruled.countedEntitlement('acme', 'unknown', undefined)).toBeUndefined()
    expect(ruled.countedEntitlement('acme', 'app', undefined)?.plan?.slug).toBe('gold')
  })

  it('of the settings file that change apply at once to tenants that did not', () => {
    const serve = compiler()
    const share = control([tenant({ consumers, plans: [] })])
    const [before, again, after] = [3, 3, 4].map(limit =>
      serve({ control: share, plans: [plan('gold', limit)] }),
    )
    expect([before, again, after].map(snapshot => perSecond(snapshot!, 'rich'))).toEqual([3, 3, 4])
  })

  it('that stay leave the entitlements of a tenant the same objects', () => {
    const serve = compiler()
    const shared = tenant({ consumers })
    const plans: readonly Plan[] = []
    const [one, two] = [1, 2].map(() => serve({ control: control([shared], plans) }))
    const rich = aPrincipal({ consumer: 'rich' })
    expect(two!.entitlementOf(rich, undefined, NOW)).toBe(one!.entitlementOf(rich, undefined, NOW))
  })

  it('do not decide who is blocked', () => {
    const snapshot = snapshotOf({ consumers })
    expect(['rich', 'lost', 'plain', 'unknown'].map(name => snapshot.isBlocked('acme', name))).toEqual([
      false,
      false,
      true,
      false,
    ])
    expect(snapshot.isBlocked('globex', 'plain')).toBe(false)
    expect(snapshot.isBlocked(undefined, 'plain')).toBe(false)
  })
})

describe('APIs', () => {
  it('are listed by the name of their tenant, then by prefix', () => {
    const apis = ['/b', '/c', '/a'].map((path, at) => ({ ...api, id: `api_${at}`, path }))
    const names = ['globex', 'acme', 'initech']
    const snapshot = compiler()({ control: control(names.map(name => tenant({ name, apis }))) })
    expect(snapshot.apis.map(({ prefix }) => prefix)).toEqual(
      ['acme', 'globex', 'initech'].flatMap(name => ['a', 'b', 'c'].map(path => `/t/${name}/${path}`)),
    )
    expect(names.map(name => snapshot.tenantIdOf(name))).toEqual(names.map(name => `ten_${name}`))
    expect(snapshot.tenantIdOf('nobody')).toBeUndefined()
    expect(snapshot.apis.every(({ index }) => index >= 0)).toBe(true)
  })

  it.each([
    ['/', 'http://u', '/t/acme', 'http://u'],
    ['/a', 'http://u/base/', '/t/acme/a', 'http://u/base'],
    ['/a//b//', 'http://u//', '/t/acme/a//b', 'http://u'],
  ])('at %s of %s lose slashes at the end', (path, upstreamUrl, prefix, upstream) => {
    const [compiled] = snapshotOf({ apis: [{ ...api, path, upstreamUrl }] }).apis
    expect(compiled).toMatchObject({
      prefix,
      upstreamUrl: upstream,
      tenant: 'acme',
      requestsPerHour: undefined,
    })
  })

  it('become another object when anything about them changes, and only then', () => {
    const serve = compiler()
    const served = (fields: object) =>
      serve({ control: control([tenant({ apis: [{ ...api, ...fields }] })]) }).apiOf('api_1')
    let before = served({})
    expect(served({})).toBe(before)
    for (const fields of [
      {},
      { upstreamUrl: 'http://v' },
      { upstreamUrl: 'http://v', authRequired: false },
      { upstreamUrl: 'http://v', authRequired: false, requestsPerHour: 60 },
    ]) {
      const after = served({ path: '/b', ...fields })
      expect(after).not.toBe(before)
      expect(after).toMatchObject({ prefix: '/t/acme/b', ...fields })
      before = after
    }
  })
})

describe('subscriptions that are not served', () => {
  const caller = (fields: Partial<Principal>) =>
    ({ kind: 'token', tenant: 'acme', consumer: 'app', subscriptionId: undefined, ...fields }) as Principal
  const inactive = {
    id: 'sub_2',
    apiId: 'api_1',
    application: 'old',
    keys: [{ ...key, id: 'key_2', prefix: 'tgk_2' }],
  }

  it.each(['suspended', 'expired'] as const)('are found as %s, by key and by application', state => {
    const snapshot = snapshotOf({ keys: [key], inactive: [{ ...inactive, state }] })
    expect(keyLookup(() => snapshot)('tgk_2')).toMatchObject({
      id: 'key_2',
      subscriptionId: 'sub_2',
      application: 'old',
    })
    expect(snapshot.subscriptionFault(caller({ subscriptionId: 'sub_2' }), 'api_1', NOW)).toBe(state)
    expect(snapshot.subscriptionFault(caller({ consumer: 'old' }), 'api_1', NOW)).toBe(state)
    expect(snapshot.subscriptionFault(caller({ consumer: 'old' }), 'api_2', NOW)).toBeUndefined()
    expect(snapshot.subscriptionFault(caller({ subscriptionId: 'sub_1' }), 'api_1', NOW)).toBeUndefined()
    expect(snapshot.subscriptionFault(caller({ tenant: undefined }), 'api_1', NOW)).toBeUndefined()
  })

  it('do not hide a newer one of the same application, and expire without an update', () => {
    const snapshot = snapshotOf({
      subscriptions: [{ ...subscription, expiresAtMs: NOW + 1 }],
      inactive: [{ ...inactive, application: subscription.application, state: 'expired' }],
    })
    expect(snapshot.subscriptionFault(caller({}), 'api_1', NOW)).toBeUndefined()
    expect(snapshot.subscriptionFault(caller({}), 'api_1', NOW + 1)).toBe('expired')
  })
})

describe('keys', () => {
  it.each([
    [null, null, undefined],
    [500, null, 500],
    [null, 700, undefined],
    [500, 700, 500],
    [900, 700, 900],
  ])(
    'that expire at %s of a subscription that expires at %s expire at %s: calls of an expired subscription have their own refusal',
    (ofKey, ofSubscription, expected) => {
      const snapshot = snapshotOf({
        keys: [{ ...key, expiresAtMs: ofKey }],
        subscriptions: [{ ...subscription, expiresAtMs: ofSubscription }],
      })
      expect(keyLookup(() => snapshot)('tgk_1')).toEqual({
        id: 'key_1',
        hash: 'h',
        status: 'active',
        expiresAtMs: expected,
        application: 'app',
        tenant: 'acme',
        apiIds: ['api_1'],
        subscriptionId: 'sub_1',
        roles: [],
        scopes: ['read', 'execute'],
      })
    },
  )

  it('without a subscription, and before the first snapshot, are not found', () => {
    const snapshot = snapshotOf({ keys: [key, { ...key, prefix: 'tgk_2', subscriptionId: 'sub_9' }] })
    const lookup = keyLookup(() => snapshot)
    expect(lookup('tgk_2')).toBeUndefined()
    expect(lookup('tgk_3')).toBeUndefined()
    expect(keyLookup(() => undefined)('tgk_1')).toBeUndefined()
  })

  it('follow the name of the tenant that subscribes', () => {
    const compileNext = compiler()
    const subscriberAfter = (subscriber: string) => {
      const subscriptions = [{ ...subscription, subscriber }]
      const snapshot = compileNext({ control: control([tenant({ subscriptions })]) })
      return keyLookup(() => snapshot)('tgk_1')?.subscriber
    }
    expect(['globex', 'initech'].map(subscriberAfter)).toEqual(['globex', 'initech'])
  })

  it('give the same record in each lookup of a snapshot', () => {
    const snapshot = snapshotOf()
    const lookup = keyLookup(() => snapshot)
    expect(lookup('tgk_1')).toBe(lookup('tgk_1'))
  })
})

describe('tools', () => {
  const [beta, alpha] = ['beta', 'alpha'].map(name => aTool({ name, tenant: null, toolSet: 'platform' }))

  it('are in the order of their names, the own among those of all tenants', () => {
    const own = aTool({ name: 'aleph', tenant: 'acme' })
    const snapshot = compiler()({ tools: [beta!, alpha!], control: control([tenant({ tools: [own] })]) })
    expect([...snapshot.toolsOf('acme').keys()]).toEqual(['aleph', 'alpha', 'beta'])
    expect([...snapshot.toolsOf('globex').keys()]).toEqual(['alpha', 'beta'])
    expect([...snapshot.toolsOf(undefined).keys()]).toEqual(['alpha', 'beta'])
  })

  it('of a tool set come before those of an API, whichever is first', () => {
    const [ofApi, ofSet] = [aTool({ apiId: 'api_1', toolSet: 'api' }), aTool()]
    for (const tools of [
      [ofApi, ofSet],
      [ofSet, ofApi],
    ])
      expect(compiler()({ tools }).toolsOf('acme').get('get_order')?.tool).toBe(ofSet)
  })

  it('of two APIs with the same name are those of the first one, which is the older one in a share', () => {
    const [older, newer] = ['api_1', 'api_2'].map(apiId => aTool({ apiId, toolSet: apiId }))
    const snapshot = compiler()({ control: control([tenant({ tools: [older!, newer!] })]) })
    expect(snapshot.toolsOf('acme').get('get_order')?.tool).toBe(older)
  })

  it('that stay are not prepared again, and their lists are the same', () => {
    const prepared: string[] = []
    const caching = new SnapshotCompiler(tool => {
      prepared.push(tool.name)
      return prepare()
    })
    const serve = (content: Partial<SnapshotContent>) =>
      compileNow(caching, seal({ ...EMPTY_CONTENT, ...content }), policy)
    const tools = [alpha!, beta!]
    const first = serve({ tools })
    expect(serve({ tools, plans: [plan('gold', 1)] }).toolsOf('acme')).toBe(first.toolsOf('acme'))
    const third = serve({ tools: [alpha!, aTool({ tenant: null })] })
    expect([...third.toolsOf('acme').keys()]).toEqual(['alpha', 'get_order'])
    expect(prepared).toEqual(['alpha', 'beta', 'get_order'])
  })

  it('of one tenant follow its share', () => {
    const serve = compiler()
    const globex = tenant({ name: 'globex', tools: [aTool({ name: 'theirs', tenant: 'globex' })] })
    const tools = [alpha!]
    const [before, after] = ['first', 'second'].map(name => {
      const acme = tenant({ tools: [aTool({ name, tenant: 'acme' })] })
      return serve({ tools, control: control([globex, acme]) })
    })
    const namesIn = (snapshot: Snapshot) => [...snapshot.toolsOf('acme').keys()]
    expect([before!, after!].map(namesIn)).toEqual([
      ['alpha', 'first'],
      ['alpha', 'second'],
    ])
    for (const [other, names] of [
      ['globex', ['alpha', 'theirs']],
      ['initech', ['alpha']],
      [undefined, ['alpha']],
    ] as const) {
      const [listBefore, list] = [before!.toolsOf(other), after!.toolsOf(other)]
      expect([...list.keys()], other).toEqual(names)
      for (const [name, { tool, validate }] of list) {
        expect(tool, name).toBe(listBefore.get(name)!.tool)
        expect(validate, name).toBe(listBefore.get(name)!.validate)
      }
    }
  })
})
