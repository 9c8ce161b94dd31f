/** Every declared field of every resource, changed by every caller: allowed to those with the authority that the served document declares for it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Authority } from '../../../src/model/schema/authority.ts'
import { type Caller, openPlane, type Plane, populate, type World } from './plane.ts'

/** Callers of tenant acme, and those of no tenant. `app` owns its subscription, key and webhook. */
const HOLDERS: { readonly [A in Authority]: readonly Caller[] } = {
  member: ['app', 'devops', 'admin', 'platform'],
  owner: ['app', 'admin', 'platform'],
  'tenant-admin': ['admin', 'platform'],
  operator: ['platform', 'operator'],
}
const EVERYONE: readonly Caller[] = [
  'app',
  'devops',
  'admin',
  'platform',
  'operator',
  'viewer',
  'subscriber',
  'portal',
  'auditor',
  'unprivileged',
  'stranger',
]

interface Subject {
  /** Component of the body of a PATCH. */
  readonly component: string
  /** @returns path of a new resource */
  make(): Promise<string>
  /** Another valid value for each field. */
  readonly values: { readonly [field: string]: unknown }
  /** For a resource that is nobody's whom its fields name: a webhook of an administrator, a global plan. */
  readonly holders?: readonly Caller[]
}

let plane: Plane
let world: World
let properties: (component: string) => { readonly [field: string]: { readonly 'x-authority'?: Authority } }

async function made(caller: Caller, path: string, body: object): Promise<string> {
  const reply = await plane.call(caller, 'POST', path, body)
  expect(reply.status, JSON.stringify(reply.body)).toBe(201)
  return `${path}/${reply.body.id}`
}

let count = 0
const inAcme = (path: string) => `/v1/tenants/${world.acme}/${path}`
const anApi = () =>
  made('admin', inAcme('apis'), {
    name: 'Orders',
    path: `/orders-${++count}`,
    upstream_url: 'http://127.0.0.1:9/orders',
  })
const hook = { url: 'https://hooks.example/events', events: ['subscription.created'] }
const HOOK = {
  url: 'https://other.example/events',
  events: ['subscription.revoked'],
  enabled: false,
  secret: 'x'.repeat(40),
  custom_headers: { 'x-team': 'orders' },
}
const PLAN = {
  name: 'Other',
  rate_limit_per_second: 9,
  rate_limit_per_minute: 99,
  daily_request_limit: 999,
  monthly_request_limit: 9999,
  burst_limit: 9,
  requires_approval: false,
}

const SUBJECTS: { readonly [name: string]: Subject } = {
  API: {
    component: 'ApiPatch',
    make: anApi,
    values: {
      name: 'Other',
      description: 'Other',
      type: 'mcp',
      upstream_url: 'https://evil.example/',
      mcp: { authentication: { type: 'bearer', secret: 'crm' } },
      path: '/payroll',
      version: 'v9',
      versioning: { by: 'header', default: true },
      deprecation: { after_sunset: 'refuse' },
      auth_required: false,
      rate_limit: { requests_per_hour: 1 },
      passthrough: { response_headers: ['set-cookie'] },
      traffic: { cache: { scope: 'public' } },
      spec: { openapi: '3.1.0', info: { title: 'Other', version: '1' }, paths: {} },
      portal_visibility: true,
      visibility: 'public',
      shared_with: ['*'],
      status: 'deprecated',
    },
  },
  product: {
    component: 'ProductPatch',
    make: async () => {
      const [api] = [(await anApi()).split('/').at(-1)]
      const body = { slug: `suite-${++count}`, name: 'Suite', plan: 'silver', api_ids: [api] }
      return made('admin', inAcme('products'), body)
    },
    values: {
      name: 'Other',
      description: 'Other',
      plan: 'gold',
      portal_visibility: true,
      get api_ids() {
        return [world.api]
      },
    },
  },
  'webhook of an application': {
    component: 'WebhookPatch',
    make: () => made('app', inAcme('webhooks'), hook),
    values: HOOK,
  },
  'webhook of an administrator': {
    component: 'WebhookPatch',
    make: () => made('admin', inAcme('webhooks'), hook),
    values: HOOK,
    holders: HOLDERS['tenant-admin'],
  },
  'plan of a tenant': {
    component: 'PlanPatch',
    make: () => made('admin', '/v1/plans', { slug: `own-${++count}`, name: 'Own', tenant_id: world.acme }),
    values: PLAN,
  },
  'global plan': {
    component: 'PlanPatch',
    make: () => made('platform', '/v1/plans', { slug: `global-${++count}`, name: 'Global' }),
    values: PLAN,
    // one that acts for every tenant: a token without tenant does not suffice
    holders: ['platform'],
  },
  consumer: {
    component: 'ConsumerPatch',
    make: async () => {
      // none that calls in this file: it is blocked
      const api_id = (await anApi()).split('/').at(-1)
      await made('admin', inAcme('subscriptions'), { api_id, plan: 'silver', application: 'other-app' })
      const { body } = await plane.call('platform', 'GET', inAcme('consumers?q=other-app'))
      return inAcme(`consumers/${body.items[0].id}`)
    },
    values: { name: 'Other', plan: 'gold', notes: 'Other', status: 'blocked' },
  },
  subscription: {
    component: 'SubscriptionPatch',
    make: async () => {
      const id = (await anApi()).split('/').at(-1)
      const body = { api_id: id, plan: 'silver', application: 'app' }
      return made('app', inAcme('subscriptions'), body)
    },
    values: {
      plan: 'gold',
      rate_limit: 9,
      quota: 9,
      expires_at: '2099-01-01T00:00:00Z',
      callback_url: 'https://other.example/',
      metadata: { team: 'orders' },
    },
  },
  tenant: {
    component: 'TenantPatch',
    make: async () => `/v1/tenants/${world.acme}`,
    values: {
      tier: 'enterprise',
      settings: { api_requests_per_hour: 1_000_000 },
      admin_email: 'other@example.com',
      status: 'active',
    },
  },
}

