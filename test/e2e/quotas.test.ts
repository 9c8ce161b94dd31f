/**
 * The limits of plans (docs/reference/http.md) over HTTP: each as REST, JSON-RPC and item of a batch show it; midnight and the end of a
 * month; usage metrics, the clock of the embedded provider, and plans of self-registered clients. Rates of tools, APIs and policies are not covered.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { importJWK, type JWK, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ERROR_META_KEY } from '../../src/data-plane/http/refusal-body.ts'
import { type Deployment, deploy, type ReadResponse, rpc } from '../fixtures/deployment.ts'
import { clientToken } from '../fixtures/tokens.ts'

const DAY_MS = 86_400_000
/** Where the clock of the deployment begins: far from a midnight and the end of a month, which the tests cross. */
const START_MS = Date.UTC(2036, 2, 10, 9)
/** One plan for each limit; consumers are named for plan and form, so that each form has its own counters. */
const PLANS = {
  second: { perSecond: 2 },
  minute: { perMinute: 3 },
  day: { perDay: 4, perMonth: 1000 },
  month: { perDay: 50, perMonth: 5 },
  burst: { burst: 1 },
}
type Row = keyof typeof PLANS
const CALL = { name: 'shop_listProducts', arguments: {} }

let gateway: Deployment
let dataDir: string
let key: Awaited<ReturnType<typeof importJWK>>
let kid: string
/** How far the deployment's clock is ahead of this one. */
let aheadMs = 0
/** What the deployment's clock shows. */
const clockMs = () => Date.now() + aheadMs

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'quotas-'))
  const plans = join(dataDir, 'plans.yaml')
  const consumers = Object.fromEntries(
    Object.keys(PLANS).flatMap(plan =>
      ['rest', 'rpc', 'batch', 'turn', 'refused'].map(form => [`${plan}-${form}`, plan]),
    ),
  )
  const rules = [
    { plan: 'minute', role: 'analyst', per: 'user' },
    { plan: 'day', role: 'daily', per: 'user' },
    { plan: 'second', user: 'grace' },
    { plan: 'burst', tenant: 'acme', role: 'guest' },
  ]
  writeFileSync(plans, JSON.stringify({ plans: PLANS, consumers, rules }))
  gateway = await deploy({
    DATA_DIR: dataDir,
    PLANS: plans,
    TEST_HOOKS: '1',
    METRICS_MAX_CONSUMERS: '8',
  })
  const keys = JSON.parse(
    readFileSync(join(dataDir, 'dev-provider', 'dev-identity', 'jwks.json'), 'utf8'),
  ) as { keys: JWK[] }
  kid = keys.keys[0]!.kid!
  key = await importJWK(keys.keys[0]!, 'RS256')
  await advance(START_MS - clockMs())
})
afterAll(async () => {
  await gateway.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

/** A token that outlives every move of the clock. */
const token = (consumer: string, user = consumer, roles: string[] = []) =>
  new SignJWT({ azp: consumer, tenant_id: 'acme', scope: 'platform:read platform:execute', roles })
    .setProtectedHeader({ alg: 'RS256', kid })
    .setIssuer(gateway.running.addresses.auth_url)
    .setSubject(user)
    .setAudience('platform-mcp-gateway')
    .setIssuedAt()
    .setExpirationTime(new Date(START_MS + 90 * DAY_MS))
    .sign(key)

async function advance(ms: number): Promise<void> {
  const response = await fetch(`${gateway.running.addresses.api_url}/test/clock`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ advance: `${Math.round(ms / 1000)}s` }),
  })
  expect(response.status).toBe(200)
  aheadMs = Date.parse(((await response.json()) as { now: string }).now) - Date.now()
}

const scrape = async () => (await fetch(`${gateway.running.addresses.metrics_url}/metrics`)).text()

interface Finding {
  readonly granted: boolean
  readonly status: number
  /** Body of a refusal. */
  readonly body: { error: string; message: string; retry_after_secs: number | null } | undefined
  readonly headers: Headers
}

