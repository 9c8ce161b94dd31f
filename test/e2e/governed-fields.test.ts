/** Where a credential of a tenant goes is not changed by its members. `contract/control/authority.test.ts` has every field and every caller. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ServedMcp, startMcpServer } from '../fixtures/mcp-server.ts'
import { type TwoTenants, twoTenants } from '../fixtures/two-tenants.ts'

const folder = mkdtempSync(join(tmpdir(), 'governed-fields-'))
const SECRET = 'token-of-acme'
const WITH_SECRET = { authentication: { type: 'bearer', secret: 'crm' } }
const NEEDED = 'tenant-admin or cpi-admin'

let world: TwoTenants
/** Server of the tenant. */
let server: ServedMcp
/** For the member alone. */
let foreign: ServedMcp
let member: string
let administrator: string
/** An MCP server with a secret, an HTTP API with a key in a header, and one without either. */
let secured: string
let keyed: string
let plain: string
let product: string

const apis = () => `/tenants/${world.acme}/apis`
const products = () => `/tenants/${world.acme}/products`
const read = async (path: string) => (await world.api('GET', path, administrator)).json
const patch = (path: string, token: string, body: object) => world.api('PATCH', path, token, body)

async function made(path: string, body: object): Promise<string> {
  const reply = await world.api('POST', path, administrator, body)
  expect(reply.status, reply.text).toBe(201)
  return reply.json.id
}

/** @param fields in the details of the refusal */
function expectRefused({ status, json }: Awaited<ReturnType<typeof patch>>, fields: readonly string[]): void {
  expect([status, json.error?.code], JSON.stringify(json)).toEqual([403, 'forbidden'])
  expect(json.error.message).toContain(NEEDED)
  expect(json.error.details.map(({ field }: { field: string }) => field).sort()).toEqual([...fields].sort())
}

beforeAll(async () => {
  server = await startMcpServer()
  foreign = await startMcpServer()
  mkdirSync(join(folder, 'secrets', 'tenant-acme'), { recursive: true })
  writeFileSync(join(folder, 'secrets', 'tenant-acme', 'crm'), `${SECRET}\n`)
  writeFileSync(join(folder, 'secrets', 'tenant-acme', 'crm.hosts'), '127.0.0.1\n')
  world = await twoTenants({ TOOLSETS: folder })
  const scope = 'platform:read platform:execute platform:write'
  member = await world.token({ id: 'member', tenant: 'acme', scope })
  administrator = await world.token({ id: 'chief', tenant: 'acme', scope, roles: ['tenant-admin'] })
  secured = await made(apis(), {
    name: 'CRM',
    path: '/crm',
    type: 'mcp',
    upstream_url: server.url,
    mcp: WITH_SECRET,
  })
  const http = { upstream_url: world.upstreamUrl }
  const traffic = { request_headers: { set: { 'x-backend-key': SECRET } } }
  keyed = await made(apis(), { name: 'Keyed', path: '/keyed', ...http, traffic })
  plain = await made(apis(), { name: 'Plain', path: '/plain', ...http })
  product = await made(products(), { slug: 'suite', name: 'Suite', plan: 'gold', api_ids: [plain] })
}, 600_000)
afterAll(async () => {
  await world?.stop()
  await server?.close()
  await foreign?.close()
  rmSync(folder, { recursive: true, force: true })
})

describe('a credential of the tenant', () => {
  it('is not sent to the server of a member', async () => {
    const stolen = { name: 'Mine', path: '/mine', type: 'mcp', upstream_url: foreign.url, mcp: WITH_SECRET }
    expectRefused(await world.api('POST', apis(), member, stolen), [])
    for (const [id, change, fields] of [
      [secured, { upstream_url: foreign.url }, ['upstream_url']],
      [secured, { upstream_url: foreign.url, mcp: WITH_SECRET }, ['upstream_url']],
      [secured, { upstream_url: foreign.url, mcp: null }, ['mcp', 'upstream_url']],
      [secured, { mcp: { session: 'shared', ...WITH_SECRET } }, ['mcp']],
      [secured, { type: 'http', mcp: null }, ['mcp', 'type']],
      [plain, { type: 'mcp', mcp: WITH_SECRET }, ['mcp', 'type']],
      [plain, { type: 'mcp' }, ['type']],
      [keyed, { upstream_url: foreign.url }, ['upstream_url']],
      [
        keyed,
        {
          traffic: {
            upstreams: { addresses: [{ url: foreign.url }] },
            mirror: { url: foreign.url, percent: 100 },
          },
        },
        ['traffic'],
      ],
    ] as const) {
      const path = `${apis()}/${id}`
      const before = await read(path)
      expectRefused(await patch(path, member, change), fields)
      expect(await read(path)).toEqual(before)
    }
    // longer than a gateway needs to list a new server
    await sleep(2_000)
    expect((await read(apis())).items.map(({ name }: { name: string }) => name).sort()).toEqual([
      'CRM',
      'Keyed',
      'Plain',
    ])
    expect(foreign.requests).toEqual([])
  })

  it('is moved by an administrator of the tenant', async () => {
    const path = `${apis()}/${keyed}`
    const before = await read(path)
    const moved = await patch(path, administrator, { upstream_url: `${world.upstreamUrl}/v2` })
    expect([moved.status, moved.json.upstream_url]).toEqual([200, `${world.upstreamUrl}/v2`])
    expect((await patch(path, administrator, { upstream_url: before.upstream_url })).status).toBe(200)
    expect(
      (await patch(`${apis()}/${secured}`, administrator, { mcp: { session: 'shared', ...WITH_SECRET } }))
        .status,
    ).toBe(200)
  })
})

describe('a member', () => {
  it('changes names and texts', async () => {
    for (const path of [`${apis()}/${plain}`, `${products()}/${product}`])
      expect((await patch(path, member, { name: 'Other', description: 'Changed.' })).status).toBe(200)
  })

  it('may repeat the values that are stored', async () => {
    for (const id of [secured, keyed, plain]) {
      const path = `${apis()}/${id}`
      const {
        id: _,
        tenant_id,
        public_url,
        spec_status,
        deprecated_at,
        created_at,
        updated_at,
        ...fields
      } = await read(path)
      const reply = await patch(path, member, { ...fields, description: 'Repeated.' })
      expect([reply.status, reply.json.description], reply.text).toEqual([200, 'Repeated.'])
    }
    const { plan, api_ids } = await read(`${products()}/${product}`)
    expect((await patch(`${products()}/${product}`, member, { plan, api_ids })).status).toBe(200)
  })
})