beforeAll(async () => {
  plane = await openPlane()
  world = await populate(plane)
  const { body } = await plane.call(null, 'GET', '/openapi.json')
  properties = component => body.components.schemas[component].properties
})
afterAll(() => plane.close())

describe.each(Object.entries(SUBJECTS))(
  'a field of a %s',
  (subject, { component, make, values, holders: declared }) => {
    it('declares its authority, and another value is tried for it', () => {
      expect(Object.keys(properties(component)).sort()).toEqual(Object.keys(values).sort())
      expect(Object.values(properties(component)).map(field => field['x-authority'])).not.toContain(undefined)
    })

    it.each(Object.keys(values))('%s is changed by those who have it alone', async field => {
      const holders = declared ?? HOLDERS[properties(component)[field]!['x-authority']!]
      const path = await make()
      const before = (await plane.call('platform', 'GET', path)).body
      const body = { [field]: values[field] }
      // its type needs the fields of the type
      if (field === 'mcp') Object.assign(body, { type: 'mcp' })
      for (const caller of EVERYONE.filter(each => !holders.includes(each))) {
        const reply = await plane.call(caller, 'PATCH', path, body)
        // of another tenant, a resource whose path names none is not found
        const isHidden = caller === 'stranger' && subject === 'plan of a tenant'
        expect([caller, reply.status, reply.body.error?.code]).toEqual(
          isHidden ? [caller, 404, 'not_found'] : [caller, 403, 'forbidden'],
        )
      }
      expect((await plane.call('platform', 'GET', path)).body).toEqual(before)
      for (const caller of holders) {
        const reply = await plane.call(caller, 'PATCH', path, body)
        expect([caller, reply.status], JSON.stringify(reply.body)).toEqual([caller, 200])
      }
    })
  },
)

describe('a new resource', () => {
  const NEW = {
    apis: () => ({ name: 'Orders', path: `/new-${++count}`, upstream_url: 'http://127.0.0.1:9/' }),
    products: () => ({ slug: `new-${++count}`, name: 'Suite', plan: 'silver', api_ids: [world.api] }),
  }
  it.each(Object.entries(NEW))('of %s needs the authority of its fields', async (kind, body) => {
    for (const caller of EVERYONE) {
      const reply = await plane.call(caller, 'POST', inAcme(kind), body())
      const expected = HOLDERS['tenant-admin'].includes(caller) ? 201 : 403
      expect([caller, reply.status], JSON.stringify(reply.body)).toEqual([caller, expected])
    }
  })

  it('is not deleted by a member', async () => {
    for (const path of [
      await anApi(),
      await SUBJECTS.product!.make(),
      await SUBJECTS['webhook of an administrator']!.make(),
    ])
      for (const caller of EVERYONE.filter(each => !HOLDERS['tenant-admin'].includes(each)))
        expect([caller, (await plane.call(caller, 'DELETE', path)).status]).toEqual([caller, 403])
  })
})
