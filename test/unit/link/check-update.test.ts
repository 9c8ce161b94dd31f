/** Fields of APIs, of their rules, of APIs of type mcp and of keys in updates: which may be absent, how faults are named, and the steps of the check. */
import { expect, it } from 'vitest'
import { runAtOnce } from '../../../src/base/async/slices.ts'
import { checkingUpdate } from '../../../src/link/check-update.ts'

const API = { id: 'a', path: '/a', upstreamUrl: 'http://u', authRequired: true, requestsPerHour: null }
const TENANT = { id: 't', name: 't', suspended: false, plans: [], subscriptions: [], keys: [], consumers: [] }

const updateFault = (update: object) => runAtOnce(checkingUpdate(update))

const faultOf = (passthrough: unknown) =>
  updateFault({
    version: 'a'.repeat(64),
    base: 'b'.repeat(64),
    tenants: [{ ...TENANT, apis: [{ ...API, passthrough }], tools: [] }],
    removed: [],
  })

it('accepts an API without passthrough, with null and with all fields', () => {
  expect(faultOf(undefined)).toBeUndefined()
  expect(faultOf(null)).toBeUndefined()
  expect(faultOf({ requestHeaders: ['via'], responseHeaders: [], paths: 'lenient' })).toBeUndefined()
})

it('names the faulty field', () => {
  expect(faultOf(false)).toBe('tenants[0].apis[0].passthrough is not an object')
  expect(faultOf({ requestHeaders: [1], responseHeaders: [], paths: 'strict' })).toBe(
    'tenants[0].apis[0].passthrough.requestHeaders[0] is not a string',
  )
  expect(faultOf({ requestHeaders: [], paths: 'strict' })).toContain('passthrough.responseHeaders')
})

const HEADERS = { set: {}, remove: [] }
const RETRY = {
  maxAttempts: 2,
  statuses: [503],
  methods: null,
  firstDelayMs: 1,
  maxDelayMs: 2,
  budgetPercent: 10,
}
const CORS = {
  origins: ['*'],
  methods: null,
  allowHeaders: [],
  exposeHeaders: [],
  credentials: false,
  maxAgeSecs: 0,
}
const RULES = {
  methods: null,
  maxRequestBytes: null,
  timeoutMs: null,
  requestHeaders: HEADERS,
  responseHeaders: HEADERS,
}

it.each([
  [{}, undefined],
  [{ methods: ['GET'], retry: { ...RETRY, methods: ['GET'] }, cors: { ...CORS, methods: [] } }, undefined],
  [{ retry: RETRY, cors: CORS, connections: { http2: true } }, undefined],
  [{ retry: null, cors: null, connections: { http2: true } }, undefined],
  [{ methods: undefined }, 'methods is not a list'],
  [{ methods: 'GET' }, 'methods is not a list'],
  [{ methods: [1] }, 'methods[0] is not a string'],
  [{ retry: { ...RETRY, methods: 'GET' } }, 'retry.methods is not a list'],
  [{ cors: { ...CORS, methods: [null] } }, 'cors.methods[0] is not a string'],
  [{ connections: { http2: 'yes' } }, 'connections.http2 is not a boolean'],
])('checks the methods and connections of an API: %j', (rules, fault) => {
  const api = { ...API, traffic: { ...RULES, ...rules } }
  const found = updateFault({
    version: 'a'.repeat(64),
    base: 'b'.repeat(64),
    tenants: [{ ...TENANT, apis: [api], tools: [] }],
    removed: [],
  })
  expect(found).toBe(fault === undefined ? undefined : `tenants[0].apis[0].traffic.${fault}`)
})

it('accepts an update without APIs of type mcp, and names what a wrong one lacks', () => {
  const authentication = { type: 'bearer', secret: 'crm', clientAuthentication: 'basic' }
  const mcp = { transport: 'auto', session: 'per-caller', authentication }
  const server = { ...API, name: 'CRM', toolPrefix: 'crm_', mcp }
  const of = (mcpApis: unknown) =>
    updateFault({
      version: 'a'.repeat(64),
      base: 'b'.repeat(64),
      removed: [],
      tenants: [{ ...TENANT, apis: [], tools: [], mcpApis }],
    })
  expect(of(undefined)).toBeUndefined()
  expect(of([server])).toBeUndefined()
  expect(of({})).toBe('tenants[0].mcpApis is not a list')
  expect(of([{ ...server, mcp: undefined }])).toBe('tenants[0].mcpApis[0].mcp is not an object')
  expect(of([{ ...server, mcp: { ...mcp, authentication: {} } }])).toBe(
    'tenants[0].mcpApis[0].mcp.authentication.type is not a string',
  )
})

it('may be interrupted within a tenant, and names a fault far down its lists', () => {
  const key = { id: 'k', subscriptionId: 's', prefix: 'p', hash: 'h', expiresAtMs: null }
  const keys: object[] = Array.from({ length: 1_000 }, () => key)
  const steps = () => {
    const work = checkingUpdate({
      version: 'a'.repeat(64),
      base: 'b'.repeat(64),
      removed: [],
      tenants: [{ ...TENANT, apis: [], tools: [], keys }],
    })
    let count = 0
    let step = work.next()
    for (; step.done !== true; step = work.next()) count++
    return { count, fault: step.value }
  }
  expect(steps()).toEqual({ count: 15, fault: undefined })
  keys[900] = { ...key, hash: 1 }
  expect(steps()).toEqual({ count: 14, fault: 'tenants[0].keys[900].hash is not a string' })
})