/** The same call in every form that a caller can give it. */
const FORMS: readonly [string, (token: string, call?: object) => Promise<Finding>][] = [
  [
    'rest',
    async (bearer, call = CALL) => {
      const response = await gateway.post('/mcp/v1/tools/invoke', call, bearer)
      return { ...of(response), body: response.status === 200 ? undefined : response.json }
    },
  ],
  [
    'rpc',
    async (bearer, call = CALL) => {
      const response = await gateway.post('/mcp', rpc('tools/call', call), bearer)
      return { ...of(response), ...refusalIn(response.json.result) }
    },
  ],
  [
    'batch',
    async (bearer, call = CALL) => {
      const response = await gateway.post('/mcp/sse', [rpc('ping'), rpc('tools/call', call)], bearer)
      expect(response.status).toBe(200)
      const [, item] = response.json
      return { ...of(response), ...refusalIn(item.result) }
    },
  ],
]

/** A refused call is a result: clients end their session on an HTTP 429. */
function refusalIn(result: {
  readonly isError: boolean
  readonly _meta?: { readonly [key: string]: Finding['body'] }
}): Pick<Finding, 'granted' | 'body'> {
  return { granted: !result.isError, body: result._meta?.[ERROR_META_KEY] }
}

function of({ status, headers }: ReadResponse): Omit<Finding, 'body'> {
  return { granted: status === 200, status, headers }
}

/** Calls until one is refused. @returns that, and how many were granted before */
async function exhaust(
  form: (typeof FORMS)[number][1],
  bearer: string,
  max: number,
): Promise<[Finding, number]> {
  for (let granted = 0; granted <= max; granted++) {
    const reported = await form(bearer)
    if (!reported.granted) return [reported, granted]
  }
  throw new Error(`${max + 1} calls were granted`)
}

const midnightAfter = (ms: number) => (Math.floor(ms / DAY_MS) + 1) * DAY_MS
const monthAfter = (ms: number) => Date.UTC(new Date(ms).getUTCFullYear(), new Date(ms).getUTCMonth() + 1)

/** Retry-After leads from the time of the call to then. */
function expectUntil(headers: Headers, endMs: number): void {
  expect(headers.get('retry-after')).toMatch(/^\d+$/)
  const leftMs = endMs - clockMs()
  expect(Math.abs(Number(headers.get('retry-after')) * 1000 - leftMs)).toBeLessThan(30_000)
}

