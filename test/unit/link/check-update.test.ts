/** The form of `passthrough` in updates: absent from an older control plane, else complete. */
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
