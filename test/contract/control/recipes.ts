/** For every operation that the matrix calls: how to make a thing it can be called on, and a valid call. A missing recipe fails the matrix. */
import type { Plane, World } from './plane.ts'

export interface Recipe {
  /** Values of the path's parameters besides `tenant_id`. */
  readonly params?: { readonly [name: string]: string }
  readonly body?: unknown
  /** Status of the same call when it is repeated; for POST without Idempotency-Key. */
  readonly repeated: number
}

let count = 0
const fresh = (word: string) => `${word}-${++count}`

async function made(plane: Plane, path: string, body: unknown): Promise<string> {
  const reply = await plane.call('platform', 'POST', `/v1${path}`, body)
  if (reply.status >= 300) throw new Error(`POST ${path}: ${reply.status} ${JSON.stringify(reply.body)}`)
  return reply.body.id
}

const newApi = () => ({
  name: 'Orders',
  description: 'All orders',
  upstream_url: 'http://127.0.0.1:9/orders',
  path: `/${fresh('orders')}`,
  version: 'v2',
  auth_required: true,
  rate_limit: { requests_per_hour: 1000 },
  spec: { openapi: '3.1.0' },
  versioning: { by: 'header', header: 'x-api-version', default: true },
  deprecation: { sunset_at: '2099-01-01T00:00:00Z', after_sunset: 'serve', link: 'https://docs.example/end' },
  traffic: {
    methods: ['GET', 'POST'],
    max_request_bytes: 1000,
    timeout_ms: 5000,
    request_headers: { set: { 'x-team': 'orders' }, remove: ['x-debug'] },
    response_headers: { set: {}, remove: ['x-powered-by'] },
    retry: {
      max_attempts: 3,
      statuses: [503],
      methods: ['GET', 'POST'],
      first_delay_ms: 10,
      max_delay_ms: 100,
      budget_percent: 10,
    },
    upstreams: {
      addresses: [{ url: 'http://a.example', weight: 3 }],
      health_check: {
        path: '/up',
        interval_ms: 1000,
        timeout_ms: 500,
        unhealthy_after: 3,
        healthy_after: 2,
      },
    },
    mirror: {
      url: 'http://b.example',
      percent: 10,
      methods: ['GET'],
      max_body_bytes: 10,
      timeout_ms: 1000,
    },
    connections: { http2: true },
    cache: { scope: 'public', default_age_secs: 10, max_age_secs: 60, max_response_bytes: 1000 },
    cors: {
      origins: ['https://app.example'],
      methods: ['GET'],
      allow_headers: ['x-team'],
      expose_headers: ['x-total'],
      credentials: true,
      max_age_secs: 60,
    },
    circuit_breaker: { opens_after: 3, open_ms: 500, max_open_ms: 5000, statuses: [500] },
  },
  portal_visibility: true,
})
const newPlan = () => ({ slug: fresh('plan'), name: 'Trial', rate_limit_per_minute: 10 })

async function anApi(plane: Plane, world: World): Promise<string> {
  return made(plane, `/tenants/${world.acme}/apis`, newApi())
}

const SPEC_HASH = 'a'.repeat(64)

/** Of type mcp; its server has changed the definitions of its tools. */
async function anApiWithChanges(plane: Plane, world: World): Promise<string> {
  const fields = {
    name: 'CRM',
    type: 'mcp',
    upstream_url: 'http://127.0.0.1:9/mcp',
    path: `/${fresh('crm')}`,
  }
  const id = await made(plane, `/tenants/${world.acme}/apis`, fields)
  const changes = [{ tool: 'erase', field: 'description', before: 'Erases.', after: null }]
  const pending = { spec_hash: SPEC_HASH, changes, more: 0, findings: [] }
  const definitions = [{ api_id: id, spec_hash: 'b'.repeat(64), pending }]
  const report = { sequence: 1, definitions }
  await plane.call('platform', 'POST', `/v1/gateways/${await aGateway(plane, world)}/reports`, report)
  return id
}

