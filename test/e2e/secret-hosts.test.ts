/** A secret goes only to the hosts that it names: APIs, ToolSets whose document names another server, and Tool resources with another endpoint. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parse } from 'yaml'
import { type Deployment, deploy, post, read, rpc } from '../fixtures/deployment.ts'
import { type ServedMcp, startMcpServer } from '../fixtures/mcp-server.ts'
import { type ScriptedBackend, startScriptedBackend } from '../fixtures/scripted-backend.ts'

const folder = mkdtempSync(join(tmpdir(), 'secret-hosts-'))
const toolsets = join(folder, 'toolsets')
const dataDir = join(folder, 'data')
const SECRET = 'token-of-acme'
const VERSION = { 'mcp-protocol-version': '2025-11-25' }

/** The server that the secret is for, and another one. */
let named: ServedMcp
let foreign: ServedMcp
let backend: ScriptedBackend
let gateway: Deployment
let admin: string
let apis: string

const writeSecret = (key: string, text: string) =>
  writeFileSync(join(toolsets, 'secrets', 'tenant-acme', key), `${text}\n`)
const portOf = (url: string) => `127.0.0.1:${new URL(url).port}`

/** A ToolSet whose document declares the server, and one Tool resource that moves an operation to another address. */
function writeToolSet(name: string, server: string): void {
  const paths = {
    '/a': { get: { operationId: `${name}_a`, responses: {} } },
    '/b': { get: { operationId: `${name}_b`, responses: {} } },
  }
  const document = {
    openapi: '3.1.0',
    info: { title: name, version: '1' },
    servers: [{ url: server }],
    paths,
  }
  writeFileSync(
    join(toolsets, `${name}.yaml`),
    JSON.stringify({
      apiVersion: 'toolgate.dev/v1alpha1',
      kind: 'ToolSet',
      metadata: { name, namespace: 'tenant-acme' },
      spec: {
        displayName: name,
        openAPISpec: { inline: JSON.stringify(document) },
        toolDefaults: {
          authentication: { type: 'bearer', secretRef: { name: 'tenant-acme', key: 'shop' } },
        },
      },
    }),
  )
}

beforeAll(async () => {
  named = await startMcpServer()
  foreign = await startMcpServer()
  backend = await startScriptedBackend()
  mkdirSync(join(toolsets, 'secrets', 'tenant-acme'), { recursive: true })
  for (const key of ['crm', 'unbound', 'shop']) writeSecret(key, SECRET)
  writeSecret('crm.hosts', portOf(named.url))
  writeSecret('shop.hosts', portOf(backend.url))
  writeToolSet('right', backend.url)
  writeToolSet('wrong', new URL(foreign.url).origin)
  writeFileSync(
    join(toolsets, 'moved.yaml'),
    JSON.stringify({
      apiVersion: 'toolgate.dev/v1alpha1',
      kind: 'Tool',
      metadata: { name: 'right_b', namespace: 'tenant-acme' },
      spec: { method: 'GET', endpoint: `${new URL(foreign.url).origin}/b` },
    }),
  )
  gateway = await deploy({ TOOLSETS: toolsets, DATA_DIR: dataDir, SSE_LIMITER_ENABLED: 'false' })
  admin = await gateway.token('demo-admin')
  const { api_url } = gateway.running.addresses
  const headers = { authorization: `Bearer ${admin}` }
  const tenants = await read(await fetch(`${api_url}/v1/tenants`, { headers }))
  apis = `${api_url}/v1/tenants/${tenants.json.items[0].id}/apis`
})
afterAll(async () => {
  await gateway?.stop()
  await Promise.all([named?.close(), foreign?.close(), backend?.close()])
  rmSync(folder, { recursive: true, force: true })
})

const newApi = (path: string, upstreamUrl: string, authentication: object) => {
  const body = { name: path, type: 'mcp', path, upstream_url: upstreamUrl, mcp: { authentication } }
  return post(apis, body, admin)
}

async function patch(id: string, change: object) {
  const headers = { authorization: `Bearer ${admin}`, 'content-type': 'application/json' }
  return read(await fetch(`${apis}/${id}`, { method: 'PATCH', headers, body: JSON.stringify(change) }))
}

const names = async (): Promise<string[]> =>
  (await gateway.post('/mcp', rpc('tools/list'), admin, VERSION)).json.result.tools.map(
    (tool: { name: string }) => tool.name,
  )

async function until(holds: (seen: string[]) => boolean): Promise<void> {
  for (let tries = 0; tries < 150; tries++) {
    if (holds(await names())) return
    await sleep(200)
  }
  throw new Error(`not within 30 s: ${await names()}`)
}

const asToken = { type: 'bearer', secret: 'crm' }

it('an API is not created or changed so that the secret would go elsewhere', async () => {
  for (const [path, url, authentication] of [
    ['/x1', foreign.url, asToken],
    ['/x2', named.url, { type: 'bearer', secret: 'unbound' }],
    [
      '/x3',
      named.url,
      { type: 'oauth2_client_credentials', secret: 'crm', client_id: 'a', token_url: `${foreign.url}/token` },
    ],
  ] as const) {
    const { status, json } = await newApi(path, url, authentication)
    expect([status, json.error?.details?.[0].field], path).toEqual([400, 'mcp.authentication.secret'])
    expect(JSON.stringify(json)).toContain(
      `may not be sent to ${portOf(path === '/x2' ? named.url : foreign.url)}`,
    )
  }
  const { status, json: api } = await newApi('/crm', named.url, asToken)
  expect(status).toBe(201)
  await until(seen => seen.includes('crm_echo'))
  const moved = await patch(api.id, { upstream_url: foreign.url })
  expect([moved.status, moved.json.error.details[0].field]).toEqual([400, 'mcp.authentication.secret'])
  expect((await patch(api.id, { name: 'CRM' })).status).toBe(200)
  await sleep(1_000)
})

it('tools of a stored API end when the secret is bound elsewhere, and return with it', async () => {
  writeSecret('crm.hosts', 'api.example.com, *.example.org')
  await until(seen => !seen.includes('crm_echo'))
  const before = named.requests.length
  await sleep(1_000)
  expect(named.requests.length).toBe(before)
  writeSecret('crm.hosts', `api.example.com\n${portOf(named.url)}`)
  await until(seen => seen.includes('crm_echo'))
})

it('a document cannot send the secret of its ToolSet to another server', async () => {
  expect(await names()).toContain('right_a')
  expect(await names()).not.toContain('wrong_a')
  const status = parse(readFileSync(join(dataDir, 'status/tenant-acme/wrong.yaml'), 'utf8'))
  expect(JSON.stringify(status)).toContain(`the secret may not be sent to ${portOf(foreign.url)}`)
})

it('nor can a Tool resource', async () => {
  expect(await names()).not.toContain('right_b')
  const request = rpc('tools/call', { name: 'right_b', arguments: {} })
  expect((await gateway.post('/mcp', request, admin, VERSION)).json.error.code).toBe(-32602)
})

it('the foreign server has received the secret in none of these', () => {
  expect(JSON.stringify(foreign.requests)).not.toContain(SECRET)
  expect(named.requests.some(({ authorization }) => authorization === `Bearer ${SECRET}`)).toBe(true)
})
