/** Generated configurations: applied, exported, applied to another database and exported again, they are the same. CONFIG_RUNS sets the number. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeJson } from '../../../src/base/json/exact-number.ts'
import { openPlane, type Plane } from './plane.ts'

const RUNS = Number(process.env.CONFIG_RUNS ?? 10)
const SECRETS = { A: 'a'.repeat(40), B: 'whsec_'.padEnd(40, 'b'), C: 'value c' }

const text = (max: number, min = 1) =>
  fc
    .string({ minLength: min, maxLength: max, unit: 'grapheme' })
    .filter(each => !each.includes('\0') && each.length <= max && each.length >= min)
const slug = fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,12}$/)
const limit = fc.nat({ max: 2_147_483_647 })
const plan = fc.record(
  {
    name: text(100),
    rate_limit_per_second: limit,
    rate_limit_per_minute: limit,
    daily_request_limit: limit,
    monthly_request_limit: limit,
    burst_limit: limit,
    requires_approval: fc.boolean(),
  },
  { requiredKeys: ['name'] },
)
const api = fc.record(
  {
    name: text(100),
    upstream_url: fc.constantFrom('http://127.0.0.1:9', 'https://a.example/b?c=d'),
    description: text(60, 0),
    version: text(10),
    auth_required: fc.boolean(),
    rate_limit: fc.option(fc.record({ requests_per_hour: fc.integer({ min: 1, max: 1e6 }) })),
    passthrough: fc.option(
      fc.record({
        request_headers: fc.constantFrom([], ['x-http-method-override']),
        response_headers: fc.constant([]),
        paths: fc.constantFrom('strict', 'lenient'),
      }),
    ),
    portal_visibility: fc.boolean(),
    visibility: fc.constantFrom('tenant', 'public'),
    status: fc.constantFrom('active', 'deprecated', 'retired'),
    traffic: fc.option(
      fc.record(
        {
          methods: fc.option(fc.constantFrom(['GET'], ['POST', 'GET'])),
          max_request_bytes: fc.option(fc.nat({ max: 1e9 })),
          timeout_ms: fc.option(fc.integer({ min: 100, max: 300_000 })),
          request_headers: fc.constantFrom({ set: { 'x-a': 'b' } }, { remove: ['x-b'] }, {}),
          retry: fc.option(
            fc.constantFrom(
              {},
              { max_attempts: 3, statuses: [502] },
              { methods: ['POST'], first_delay_ms: 1 },
            ),
          ),
          cors: fc.option(
            fc.constantFrom(
              { origins: [] },
              { origins: ['*'] },
              { origins: ['https://a.example'], credentials: true },
            ),
          ),
          upstreams: fc.option(
            fc.constantFrom(
              { addresses: [{ url: 'http://a.example' }] },
              { addresses: [{ url: 'http://a.example', weight: 5 }], health_check: {} },
            ),
          ),
          mirror: fc.option(fc.constant({ url: 'http://b.example', percent: 50 })),
          connections: fc.option(fc.constantFrom({}, { http2: true })),
          cache: fc.option(fc.constantFrom({}, { scope: 'public', default_age_secs: 5 })),
          circuit_breaker: fc.option(fc.constantFrom({}, { opens_after: 2, statuses: [500, 503] })),
        },
        { requiredKeys: [] },
      ),
    ),
    deprecation: fc.option(
      fc.record(
        {
          sunset_at: fc.option(fc.constantFrom('2027-01-31T12:00:00Z', '2020-06-30T23:30:00.5+02:00')),
          after_sunset: fc.constantFrom('serve', 'refuse'),
          link: fc.option(fc.constant('https://docs.example/end')),
        },
        { requiredKeys: [] },
      ),
    ),
    spec: fc.option(
      fc.oneof(fc.dictionary(text(8), fc.jsonValue()), fc.constant('openapi: 3.1.0\ninfo: {title: é}\n')),
    ),
  },
  { requiredKeys: ['name', 'upstream_url'] },
)
const mcpUpstream = fc.record(
  {
    transport: fc.constantFrom('auto', 'streamable', 'sse'),
    session: fc.constantFrom('per-caller', 'shared'),
    authentication: fc.constantFrom(
      {},
      { type: 'bearer', secret: 'crm-token' },
      { type: 'apiKey', secret: 'a.b', header: 'X-Key' },
      {
        type: 'oauth2_client_credentials',
        secret: 'client',
        client_id: 'toolgate',
        token_url: 'https://a.example/token',
        client_authentication: 'post',
        scope: 'read write',
      },
    ),
  },
  { requiredKeys: [] },
)
/** Its tools come from its server: it has no document, and no headers of proxied calls. */
const mcpApi = fc
  .tuple(api, fc.option(mcpUpstream))
  .map(([{ spec: _spec, passthrough: _passthrough, ...fields }, mcp]) => ({ ...fields, type: 'mcp', mcp }))
