/** A call with a long list of objects that must be unique: other requests are served while it is checked, and a repeated object is refused. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { post, rpc } from '../fixtures/deployment.ts'
import { type GatewayProcess, startGatewayProcess } from '../fixtures/gateway-process.ts'
import { startOwnTime } from '../fixtures/own-time.ts'

const ITEMS = 20_000
/** Comparing every pair took twelve seconds on the machine where this was found; one pass takes tens of milliseconds. */
const WITHIN_MS = 2_500

let backend: Server
let gateway: GatewayProcess
let toolSets: string
let token: string

beforeAll(async () => {
  backend = createServer((request, response) => {
    request
      .resume()
      .on('end', () => response.setHeader('content-type', 'application/json').end('{"ok":true}'))
  })
  await new Promise<void>(resolve => backend.listen(0, '127.0.0.1', resolve))
  toolSets = mkdtempSync(join(tmpdir(), 'unique-items-'))
  const baseURL = `http://127.0.0.1:${(backend.address() as AddressInfo).port}`
  writeFileSync(join(toolSets, 'stock.json'), JSON.stringify(toolSet(baseURL)))
  gateway = await startGatewayProcess({ TOOLSETS: toolSets, RATE_LIMIT_PER_MIN: '100000' })
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: 'demo-admin',
    client_secret: 'demo-admin-secret',
  })
  const issued = await fetch(`${gateway.addresses.auth_url}/protocol/openid-connect/token`, {
    method: 'POST',
    body: form,
  })
  token = ((await issued.json()) as { access_token: string }).access_token
}, 120_000)
afterAll(async () => {
  await gateway?.stop()
  await new Promise(resolve => backend.close(resolve))
  rmSync(toolSets, { recursive: true, force: true })
})

function toolSet(baseURL: string): object {
  const lines = { type: 'array', uniqueItems: true, items: { type: 'object' } }
  const schema = { type: 'object', properties: { lines }, required: ['lines'] }
  const openapi = {
    openapi: '3.1.0',
    info: { title: 'Stock', version: '1' },
    paths: {
      '/count': {
        post: {
          operationId: 'count_lines',
          summary: 'Counts lines.',
          requestBody: { required: true, content: { 'application/json': { schema } } },
          responses: { 200: { description: 'Done.' } },
        },
      },
    },
  }
  return {
    apiVersion: 'toolgate.dev/v1alpha1',
    kind: 'ToolSet',
    metadata: { name: 'stock', namespace: 'tenant-acme' },
    spec: { displayName: 'Stock', baseURL, openAPISpec: { inline: JSON.stringify(openapi) } },
  }
}

const lines = Array.from({ length: ITEMS }, (_, id) => ({ id, name: `line ${id}` }))
const call = (list: readonly object[]) =>
  post(
    `${gateway.url}/mcp`,
    rpc('tools/call', { name: 'count_lines', arguments: { lines: list } }),
    token,
    session,
  )
let session: Record<string, string> = {}

it(`serves pings within ${WITHIN_MS} ms while ${ITEMS} objects are checked`, {
  timeout: 180_000,
}, async () => {
  const opened = await post(
    `${gateway.url}/mcp`,
    rpc('initialize', { protocolVersion: '2025-06-18' }),
    token,
    {
      accept: 'application/json, text/event-stream',
    },
  )
  session = {
    accept: 'application/json, text/event-stream',
    'mcp-session-id': opened.headers.get('mcp-session-id')!,
  }
  // code that has never run is slow
  expect((await call(lines.slice(0, 10))).json.result?.isError, 'a short list').toBe(false)
  expect((await call(lines.slice(0, 8_000))).json.result?.isError, 'starts the thread that checks').toBe(
    false,
  )

  let done = false
  const elapsedMs = startOwnTime()
  const long = call(lines).finally(() => {
    done = true
  })
  let longestPingMs = 0
  let pings = 0
  while (!done) {
    const askedAtMs = elapsedMs()
    const pong = await post(`${gateway.url}/mcp`, rpc('ping'), token, session)
    expect(pong.json.result).toEqual({})
    longestPingMs = Math.max(longestPingMs, elapsedMs() - askedAtMs)
    pings++
  }
  expect((await long).json.result).toMatchObject({ isError: false, content: [{ text: '{"ok":true}' }] })
  expect(pings).toBeGreaterThan(0)
  expect(longestPingMs).toBeLessThan(WITHIN_MS)
  expect(elapsedMs()).toBeLessThan(2 * WITHIN_MS)
})

it('refuses a repeated object and names its path and both positions', async () => {
  const repeated = [...lines.slice(0, 100), { name: 'line 7', id: 7.0 }]
  expect(JSON.stringify((await call(repeated)).json)).toContain(
    '/lines must NOT have duplicate items (items ## 7 and 100 are identical)',
  )
})