describe.each(FORMS)('as %s', (name, form) => {
  const to = (row: Row) => token(`${row}-${name}`)
  /** An item of a batch has no headers. */
  const inHeaders = (reported: Finding, check: (headers: Headers) => void) => {
    if (name !== 'batch') check(reported.headers)
  }

  it('per second: rolling, over after one second', async () => {
    const bearer = await to('second')
    await form(bearer)
    const responses = await Promise.all(Array.from({ length: 8 }, () => form(bearer)))
    const refused = responses.find(reported => !reported.granted)!
    expect(refused.body).toEqual({
      error: 'quota_exceeded',
      message: 'Per-second limit of 2 requests exceeded.',
      retry_after_secs: 1,
    })
    inHeaders(refused, headers => expect(headers.get('retry-after')).toBe('1'))
    await advance(1000)
    expect((await form(bearer)).granted).toBe(true)
  })

  it('per minute: rolling, over after sixty seconds and not before', async () => {
    const bearer = await to('minute')
    const [refused, granted] = await exhaust(form, bearer, 3)
    expect(granted).toBe(3)
    expect(refused.body).toMatchObject({
      error: 'quota_exceeded',
      message: 'Per-minute limit of 3 requests exceeded.',
    })
    const wait = refused.body!.retry_after_secs!
    expect(wait).toBeGreaterThan(30)
    expect(wait).toBeLessThanOrEqual(60)
    inHeaders(refused, headers => {
      expect(headers.get('retry-after')).toBe(String(wait))
      expect(headers.get('x-ratelimit-limit')).toBe('3')
      expect(headers.get('x-ratelimit-remaining')).toBe('0')
      expect(Math.abs(Number(headers.get('x-ratelimit-reset')) - clockMs() / 1000 - wait)).toBeLessThan(30)
    })
    await advance((wait - 20) * 1000)
    expect((await form(bearer)).granted).toBe(false)
    await advance(20_000)
    expect((await form(bearer)).granted).toBe(true)
  })

  it('daily: null in the body, until midnight in the header', async () => {
    const midnightMs = midnightAfter(clockMs())
    const [refused, granted] = await exhaust(form, await to('day'), 4)
    expect(granted).toBe(4)
    expect(refused.body).toEqual({
      error: 'quota_exceeded',
      message: 'Daily quota exceeded: 4/4 requests used. It resets at 00:00 UTC.',
      retry_after_secs: null,
    })
    inHeaders(refused, headers => {
      expect(headers.get('x-ratelimit-reset')).toBe(String(midnightMs / 1000))
      expectUntil(headers, midnightMs)
    })
  })

  it('monthly: null in the body, until the 1st in the header', async () => {
    const firstMs = monthAfter(clockMs())
    const [refused, granted] = await exhaust(form, await to('month'), 5)
    expect(granted).toBe(5)
    expect(refused.body).toEqual({
      error: 'quota_exceeded',
      message: 'Monthly quota exceeded: 5/5 requests used. It resets on the 1st of the month at 00:00 UTC.',
      retry_after_secs: null,
    })
    inHeaders(refused, headers => {
      expect(headers.get('x-ratelimit-reset')).toBe(String(firstMs / 1000))
      expectUntil(headers, firstMs)
    })
  })

  it('burst: as many at once, and free again when they finish', async () => {
    const bearer = await to('burst')
    // its steps take longer than a machine stalls
    const slow = form(bearer, { name: 'shop_runSalesReport', arguments: { stepMs: 400 } })
    await expect.poll(scrape, { interval: 5 }).toMatch(/^platform_calls_in_flight 1$/m)
    const refused = await form(bearer)
    expect(refused.body).toEqual({
      error: 'quota_exceeded',
      message: 'Burst limit of 1 concurrent requests exceeded.',
      retry_after_secs: 1,
    })
    expect((await slow).granted).toBe(true)
    for (let i = 0; i < 3; i++) expect((await form(bearer)).granted).toBe(true)
  })
})

describe('a call that is counted and then refused', () => {
  it.each([
    ['shop_getProduct', { productId: 7, extra: 1 }, 400],
    ['no_such_tool', {}, 404],
    ['shop_deleteProduct', { productId: 'P-1' }, 403],
  ])('shows what is left: %s %j', async (name, args, status) => {
    const bearer = await token(
      status === 404 ? 'day-refused' : status === 400 ? 'month-refused' : 'minute-refused',
    )
    const limit = status === 404 ? '4' : status === 400 ? '5' : '3'
    const rest = await gateway.post('/mcp/v1/tools/invoke', { name, arguments: args }, bearer)
    expect([rest.status, rest.headers.get('x-ratelimit-limit')]).toEqual([status, limit])
    expect(rest.headers.get('x-ratelimit-remaining')).toBe(String(Number(limit) - 1))
    const message = await gateway.post('/mcp', rpc('tools/call', { name, arguments: args }), bearer)
    expect(message.headers.get('x-ratelimit-limit')).toBe(limit)
    expect(message.headers.get('x-ratelimit-remaining')).toBe(String(Number(limit) - 2))
  })
})

it('a consumer is known to administrators from its first call on, whatever was read before', async () => {
  const headers = { authorization: `Bearer ${await gateway.token('demo-admin')}` }
  const statusOf = async (path: string) => (await fetch(`${gateway.url}${path}`, { headers })).status
  expect([await statusOf('/admin/quotas'), await statusOf('/admin/quotas/burst-refused')]).toEqual([200, 404])
  expect((await FORMS[0]![1](await token('burst-refused'))).granted).toBe(true)
  expect(await statusOf('/admin/quotas/burst-refused')).toBe(200)
})

describe('every success', () => {
  it('reports the tightest window', async () => {
    const bearer = await token('day-turn')
    const midnightMs = midnightAfter(clockMs())
    const { headers } = await FORMS[0]![1](bearer)
    expect(headers.get('x-ratelimit-limit')).toBe('4')
    expect(headers.get('x-ratelimit-remaining')).toBe('3')
    expect(headers.get('x-ratelimit-reset')).toBe(String(midnightMs / 1000))
  })

  it('of a consumer without a plan is counted against the specified defaults', async () => {
    const { headers } = await FORMS[0]![1](await token('nobody-in-particular'))
    expect(headers.get('x-ratelimit-limit')).toBe('5')
  })
})

