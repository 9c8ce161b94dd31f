/** The form of `passthrough` and of APIs of type mcp in updates: absent from an older control plane, else complete. */
import { expect, it } from 'vitest'
import { updateFault } from '../../../src/link/check-update.ts'

const API = { id: 'a', path: '/a', upstreamUrl: 'http://u', authRequired: true, requestsPerHour: null }
const TENANT = { id: 't', name: 't', suspended: false, plans: [], subscriptions: [], keys: [], consumers: [] }

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

it('accepts an update without APIs of type mcp, and names what a wrong one lacks', () => {
  const authentication = { type: 'bearer', secret: 'crm', clientAuthentication: 'basic' }
  const mcp = { transport: 'auto', session: 'per-caller', authentication }
  const server = { ...API, name: 'CRM', toolPrefix: 'crm_', mcp }
  const of = (mcpApis: unknown) =>
    updateFault({
      ...{ version: 'a'.repeat(64), base: 'b'.repeat(64), removed: [] },
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