async function newProduct(plane: Plane, world: World) {
  const apis = [await anApi(plane, world), world.api]
  return {
    slug: fresh('product'),
    name: 'Commerce',
    plan: 'silver',
    api_ids: apis,
    portal_visibility: true,
  }
}

async function aProduct(plane: Plane, world: World): Promise<string> {
  return made(plane, `/tenants/${world.acme}/products`, await newProduct(plane, world))
}

/** A subscription of `app` that waits for approval. */
async function aSubscription(plane: Plane, world: World): Promise<string> {
  const body = { api_id: await anApi(plane, world), plan: 'silver', application: 'app' }
  return made(plane, `/tenants/${world.acme}/subscriptions`, body)
}

async function anApprovedSubscription(plane: Plane, world: World): Promise<string> {
  const id = await aSubscription(plane, world)
  await made(plane, `/tenants/${world.acme}/subscriptions/${id}/approve`, {})
  return id
}

async function aSuspendedSubscription(plane: Plane, world: World): Promise<string> {
  const id = await anApprovedSubscription(plane, world)
  await made(plane, `/tenants/${world.acme}/subscriptions/${id}/suspend`, {})
  return id
}

async function aKey(plane: Plane, world: World): Promise<string> {
  const subscription = await anApprovedSubscription(plane, world)
  return made(plane, `/tenants/${world.acme}/apikeys`, { subscription_id: subscription, name: 'ci' })
}

async function aDeployment(plane: Plane, world: World): Promise<string> {
  const hello = { name: 'edge', url: '', version: '0.1.0', workers: 1, authConfig: {} }
  const stream = await plane.control.transport.connect(hello, null)
  stream.close()
  const reply = await plane.call('platform', 'GET', `/v1/deployments?api_id=${world.api}`)
  return reply.body.items[0].id
}

async function aGateway(plane: Plane, world: World): Promise<string> {
  await aDeployment(plane, world)
  return (await plane.call('platform', 'GET', '/v1/gateways')).body.items[0].id
}

/** For the subscription of `app`. */
async function aConsumer(plane: Plane, world: World): Promise<string> {
  return (await plane.call('platform', 'GET', `/v1/tenants/${world.acme}/consumers?q=app`)).body.items[0].id
}

async function anOfflineGateway(plane: Plane, world: World): Promise<string> {
  const id = await aGateway(plane, world)
  await plane.store.write('*', async tx => {
    const gateway = (await tx.gateways.find(id))!
    await tx.gateways.update({ ...gateway, lastSeenAt: new Date(0) })
  })
  return id
}

const newWebhook = () => ({
  url: 'https://hooks.example/events',
  events: ['subscription.created', 'subscription.approved'],
  secret: 'a secret of thirty-two characters or more',
  enabled: true,
  custom_headers: { 'X-Environment': 'test' },
})

/** A tenant may have a hundred, so those of earlier tests are deleted. */
async function webhookCapacity(plane: Plane, world: World): Promise<void> {
  const all = `/v1/tenants/${world.acme}/webhooks`
  const { items, total } = (await plane.call('platform', 'GET', `${all}?limit=50`)).body
  if (total < 50) return
  for (const { id } of items) await plane.call('platform', 'DELETE', `${all}/${id}`)
}

async function aWebhook(plane: Plane, world: World): Promise<string> {
  await webhookCapacity(plane, world)
  return made(plane, `/tenants/${world.acme}/webhooks`, newWebhook())
}

async function aDelivery(plane: Plane, world: World) {
  const webhook = await aWebhook(plane, world)
  const body = { event_type: 'subscription.revoked' }
  return {
    webhook_id: webhook,
    delivery_id: await made(plane, `/tenants/${world.acme}/webhooks/${webhook}/test`, body),
  }
}

