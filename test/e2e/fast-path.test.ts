/**
 * The setting FAST_PATH, on and off: two gateways in their processes get the same calls and respond with the same bytes, and their backend
 * gets the same requests. 600 calls, 2,000 in the long check; FAST_PATH_CALLS sends more, FAST_PATH_SEED other ones.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { sized } from '../fixtures/check.ts'
import { read } from '../fixtures/deployment.ts'
import { type GatewayProcess, startGatewayProcess } from '../fixtures/gateway-process.ts'
import { result, type ScriptedServer, startScriptedServer, text } from '../fixtures/scripted-mcp-server.ts'
import { clientToken } from '../fixtures/tokens.ts'
import { startVariedBackend, type VariedBackend } from '../fixtures/varied-backend.ts'
import { SESSION_VERSIONS, type VariedCall, VariedCalls } from '../fixtures/varied-calls.ts'

const CALLS = Number(process.env.FAST_PATH_CALLS ?? sized(600, 2_000))
const SEED = Number(process.env.FAST_PATH_SEED ?? 20261128)
const AT_ONCE = 16
/** Calls after which a long run reports how far it is. */
const REPORT_EVERY = 20_000
const TOOLS = ['things_read', 'things_search', 'things_add', 'server_say']
/** The listener's own: they depend on the time, and on chance. */
const OF_LISTENER = new Set(['date', 'connection', 'keep-alive'])
/** A call over MCP that takes a while has its response as an event of a stream, whose head was sent before. */
const OF_FORM =
  /^(?:content-type|content-length|transfer-encoding|cache-control|x-accel-buffering|x-policy-revision|x-token-optimization-saved)$/

interface Side {
  readonly gateway: GatewayProcess
  readonly token: string
  /** Ids by version. */
  readonly sessions: ReadonlyMap<string, string>
}

interface Received {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

const toolSets = mkdtempSync(join(tmpdir(), 'fast-path-'))
const agent = new Agent({ keepAlive: true, maxSockets: 2 * AT_ONCE })
let backend: VariedBackend
let server: ScriptedServer
let sides: readonly [Side, Side]
beforeAll(async () => {
  backend = await startVariedBackend()
  server = await startScriptedServer(serve)
  writeFileSync(join(toolSets, 'things.json'), JSON.stringify(documentSource()))
  writeFileSync(join(toolSets, 'server.json'), JSON.stringify(serverSource()))
  sides = await Promise.all([startSide('true'), startSide('false')])
}, 120_000)
afterAll(async () => {
  agent.destroy()
  await Promise.all((sides ?? []).map(({ gateway }) => gateway.stop()))
  await backend?.close()
  await server?.close()
  rmSync(toolSets, { recursive: true, force: true })
})

function toolSet(name: string, spec: object): object {
  return {
    apiVersion: 'toolgate.dev/v1alpha1',
    kind: 'ToolSet',
    metadata: { name, namespace: 'tenant-acme' },
    spec: { displayName: name, naming: { prefix: `${name}_` }, ...spec },
  }
}

function documentSource(): object {
  const string = { type: 'string' }
  const id = { name: 'id', in: 'path', required: true, schema: string }
  const query = (name: string, schema: object) => ({ name, in: 'query', schema })
  const properties = {
    id: string,
    q: string,
    n: { type: 'number' },
    flag: { type: 'boolean' },
    list: { type: 'array', items: {} },
    item: { type: 'object' },
  }
  const content = { 'application/json': { schema: { type: 'object', properties } } }
  const responses = { 200: { description: 'A thing.' } }
  const document = {
    openapi: '3.1.0',
    info: { title: 'Things', version: '1' },
    paths: {
      '/things/{id}': { get: { operationId: 'read', parameters: [id, query('q', string)], responses } },
      '/things': {
        get: {
          operationId: 'search',
          parameters: ['q', 'n', 'flag', 'list'].map(name => query(name, properties[name as 'q'])),
          responses,
        },
        post: { operationId: 'add', requestBody: { content }, responses },
      },
    },
  }
  return toolSet('things', { baseURL: backend.url, openAPISpec: { inline: JSON.stringify(document) } })
}

function serverSource(): object {
  return toolSet('server', { source: { mcp: { url: server.url, session: 'shared' } } })
}

/** Repeats the argument, as text alone or beside what makes a result longer to read. */
const serve: Parameters<typeof startScriptedServer>[0] = ({ method, id, params }, response) => {
  if (method === 'tools/list') {
    const inputSchema = { type: 'object', properties: { id: { type: 'string' } } }
    const annotations = { readOnlyHint: true }
    return result(response, id, { tools: [{ name: 'say', description: 'Says.', inputSchema, annotations }] })
  }
  if (method !== 'tools/call') return undefined
  const said = String(params.arguments?.id ?? '')
  const more = said.length % 3 === 0 ? {} : said.length % 3 === 1 ? { isError: false } : { isError: true }
  return result(response, id, { ...text(said), ...more })
}

async function startSide(fastPath: string): Promise<Side> {
  const env = { FAST_PATH: fastPath, TOOLSETS: toolSets, EXAMPLE: 'false' }
  const gateway = await startGatewayProcess({ ...env, LOG_LEVEL: 'silent', GATEWAY_NAME: 'fast-path' })
  const { auth_url, api_url } = gateway.addresses
  const token = await clientToken(auth_url, 'demo-admin')
  const api = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const reply = await read(await fetch(`${api_url}/v1${path}`, { method, headers, ...sent }))
    expect(reply.status, reply.text).toBeLessThan(300)
    return reply.json
  }
  const acme = (await api('GET', '/tenants')).items.find(({ name }: { name: string }) => name === 'acme').id
  const proxied = { name: 'varied', path: '/varied', upstream_url: backend.url, auth_required: false }
  await api('POST', `/tenants/${acme}/apis`, proxied)
  const sessions = new Map<string, string>()
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  for (const protocolVersion of SESSION_VERSIONS) {
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: 't', version: '1' } }
    const response = await fetch(`${gateway.url}/mcp`, {
      method: 'POST',
      headers: { ...headers, authorization: `Bearer ${token}` },
      body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }),
    })
    sessions.set(protocolVersion, response.headers.get('mcp-session-id')!)
  }
  const side = { gateway, token, sessions }
  await vi.waitUntil(() => isServed(side), { timeout: 30_000, interval: 100 })
  return side
}

