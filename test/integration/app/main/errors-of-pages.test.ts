/** The log names the part whose request failed at the listener of the control plane: control plane, console or portal. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createContext } from '../../../../src/app/main/app-context.ts'
import { type OpenApi, openApi } from '../../../../src/app/main/control-plane.ts'
import { Closers } from '../../../../src/telemetry/closers.ts'
import { SILENT } from '../../../../src/telemetry/log.ts'
import { readSettings } from '../../../fixtures/settings.ts'

const lines: (readonly [fields: object, message: string])[] = []
const log = { ...SILENT, error: (fields: object, message: string) => void lines.push([fields, message]) }
const closers = new Closers(log)
const failure = new Error('of the test')
let api: OpenApi

beforeAll(async () => {
  api = await openApi(createContext(readSettings({ API_PORT: '0' }), log, closers, false))
  api.serve(() => {
    throw failure
  })
})
afterAll(() => closers.close())

it.each([
  ['/v1/tenants', 'a request to the control plane failed'],
  ['/portals', 'a request to the control plane failed'],
  ['/console', 'a request to the console failed'],
  ['/portal/api/control/v1/plans?q=secret', 'a request to the portal failed'],
])('%s: %s', async (path, message) => {
  lines.length = 0
  expect((await fetch(`${api.apiUrl}${path}`)).status).toBe(500)
  expect(lines).toEqual([[{ err: failure }, message]])
})
