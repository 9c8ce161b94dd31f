/**
 * Addresses that a caller can supply — webhook, upstream of an API, document, base and endpoint of tools — in hostile spellings,
 * against a whole deployment as in production: none leads to a connection to a canary on this machine. Every eighth spelling (long check: fourth); with SOAK=1
 * all of them. (The guard itself meets all of them in test/contract/egress. Mirrors and MCP servers are not tested here.)
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type DevProvider, startDevProvider } from '../../src/identity/dev-provider/dev-provider.ts'
import { SILENT } from '../../src/telemetry/log.ts'
import { HOSTILE_URLS } from '../contract/egress/hostile-addresses.ts'
import { until } from '../contract/webhooks/sending.ts'
import { sized } from '../fixtures/check.ts'
import { type Deployment, deploy, type ReadResponse, read } from '../fixtures/deployment.ts'
import { freePort } from '../fixtures/free-ports.ts'

/** The identity provider's address, the only one that is allowed; none of the hostile ones. */
const PROVIDER_HOST = '127.0.0.77'
const SPELLINGS = HOSTILE_URLS.filter((_, index) => process.env.SOAK === '1' || index % sized(8, 4) === 0)
/** Some are not addresses at all, and are rejected before they are stored. */
const KEPT = Math.floor(SPELLINGS.length * 0.6)
/** Addresses that are called at once. */
const AT_ONCE = 20

let directory: string
let canary: Server
let port: number
let connections = 0
let provider: DevProvider
let platform: Deployment
let admin: string
let urls: string[]

beforeAll(async () => {
  // On every address of the machine, IPv4 and IPv6.
  canary = createServer(socket => {
    connections++
    socket.destroy()
  })
  await new Promise<void>(resolve => canary.listen(0, '::', resolve))
  port = (canary.address() as AddressInfo).port
  urls = SPELLINGS.map(url => url.replace('PORT', String(port)))

  directory = mkdtempSync(join(tmpdir(), 'toolgate-hostile-'))
  const issuerPort = await freePort()
  provider = await startDevProvider({
    host: PROVIDER_HOST,
    port: issuerPort,
    publicUrl: `http://${PROVIDER_HOST}:${issuerPort}`,
    dataDir: join(directory, 'provider'),
    log: SILENT,
  })
  writeToolSets(join(directory, 'toolsets'))
  const gatewayPort = String(await freePort())
  platform = await deploy({
    NODE_ENV: 'production',
    DATA_DIR: join(directory, 'data'),
    AUTH_ISSUER: provider.issuer,
    EGRESS_ALLOW: PROVIDER_HOST,
    ALLOW_INSECURE: 'API_URL,AUTH_ISSUER',
    GATEWAY_PORT: gatewayPort,
    GATEWAY_URL: `http://localhost:${gatewayPort}`,
    TOOLSETS: join(directory, 'toolsets'),
  })
  admin = await platform.token('demo-admin')
}, 120_000)
afterAll(async () => {
  await platform?.stop()
  await provider?.close()
  await new Promise(resolve => canary.close(resolve))
  rmSync(directory, { recursive: true, force: true })
})

const toolSet = (name: string, spec: object): string =>
  JSON.stringify({
    apiVersion: 'toolgate.dev/v1alpha1',
    kind: 'ToolSet',
    metadata: { name, namespace: 'platform' },
    spec: { displayName: name, ...spec },
  })

/** For each address a tool-set whose document is there, one whose base is there, one whose document names it, and a tool whose endpoint is there. */
function writeToolSets(folder: string): void {
  mkdirSync(folder, { recursive: true })
  const document = (servers: object) =>
    JSON.stringify({
      openapi: '3.1.0',
      info: { title: 'x', version: '1' },
      ...servers,
      paths: { '/x': { get: { operationId: 'x', summary: 'x', responses: { 200: { description: 'ok' } } } } },
    })
  urls.forEach((url, index) => {
    const write = (name: string, spec: object): void =>
      writeFileSync(join(folder, `${name}-${index}.yaml`), toolSet(`${name}-${index}`, spec))
    const naming = (prefix: string) => ({ naming: { prefix: `${prefix}${index}_` } })
    write('document', { openAPISpec: { url }, ...naming('d') })
    write('base', { openAPISpec: { inline: document({}) }, baseURL: url, ...naming('b') })
    write('server', { openAPISpec: { inline: document({ servers: [{ url }] }) }, ...naming('s') })
    const tool = {
      displayName: 'x',
      description: 'x',
      endpoint: url,
      method: 'GET',
      inputSchema: { type: 'object' },
    }
    const resource = {
      apiVersion: 'toolgate.dev/v1alpha1',
      kind: 'Tool',
      metadata: { name: `endpoint-${index}`, namespace: 'platform' },
      spec: tool,
    }
    writeFileSync(join(folder, `endpoint-${index}.yaml`), JSON.stringify(resource))
  })
}