const anyApi = fc.oneof({ weight: 3, arbitrary: api }, { weight: 1, arbitrary: mcpApi })
const reference = (names: readonly string[]) => fc.record({ from: fc.constantFrom(...names) })
const webhook = fc.record(
  {
    url: fc.constantFrom('https://hooks.example/a', 'http://hooks.example/b'),
    events: fc.constantFrom(['*'], ['subscription.created', 'subscription.revoked']),
    enabled: fc.boolean(),
    secret: fc.option(reference(['A', 'B'])),
    custom_headers: fc.dictionary(fc.constantFrom('X-A', 'Authorization'), reference(['C'])),
  },
  { requiredKeys: ['url', 'events'] },
)
/** Consumers may have the plans that exist everywhere. */
const consumer = fc.record(
  {
    name: text(100),
    plan: fc.option(fc.constantFrom('gold', 'silver')),
    blocked: fc.boolean(),
    notes: text(50, 0),
  },
  { requiredKeys: [] },
)
const path = fc.stringMatching(/^\/([a-z0-9_~-][A-Za-z0-9._~-]{0,6}(\/[a-z0-9_~-]{1,4}){0,2})?$/)
const few = <T>(key: fc.Arbitrary<string>, value: fc.Arbitrary<T>) =>
  fc.dictionary(key, value, { maxKeys: 3 })
/** For one path, which no other API has. */
const versions = fc
  .tuple(fc.array(api, { minLength: 1, maxLength: 3 }), fc.constantFrom('path', 'header'), fc.nat({ max: 3 }))
  .map(([apis, by, chosen]) =>
    Object.fromEntries(
      apis.map((each, at) => {
        const versioning = { by, default: at === chosen }
        return [`/versioned-api@v${at}`, { ...each, version: `v${at}`, versioning }]
      }),
    ),
  )
/** Its APIs are chosen among those of the tenant. */
const product = fc.record(
  {
    name: text(100),
    description: text(60, 0),
    plan: fc.constantFrom('gold', 'silver'),
    chosen: fc.array(fc.nat({ max: 9 }), { maxLength: 3 }),
    portal_visibility: fc.boolean(),
  },
  { requiredKeys: ['name', 'plan', 'chosen'] },
)

function withApis<T extends { apis?: object; products?: { [slug: string]: { chosen: number[] } } }>(
  tenant: T,
) {
  const keys = Object.keys(tenant.apis ?? {})
  const products = Object.entries(tenant.products ?? {}).map(([slug, { chosen, ...fields }]) => {
    const apis = chosen.flatMap(at => keys[at] ?? [])
    return [slug, { ...fields, apis: [...new Set(apis)] }]
  })
  return { ...tenant, ...(tenant.products && { products: Object.fromEntries(products) }) }
}

const plainTenant = fc.record(
  {
    tier: fc.constantFrom('free', 'starter', 'business', 'enterprise'),
    region: slug,
    admin_email: fc.option(fc.constant('a@example.com')),
    suspended: fc.boolean(),
    settings: fc.record(
      {
        rate_limit_multiplier: fc.constantFrom(0.5, 2),
        api_requests_per_hour: fc.integer({ min: 1, max: 1e9 }),
      },
      { requiredKeys: [] },
    ),
    plans: few(
      slug.map(each => `p-${each}`),
      plan,
    ),
    apis: fc
      .tuple(few(path, anyApi), fc.option(versions))
      .map(([apis, versioned]) => ({ ...apis, ...versioned })),
    products: few(slug, product),
    consumers: few(
      text(20).filter(each => each !== '__proto__'),
      consumer,
    ),
    webhooks: few(slug, webhook),
  },
  { requiredKeys: ['tier'] },
)
const tenant = plainTenant.map(withApis)

describe('a generated configuration', () => {
  let planes: readonly Plane[]

  beforeAll(async () => {
    planes = [await openPlane(), await openPlane()]
  })
  afterAll(async () => {
    for (const plane of planes) {
      expect(plane.faults).toEqual([])
      await plane.close()
    }
  })

  it(`survives export and apply, in ${RUNS} runs`, { timeout: 600_000 }, async () => {
    let run = 0
    const call = async (at: number, method: string, query: string, body?: object) => {
      const sent = body && writeJson({ ...body, secrets: SECRETS })
      const reply = await planes[at]!.call('platform', method, `/v1/config${query}`, sent)
      expect(reply.status, JSON.stringify(reply.body)).toBe(200)
      return reply.body
    }
    await fc.assert(
      fc.asyncProperty(few(slug, plan), fc.array(tenant, { maxLength: 2 }), async (plans, tenants) => {
        run++
        const owner = `run-${run}`
        const of = <T>(entries: readonly (readonly [string, T])[]) => Object.fromEntries(entries)
        const tree = {
          apiVersion: 'toolgate.dev/v1',
          kind: 'Configuration',
          owner,
          plans: of(Object.entries(plans).map(([key, value]) => [`r${run}-${key}`, value])),
          tenants: of(tenants.map((value, index) => [`t${run}-${index}`, value])),
        }
        await call(0, 'POST', '', tree)
        const first = await call(0, 'GET', `?owner=${owner}`)
        expect((await call(0, 'POST', '?dry_run=true', tree)).changes).toEqual([])
        expect((await call(0, 'POST', '?dry_run=true', first)).changes).toEqual([])
        await call(1, 'POST', '', first)
        expect(await call(1, 'GET', `?owner=${owner}`)).toEqual(first)
      }),
      { numRuns: RUNS },
    )
    const whole = await call(0, 'GET', '')
    expect((await call(0, 'POST', '?dry_run=true', whole)).changes).toEqual([])
    expect(await call(1, 'GET', '')).toEqual(whole)
  })
})