/** All tools are listed, and the API is published. */
async function isServed(side: Side): Promise<boolean> {
  const headers = { authorization: `Bearer ${side.token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
  const listed = await (await fetch(`${side.gateway.url}/mcp`, { method: 'POST', headers, body })).text()
  await (
    await fetch(`${side.gateway.url}/t/acme/varied`, { headers: { ...headers, 'x-request-id': 'ready' } })
  ).text()
  return TOOLS.every(tool => listed.includes(`"${tool}"`)) && backend.take('ready').length > 0
}

function send({ gateway, token, sessions }: Side, call: VariedCall, id: string): Promise<Received | string> {
  const { method, path, session, body } = call
  const headers: Record<string, string | number> = {
    ...call.headers,
    authorization: `Bearer ${token}`,
    // a backend gets it as `x-forwarded-host`
    host: 'localhost',
    'x-request-id': id,
    traceparent: `00-${id.padStart(32, '0')}-00000000000000aa-01`,
    ...(session === undefined ? {} : { 'mcp-session-id': sessions.get(session)! }),
    ...(body === undefined ? {} : { 'content-length': body.length }),
  }
  return new Promise(resolve => {
    const outgoing = request(`${gateway.listenerUrl}${path}`, { agent, method, headers }, response => {
      const parts: Buffer[] = []
      response.on('data', part => parts.push(part))
      response.on('error', () => {})
      response.on('close', () => {
        const all = Buffer.concat(parts)
        // how much of a broken response arrives is a matter of time
        if (!response.complete) return resolve(`broken off, ${response.statusCode}`)
        resolve({ status: response.statusCode!, headers: response.headers, body: all })
      })
    })
    outgoing.on('error', error => resolve((error as NodeJS.ErrnoException).code ?? error.message))
    outgoing.end(body)
  })
}

/** The response without what depends on its time. */
function comparable(received: Received | string, path: string): string {
  if (typeof received === 'string') return received
  const { status, headers, body } = received
  const isMcp = path === '/mcp'
  const fields = Object.entries(headers).filter(
    ([name]) => !OF_LISTENER.has(name) && !(isMcp && OF_FORM.test(name)),
  )
  const isStream = isMcp && headers['content-type'] === 'text/event-stream'
  const text = body.toString('latin1')
  const messages = isStream ? text.match(/(?<=^data: ).+$/gm)!.join('\n') : text
  return `${status} ${JSON.stringify(fields.sort())}\n${messages}`
}

function describeCall({ method, path, session, headers, body }: VariedCall): string {
  return `${method} ${path} in ${session ?? 'no session'} ${JSON.stringify(headers)} ${body?.subarray(0, 500).toString('latin1')}`
}

it(
  `${CALLS} calls have the same responses with and without the fast path`,
  async () => {
    const calls = new VariedCalls(SEED, TOOLS)
    const statuses = new Map<string, number>()
    const differences: string[] = []
    let count = 0
    const worker = async (): Promise<void> => {
      while (count < CALLS && differences.length < 5) {
        const id = (++count).toString(16)
        if (count % REPORT_EVERY === 0)
          console.info(`${count} of ${CALLS} calls, ${differences.length} differences`)
        const call = calls.next()
        const [on, off] = sides
        const withIt = comparable(await send(on, call, id), call.path)
        const requestsWithIt = backend.take(id)
        const without = comparable(await send(off, call, id), call.path)
        const requestsWithout = backend.take(id)
        statuses.set(withIt.slice(0, 3), (statuses.get(withIt.slice(0, 3)) ?? 0) + 1)
        if (withIt !== without)
          differences.push(`${describeCall(call)}\n--- on\n${withIt}\n--- off\n${without}`)
        else if (requestsWithIt.join('\n') !== requestsWithout.join('\n'))
          differences.push(
            `${describeCall(call)}\n--- on\n${requestsWithIt.join('\n')}\n--- off\n${requestsWithout.join('\n')}`,
          )
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
    console.info(
      `seed ${SEED}: ${[...statuses].map(([status, n]) => `${status}: ${n}`).join(', ')}; the server got ${server.seen.length} messages`,
    )
    expect(differences, differences.join('\n\n')).toEqual([])
    expect(statuses.get('200')).toBeGreaterThan(CALLS / 2)
  },
  60_000 + CALLS * 20,
)