async function api(method: string, path: string, body?: unknown): Promise<ReadResponse> {
  const response = await fetch(`${platform.running.addresses.api_url}/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return read(response)
}

async function tenant(name: string): Promise<string> {
  const made = await api('POST', '/tenants', { name, tier: 'enterprise' })
  expect(made.status, made.text).toBe(201)
  return `/tenants/${made.json.id}`
}

/** A few at a time. @returns how many were taken */
async function each(work: (url: string, index: number) => Promise<boolean>): Promise<number> {
  let taken = 0
  let next = 0
  const worker = async () => {
    while (next < urls.length) {
      const index = next++
      if (await work(urls[index]!, index)) taken++
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return taken
}

describe(`of ${SPELLINGS.length} hostile addresses none is reached`, () => {
  it('as the address of a webhook', async () => {
    // A tenant has at most a hundred.
    const tenants = [await tenant('hooks-a'), await tenant('hooks-b')]
    await each(async (url, index) => {
      // plain HTTP is refused for that reason alone
      const address = url.replace(/^(\s*)http:/i, '$1https:')
      const made = await api('POST', `${tenants[index % 2]}/webhooks`, { url: address, events: ['*'] })
      // what a name resolves to is known at the delivery alone
      const isName = URL.canParse(address) && /^localhost\.?$/.test(new URL(address).hostname)
      expect([address, made.status]).toEqual([address, isName ? 201 : 400])
      return false
    })
    const hooks: string[] = []
    for (const name of ['localhost', 'LOCALHOST.']) {
      const made = await api('POST', `${tenants[0]}/webhooks`, { url: `https://${name}/`, events: ['*'] })
      expect(made.status).toBe(201)
      const hook = `${tenants[0]}/webhooks/${made.json.id}`
      hooks.push(hook)
      expect((await api('POST', `${hook}/test`, { event_type: 'subscription.created' })).status).toBe(202)
    }
    const plain = await api('POST', `${tenants[0]}/webhooks`, { url: urls[0], events: ['*'] })
    expect([plain.status, plain.json.error.details[0].field]).toEqual([400, 'url'])
    // where a name leads is known when it is called
    for (const hook of hooks) {
      const last = async () => (await api('GET', `${hook}/deliveries`)).json.items[0]
      await until(`an attempt at ${hook}`, async () => (await last()).error !== null)
      expect(await last()).toMatchObject({ status: 'pending', status_code: null, response_body: null })
    }
  }, 120_000)

  it('as the upstream of an API', async () => {
    const base = await tenant('upstreams')
    const paths: string[] = []
    await each(async (url, index) => {
      const body = { name: 'x', upstream_url: url, path: `/p${index}`, auth_required: false }
      const made = await api('POST', `${base}/apis`, body)
      expect([201, 400]).toContain(made.status)
      if (made.status === 201) paths.push(`/t/upstreams/p${index}`)
      return made.status === 201
    })
    expect(paths.length).toBeGreaterThanOrEqual(KEPT)
    const status = async (path: string) => (await fetch(`${platform.url}${path}/x`)).status
    await until('the last API to be served', async () => (await status(paths.at(-1)!)) !== 404)
    for (const path of paths) expect([path, await status(path)]).toEqual([path, 502])
  }, 120_000)

  it('as document, base or endpoint of tools', async () => {
    const tools: string[] = []
    for (let cursor: string | undefined, more = true; more; ) {
      const response = await platform.post('/mcp/v1/tools', cursor === undefined ? {} : { cursor }, admin)
      tools.push(...response.json.tools.map((tool: { name: string }) => tool.name))
      cursor = response.json.nextCursor
      more = cursor !== undefined
    }
    expect(tools.filter(name => name.startsWith('d'))).toEqual([])
    for (const prefix of ['b', 's', 'endpoint'])
      expect(tools.filter(name => name.startsWith(prefix)).length, prefix).toBeGreaterThanOrEqual(KEPT)
    while (tools.length > 0) {
      await Promise.all(
        tools.splice(0, AT_ONCE).map(async name => {
          const response = await platform.post('/mcp/v1/tools/invoke', { name, arguments: {} }, admin)
          expect([name, response.status, response.text]).toEqual([name, 502, response.text])
        }),
      )
    }
  }, 120_000)

  it('which the canary confirms, that counts every connection', async () => {
    expect(connections).toBe(0)
    await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined)
    expect(connections).toBe(1)
  })
})