/** Stored as failed five times; sending has separate suites. */
async function aFailedDelivery(plane: Plane, world: World) {
  const params = await aDelivery(plane, world)
  const bounds = {
    slots: 1000,
    perWebhook: 1000,
    perTenant: 1000,
    quickPerTenant: 1000,
    slowPerTenant: 1000,
    slowAfterMs: 1_000,
    leaseMs: 1,
    lease: 'recipe',
  }
  await plane.store.write(world.acme, async tx => {
    await tx.deliveries.claim(bounds)
    await tx.deliveries.settle(params.delivery_id, 'recipe', {
      status: 'failed',
      attempt: 5,
      statusCode: 500,
      responseBody: 'no',
      error: 'responded with status 500',
      durationMs: 3,
      nextAttemptAt: null,
      deliveredAt: null,
    })
  })
  return params
}

type Maker = (plane: Plane, world: World) => Recipe | Promise<Recipe>

export const RECIPES: { readonly [operationId: string]: Maker } = {
  listAuditRecords: () => ({ repeated: 200 }),
  exportAuditRecords: () => ({ repeated: 200 }),
  readPolicy: () => ({ repeated: 200 }),
  checkPolicyDraft: () => ({
    body: {
      input: {
        subject: { type: 'token', id: 'someone', properties: {} },
        action: { name: 'tools.call' },
        resource: { type: 'tool', id: 'get_order', properties: {} },
        context: {},
      },
    },
    repeated: 200,
  }),
  shadowPolicyDraft: () => ({ body: { revision: 'draft' }, repeated: 200 }),
  promotePolicyCandidate: () => ({ body: { revision: 'draft' }, repeated: 200 }),
  rollBackPolicy: () => ({ body: { revision: 'first' }, repeated: 200 }),
  listFleetCalls: () => ({ repeated: 200 }),
  readFleetOverview: () => ({ repeated: 200 }),
  listFleetTools: () => ({ repeated: 200 }),
  replyToQuestion: async (plane, world) => ({
    params: { gateway_id: await aGateway(plane, world) },
    body: { question_id: 'q-1', content: '{"calls":[]}' },
    repeated: 204,
  }),

  createTenant: () => ({
    body: { name: fresh('tenant'), tier: 'starter', admin_email: 'a@example.com', region: 'eu' },
    repeated: 409,
  }),
  listTenants: () => ({ repeated: 200 }),
  readTenant: () => ({ repeated: 200 }),
  updateTenant: () => ({
    body: {
      tier: 'enterprise',
      settings: { rate_limit_multiplier: 2, api_requests_per_hour: 1_000_000 },
      admin_email: 'b@example.com',
    },
    repeated: 200,
  }),
  deleteTenant: () => ({ repeated: 204 }),

  createApi: () => ({ body: newApi(), repeated: 409 }),
  listTenantApis: () => ({ repeated: 200 }),
  readTenantApi: (_plane, world) => ({ params: { api_id: world.api }, repeated: 200 }),
  updateApi: async (plane, world) => ({
    params: { api_id: await anApi(plane, world) },
    body: { ...newApi(), status: 'deprecated' },
    repeated: 200,
  }),
  acceptDefinitions: async (plane, world) => ({
    params: { api_id: await anApiWithChanges(plane, world) },
    body: { spec_hash: SPEC_HASH },
    repeated: 200,
  }),
  migrateSubscriptions: async (plane, world) => ({
    params: { api_id: await anApi(plane, world) },
    body: { to_api_id: await anApi(plane, world), reason: 'the version ends' },
    repeated: 200,
  }),
  deleteApi: async (plane, world) => ({ params: { api_id: await anApi(plane, world) }, repeated: 404 }),
  listApis: () => ({ repeated: 200 }),
  readApi: (_plane, world) => ({ params: { api_id: world.api }, repeated: 200 }),

  migrateProductSubscriptions: async (plane, world) => ({
    params: { product_id: await aProduct(plane, world) },
    body: { to_product_id: await aProduct(plane, world), reason: 'it is replaced' },
    repeated: 200,
  }),
  createProduct: async (plane, world) => ({ body: await newProduct(plane, world), repeated: 409 }),
  listProducts: () => ({ repeated: 200 }),
  readProduct: async (plane, world) => ({
    params: { product_id: await aProduct(plane, world) },
    repeated: 200,
  }),
  updateProduct: async (plane, world) => {
    const { slug: _, ...fields } = await newProduct(plane, world)
    const id = await made(plane, `/tenants/${world.acme}/products`, { slug: fresh('product'), ...fields })
    return {
      params: { product_id: id },
      body: { ...fields, name: 'Other', portal_visibility: false },
      repeated: 200,
    }
  },
  deleteProduct: async (plane, world) => ({
    params: { product_id: await aProduct(plane, world) },
    repeated: 404,
  }),
  listPortalProducts: () => ({ repeated: 200 }),
  readPortalProduct: async (plane, world) => ({
    params: { product_id: await aProduct(plane, world) },
    repeated: 200,
  }),

  createSubscription: async (plane, world) => ({
    body: {
      api_id: await anApi(plane, world),
      plan: 'gold',
      application: 'web',
      callback_url: 'https://web.example/callback',
      ttl: '24h',
    },
    repeated: 409,
  }),
  listTenantSubscriptions: () => ({ repeated: 200 }),
  listSubscriptions: () => ({ repeated: 200 }),
  readSubscription: (_plane, world) => ({ params: { subscription_id: world.subscription }, repeated: 200 }),
  approveSubscription: async (plane, world) => ({
    params: { subscription_id: await aSubscription(plane, world) },
    body: { rate_limit: 100, quota: 5000 },
    repeated: 409,
  }),
  approveSubscriptions: async (plane, world) => ({
    body: { ids: [await aSubscription(plane, world), await aSubscription(plane, world)] },
    repeated: 409,
  }),
  updateSubscription: async (plane, world) => ({
    params: { subscription_id: await anApprovedSubscription(plane, world) },
    body: { plan: 'gold', callback_url: 'https://web.example/other', metadata: { contact: 'a@example.com' } },
    repeated: 200,
  }),
  rejectSubscription: async (plane, world) => ({
    params: { subscription_id: await aSubscription(plane, world) },
    body: { reason: 'unknown application' },
    repeated: 409,
  }),
  suspendSubscription: async (plane, world) => ({
    params: { subscription_id: await anApprovedSubscription(plane, world) },
    body: { reason: 'unpaid' },
    repeated: 200,
  }),
  resumeSubscription: async (plane, world) => ({
    params: { subscription_id: await aSuspendedSubscription(plane, world) },
    repeated: 200,
  }),
  revokeSubscription: async (plane, world) => ({
    params: { subscription_id: await aSubscription(plane, world) },
    repeated: 204,
  }),
  readUsage: (_plane, world) => ({ params: { subscription_id: world.subscription }, repeated: 200 }),

  listApiKeys: () => ({ repeated: 200 }),
  createApiKey: (_plane, world) => ({
    body: { subscription_id: world.subscription, name: 'ci', expires_at: '2027-01-01T00:00:00Z' },
    repeated: 201,
  }),
  rotateApiKey: async (plane, world) => ({
    params: { key_id: await aKey(plane, world) },
    body: { grace_period_hours: 1 },
    repeated: 201,
  }),
  revokeApiKey: async (plane, world) => ({ params: { key_id: await aKey(plane, world) }, repeated: 204 }),

  createPlan: () => ({ body: newPlan(), repeated: 409 }),
  listPlans: () => ({ repeated: 200 }),
  readPlan: () => ({ params: { plan: 'gold' }, repeated: 200 }),
  updatePlan: async plane => ({
    params: { plan: await made(plane, '/plans', newPlan()) },
    body: { name: 'Other', burst_limit: 5, requires_approval: false },
    repeated: 200,
  }),
  deletePlan: async plane => ({ params: { plan: await made(plane, '/plans', newPlan()) }, repeated: 404 }),

  createWebhook: async (plane, world) => {
    await webhookCapacity(plane, world)
    return { body: newWebhook(), repeated: 201 }
  },
  listWebhooks: () => ({ repeated: 200 }),
  readWebhook: async (plane, world) => ({
    params: { webhook_id: await aWebhook(plane, world) },
    repeated: 200,
  }),
  updateWebhook: async (plane, world) => ({
    params: { webhook_id: await aWebhook(plane, world) },
    body: { ...newWebhook(), events: ['*'], enabled: false },
    repeated: 200,
  }),
  deleteWebhook: async (plane, world) => ({
    params: { webhook_id: await aWebhook(plane, world) },
    repeated: 404,
  }),
  testWebhook: async (plane, world) => ({
    params: { webhook_id: await aWebhook(plane, world) },
    body: { event_type: 'subscription.expired' },
    repeated: 202,
  }),
  listDeliveries: async (plane, world) => ({ params: await aDelivery(plane, world), repeated: 200 }),
  readDelivery: async (plane, world) => ({ params: await aDelivery(plane, world), repeated: 200 }),
  retryDelivery: async (plane, world) => ({
    params: await aFailedDelivery(plane, world),
    repeated: 409,
  }),

  readTenantMetrics: () => ({ repeated: 200 }),
  readApiMetrics: (_plane, world) => ({ params: { api_id: world.api }, repeated: 200 }),
  listConsumers: () => ({ repeated: 200 }),
  listTenantConsumers: () => ({ repeated: 200 }),
  readConsumer: async (plane, world) => ({
    params: { consumer_id: await aConsumer(plane, world) },
    repeated: 200,
  }),
  updateConsumer: async (plane, world) => ({
    params: { consumer_id: await aConsumer(plane, world) },
    body: { name: 'The application', status: 'active', plan: 'gold', notes: 'Renewal in May' },
    repeated: 200,
  }),
  listPortalApis: () => ({ repeated: 200 }),
  readPortalApi: (_plane, world) => ({ params: { api_id: world.api }, repeated: 200 }),

  listGateways: () => ({ repeated: 200 }),
  readGateway: async (plane, world) => ({
    params: { gateway_id: await aGateway(plane, world) },
    repeated: 200,
  }),
  deleteGateway: async (plane, world) => ({
    params: { gateway_id: await anOfflineGateway(plane, world) },
    repeated: 404,
  }),
  readGatewayDifference: async (plane, world) => ({
    params: { gateway_id: await aGateway(plane, world) },
    repeated: 200,
  }),
  readSnapshot: () => ({ repeated: 200 }),
  reportGateway: async (plane, world) => ({
    params: { gateway_id: await aGateway(plane, world) },
    body: {
      status: 'online',
      snapshot_version: 'v',
      workers: 2,
      sequence: 1,
      usage: [
        {
          subscription_id: world.subscription,
          day: '2026-03-01',
          requests: 5,
          errors: 1,
          last_request_at: '2026-03-01T10:00:00Z',
        },
      ],
      keys_used: [{ key_id: world.key, at: '2026-03-01T10:00:00Z' }],
      consumers_seen: [{ tenant_id: world.acme, subject: 'app', at: '2026-03-01T10:00:00Z' }],
    },
    repeated: 204,
  }),
  readConfiguration: () => ({ repeated: 200 }),
  applyConfiguration: () => ({
    body: {
      apiVersion: 'toolgate.dev/v1',
      kind: 'Configuration',
      owner: 'matrix',
      plans: {},
      tenants: { acme: { consumers: { [fresh('consumer')]: { plan: 'silver' } } } },
      secrets: {},
    },
    repeated: 200,
  }),
  listDeployments: () => ({ repeated: 200 }),
  readDeployment: async (plane, world) => ({
    params: { deployment_id: await aDeployment(plane, world) },
    repeated: 200,
  }),
  syncDeployment: async (plane, world) => ({
    params: { deployment_id: await aDeployment(plane, world) },
    repeated: 202,
  }),
}