describe('the calendar', () => {
  const call = FORMS[0]![1]

  it('a day ends at midnight UTC and not before', async () => {
    await advance(midnightAfter(clockMs()) - clockMs() - 60_000)
    const bearer = await token('day-turn')
    const [refused] = await exhaust(call, bearer, 4)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(61)
    expect(refused.body!.retry_after_secs).toBeNull()
    await advance(30_000)
    expect((await call(bearer)).granted).toBe(false)
    await advance(60_000)
    const first = await call(bearer)
    expect(first.granted).toBe(true)
    expect(first.headers.get('x-ratelimit-remaining')).toBe('3')
  })

  it('a month ends with its last day, while a new day alone does not end it', async () => {
    await advance(monthAfter(clockMs()) - clockMs() - DAY_MS - 60_000)
    const bearer = await token('month-turn')
    await exhaust(call, bearer, 5)
    await advance(120_000)
    const still = await call(bearer)
    expect(still.body?.message).toMatch(/^Monthly quota exceeded: 5\/5/)
    await advance(monthAfter(clockMs()) - clockMs() - 60_000)
    const wait = Number((await call(bearer)).headers.get('retry-after'))
    expect(wait).toBeGreaterThan(0)
    expect(wait).toBeLessThanOrEqual(61)
    await advance(61_000)
    const first = await call(bearer)
    expect(first.granted).toBe(true)
    expect(first.headers.get('x-ratelimit-remaining')).toBe('4')
  })
})

describe('usage', () => {
  it('is a gauge per consumer and type, and after so many consumers they are "other"', async () => {
    const bearer = await token('day-batch')
    await exhaust(FORMS[0]![1], bearer, 4)
    const rows = (await scrape())
      .split('\n')
      .filter(line => line.startsWith('platform_quota_usage_ratio{'))
      .map(line => /consumer="([^"]+)",type="(daily|monthly)"\} ([\d.e-]+)$/.exec(line)!.slice(1))
    expect(rows.length).toBeGreaterThan(0)
    for (const [, , ratio] of rows) {
      expect(Number(ratio)).toBeGreaterThanOrEqual(0)
      expect(Number(ratio)).toBeLessThanOrEqual(1)
    }
    expect(new Set(rows.map(([consumer]) => consumer)).size).toBeLessThanOrEqual(9)
    expect(rows.map(([consumer]) => consumer)).toContain('other')
    expect(rows.some(([, type, ratio]) => type === 'daily' && ratio === '1')).toBe(true)
  })

  it('counts refusals by windows and by quotas apart', async () => {
    const text = await scrape()
    expect(Number(/^platform_rate_limited_total (\d+)$/m.exec(text)?.[1])).toBeGreaterThan(5)
    expect(Number(/^platform_quota_exceeded_total (\d+)$/m.exec(text)?.[1])).toBeGreaterThan(5)
    expect(text).toMatch(/^platform_quota_store_up 1$/m)
  })
})

describe('the clock of the tests', () => {
  it('is that of the embedded provider too: an hour later its tokens have expired, and new ones are accepted', async () => {
    const call = async (bearer: string) => (await gateway.post('/mcp/v1/tools/invoke', CALL, bearer)).status
    const issuer = gateway.running.addresses.auth_url
    const before = await clientToken(issuer, 'demo-agent')
    expect(await call(before)).toBe(200)
    await advance(3_700_000)
    expect(await call(before)).toBe(401)
    expect(await call(await clientToken(issuer, 'demo-agent'))).toBe(200)
  })
})

describe('clients that registered themselves', () => {
  const limitOf = async (bearer: string) => {
    const response = await gateway.post('/mcp/v1/tools/invoke', CALL, bearer)
    return [response.status, response.headers.get('x-ratelimit-limit')]
  }

  it('have the plan of a rule, and all clients of a user share its counters', async () => {
    const ada = await Promise.all(
      ['dcr-1', 'dcr-2', 'dcr-3'].map(client => token(client, 'ada', ['analyst'])),
    )
    for (const bearer of ada) expect(await limitOf(bearer)).toEqual([200, '3'])
    expect(await limitOf(await token('dcr-4', 'ada', ['analyst']))).toEqual([429, '3'])
    expect(await limitOf(await token('dcr-1', 'alan', ['analyst']))).toEqual([200, '3'])
    const [row] = [await gateway.token('demo-admin')].map(admin =>
      fetch(`${gateway.url}/admin/quotas/user:ada`, { headers: { authorization: `Bearer ${admin}` } }),
    )
    expect(await (await row!).json()).toMatchObject({ consumer_id: 'user:ada', daily_count: 3 })
  })

  it('are simulated with the counter of their user', async () => {
    const eve = await token('dcr-7', 'eve', ['daily'])
    for (let calls = 0; calls < 4; calls++) expect((await limitOf(eve))[0]).toBe(200)
    const admin = await gateway.token('demo-admin')
    const outcomeOf = async (subject: string) => {
      const caller = {
        consumer: 'dcr-8',
        subject,
        tenant: 'acme',
        roles: ['daily'],
        scopes: ['read', 'execute'],
      }
      const body = { ...caller, tool: CALL.name, arguments: {} }
      return (await gateway.post('/admin/simulate', body, admin)).json.outcome
    }
    expect(await outcomeOf('eve')).toBe('quota_exceeded')
    expect(await outcomeOf('alan')).toBe('allowed')
  })

  it('are counted under the address of their document', async () => {
    const client = 'https://app.example/client.json'
    expect(await limitOf(await token(client))).toEqual([200, '5'])
    // encoded slashes are refused in paths, so the id has none
    const id = client.replaceAll('/', '%2F')
    const row = await fetch(`${gateway.url}/admin/quotas/${encodeURIComponent(id)}/reset`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await gateway.token('demo-admin')}` },
    })
    expect(await row.json()).toMatchObject({ consumer_id: id, daily_count: 0, daily_limit: 10_000 })
  })

  it('with names longer than a listing shows are listed by a digest, and reset by it and by their names', async () => {
    const headers = { authorization: `Bearer ${await gateway.token('demo-admin')}` }
    const read = async (method: string, path: string) => {
      const response = await fetch(`${gateway.url}/admin/${path}`, { method, headers })
      return { status: response.status, json: await response.json() }
    }
    for (const client of [`x-${'é'.repeat(120)}`, `y-${'é'.repeat(120)}`, 'z'.repeat(130)]) {
      const bearer = await token(client)
      const path = `quotas/${encodeURIComponent(client)}`
      for (const id of [client, undefined]) {
        expect(await limitOf(bearer)).toEqual([200, '5'])
        await read('POST', 'cache/clear')
        expect((await read('GET', path)).json).toMatchObject({
          consumer_id: client,
          daily_count: 1,
          counters: [{ tenant: 'acme', limits_known: false, day: { count: 1 } }],
        })
        const rows = (await read('GET', 'quotas')).json as { consumer_id: string; daily_count: number }[]
        const listed = rows.filter(row => row.consumer_id.startsWith('sha256:') && row.daily_count === 1)
        expect(listed).toHaveLength(1)
        const reset = await read(
          'POST',
          id === client ? `${path}/reset` : `quotas/${listed[0]!.consumer_id}/reset`,
        )
        expect(reset).toMatchObject({
          status: 200,
          json: { daily_count: 0, monthly_count: 0, daily_limit: 10_000 },
        })
      }
    }
    expect((await read('POST', `quotas/${encodeURIComponent('é'.repeat(120))}/reset`)).status).toBe(404)
  })

  it('without a rule have the default, and the plan of a name goes before a rule', async () => {
    expect(await limitOf(await token('dcr-5', 'joan'))).toEqual([200, '5'])
    expect(await limitOf(await token('dcr-6', 'grace'))).toEqual([200, '2'])
    expect(await limitOf(await token('minute-turn', 'grace'))).toEqual([200, '3'])
  })
})
