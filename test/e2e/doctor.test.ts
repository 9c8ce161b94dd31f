/** `toolgate doctor` against a real deployment: healthy as every client, and behind fronts that break one step each. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { CLIENT_NAMES, CLIENTS } from '../../src/app/cli/doctor/clients.ts'
import type { ClientReport } from '../../src/app/cli/doctor/examine.ts'
import { runToolgate } from '../fixtures/command.ts'
import {
  type Corrupt,
  type CorruptingFront,
  type Passing,
  type Reply,
  startCorruptingFront,
} from '../fixtures/corrupting-proxy.ts'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { freePort } from '../fixtures/free-ports.ts'

let front: CorruptingFront
let gateway: Deployment
let token: string

beforeAll(async () => {
  front = await startCorruptingFront()
  const port = await freePort()
  gateway = await deploy({ GATEWAY_URL: front.url, GATEWAY_PORT: String(port), SSE_LIMITER_ENABLED: 'false' })
  front.target = `http://127.0.0.1:${port}`
  token = await gateway.token('demo-admin', { resource: `${front.url}/mcp/sse` })
})
afterAll(async () => {
  await gateway?.stop()
  await front?.close()
})
beforeEach(() => {
  front.corrupt = undefined
})

const run = (...args: string[]) => runToolgate(['doctor', ...args])

async function examined(...args: string[]): Promise<{ code: number; clients: ClientReport[] }> {
  const { code, out } = await run('--url', front.url, '--json', ...args)
  return { code, clients: (JSON.parse(out) as { clients: ClientReport[] }).clients }
}

const STEPS =
  'tls reach cors challenge prefix resource server registration authorization token initialize stream list pages names limits'.split(
    ' ',
  )
/** For a plain address without a prefix. */
const SKIPPED = ['tls', 'prefix']

describe('a healthy gateway', () => {
  it('lets every client through every step', async () => {
    const { code, clients } = await examined('--token', token)
    expect(clients.map(client => [client.client, client.failed])).toEqual(
      CLIENT_NAMES.map(name => [name, undefined]),
    )
    for (const { client, header, login, steps } of clients) {
      expect([header, login]).toEqual([{ ok: true }, { ok: true }])
      const skipped = client === 'inspector' ? SKIPPED : [...SKIPPED, 'cors']
      expect(steps.map(step => [step.step, step.status])).toEqual(
        STEPS.map(step => [step, skipped.includes(step) ? 'skipped' : 'ok']),
      )
    }
    expect(code).toBe(0)
  })

  it('has no path prefix at the endpoint of a tool set', async () => {
    const { code, out } = await run('--url', `${front.url}/mcp/shop`, '--client', 'claude', '--json')
    const [{ steps }] = (JSON.parse(out) as { clients: [{ steps: { step: string; status: string }[] }] })
      .clients
    expect([code, steps.find(({ step }) => step === 'prefix')?.status]).toEqual([0, 'skipped'])
  })

  it('is reported in words, with what was skipped and without the token', async () => {
    const { code, out } = await run('--url', `${front.url}/mcp`, '--client', 'cursor')
    expect(code).toBe(0)
    expect(out).toContain('Cursor can connect.\n  Skipped steps: 6.')
    const whole = await run('--url', front.url, '--client', 'claude', '--token', token)
    expect(whole.code).toBe(0)
    expect(whole.out).not.toContain(token)
    expect(whole.out).toMatch(/Claude with this token can connect\.\n {2}Claude with a login can connect\./)
    expect(whole.out).toMatch(/limits +Tools: \d+; the tool definitions have about \d+ tokens/)
  })
})

const json = (reply: Reply, change: (document: Record<string, unknown>) => void): void => {
  const document = JSON.parse(reply.body) as Record<string, unknown>
  change(document)
  reply.body = JSON.stringify(document)
}
const set =
  (name: string, value: unknown) =>
  (document: Record<string, unknown>): void => {
    document[name] = value
  }
const at =
  (path: string, corrupt: Corrupt): Corrupt =>
  (reply, passing) => {
    if (passing.path.startsWith(path)) corrupt(reply, passing)
  }
const onMethod =
  (method: string, corrupt: Corrupt): Corrupt =>
  (reply, passing) => {
    if (passing.body.includes(`"method":"${method}"`)) corrupt(reply, passing)
  }
const withToken =
  (corrupt: Corrupt): Corrupt =>
  (reply, passing: Passing) => {
    if (passing.headers.authorization !== undefined) corrupt(reply, passing)
  }
const becomes =
  (status: number, body = '<html>no</html>', headers = {}): Corrupt =>
  reply => {
    Object.assign(reply, { status, body, headers: { 'content-type': 'text/html', ...headers } })
  }
const tools = (change: (list: Record<string, unknown>[]) => void): Corrupt =>
  withToken(
    onMethod('tools/list', reply =>
      json(reply, document => change((document.result as { tools: Record<string, unknown>[] }).tools)),
    ),
  )

const JSON_TYPE = { 'content-type': 'application/json' }
const AS = '/.well-known/oauth-authorization-server'
const PRM = '/.well-known/oauth-protected-resource'

const BROKEN: readonly (readonly [step: string, what: string, corrupt: Corrupt, fix: RegExp])[] = [
  ['reach', 'a host that is not accepted', at('/mcp', becomes(421)), /ALLOWED_HOSTS/],
  ['reach', 'a page of the proxy', at('/mcp', becomes(200)), /Another server/],
  [
    'reach',
    'a redirect',
    at('/mcp', becomes(301, '', { location: 'https://other.example/' })),
    /do not follow/,
  ],
  [
    'reach',
    'a JSON-RPC error with 200',
    onMethod(
      'initialize',
      becomes(
        200,
        '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}',
        JSON_TYPE,
      ),
    ),
    /must return a result/,
  ],
  [
    'reach',
    'a result without serverInfo',
    onMethod('initialize', becomes(200, '{"jsonrpc":"2.0","id":1,"result":{}}', JSON_TYPE)),
    /must return a result/,
  ],
  ['reach', 'nothing at the path', at('/mcp', becomes(404)), /"\/mcp", "\/mcp\/sse" and "\/mcp\/\{name\}"/],
  [
    'challenge',
    'a header that is dropped',
    reply => void delete reply.headers['www-authenticate'],
    /WWW-Authenticate/,
  ],
  [
    'challenge',
    'another public address',
    reply => {
      if (reply.status === 401)
        reply.headers['www-authenticate'] = `Bearer resource_metadata="https://other.example${PRM}"`
    },
    /GATEWAY_URL/,
  ],
  ['challenge', '403 for 401', onMethod('tools/list', becomes(403)), /401/],
  ['resource', 'a document that is hidden', at('/.well-known', becomes(404)), /forward \/\.well-known/],
  ['resource', 'a 5xx', at(PRM, becomes(502)), /stop the discovery after a 5xx/],
  [
    'resource',
    'another resource',
    at(PRM, reply => json(reply, set('resource', 'https://other.example/mcp'))),
    /GATEWAY_URL/,
  ],
  [
    'resource',
    'no authorization server',
    at(PRM, reply => json(reply, set('authorization_servers', []))),
    /authorization_servers/,
  ],
  [
    'server',
    'the issuer of the provider',
    at(AS, reply => json(reply, set('issuer', gateway.running.addresses.auth_url))),
    /must be identical/,
  ],
  [
    'server',
    'no PKCE',
    at(AS, reply => json(reply, document => void delete document.code_challenge_methods_supported)),
    /S256/,
  ],
  [
    'server',
    'no registration',
    at(AS, reply => json(reply, document => void delete document.registration_endpoint)),
    /Enable dynamic client registration/,
  ],
  [
    'server',
    'plain http',
    at(AS, reply => json(reply, set('token_endpoint', 'http://gateway.example/oauth/token'))),
    /only over https/,
  ],
  [
    'registration',
    'a provider that forbids it',
    at('/oauth/register', becomes(403, '{"error":"access_denied"}', { 'content-type': 'application/json' })),
    /Trusted hosts/,
  ],
  [
    'registration',
    'an unavailable provider',
    at('/oauth/register', becomes(502, '{"error":"server_error"}', { 'content-type': 'application/json' })),
    /AUTH_ISSUER/,
  ],
  [
    'registration',
    'a response without redirect_uris',
    at('/oauth/register', reply => json(reply, document => void delete document.redirect_uris)),
    /must contain the redirect_uris of the request/,
  ],
  [
    'authorization',
    'a client the provider does not know',
    at('/oauth/register', reply => json(reply, set('client_id', 'unknown'))),
    /identity provider/,
  ],
  [
    'token',
    'an unavailable provider',
    at('/oauth/token', becomes(502, '{"error":"server_error"}', { 'content-type': 'application/json' })),
    /cannot reach the token endpoint/,
  ],
  [
    'token',
    'a client that is not public',
    at('/oauth/token', becomes(401, '{"error":"invalid_client"}', { 'content-type': 'application/json' })),
    /AUTH_ADMIN_CLIENT_ID/,
  ],
  [
    'token',
    'a form that is changed on the way',
    at('/oauth/token', becomes(400, '{"error":"invalid_request"}', { 'content-type': 'application/json' })),
    /unchanged/,
  ],
  [
    'initialize',
    'an unknown version',
    withToken(
      onMethod('initialize', reply =>
        json(reply, document =>
          set('protocolVersion', '1999-01-01')(document.result as Record<string, unknown>),
        ),
      ),
    ),
    /respond with one of these versions/,
  ],
  [
    'initialize',
    'an instance that does not know the session',
    onMethod('notifications/initialized', becomes(404)),
    /REDIS_URL/,
  ],
  [
    'stream',
    'the limiter',
    (reply, passing) =>
      passing.method === 'GET' &&
      passing.path.startsWith('/mcp') &&
      becomes(429, '{}', { 'retry-after': '60' })(reply, passing),
    /SSE_TRUSTED_PROXIES/,
  ],
  [
    'stream',
    'JSON instead of events',
    (reply, passing) =>
      passing.method === 'GET' &&
      passing.path.startsWith('/mcp') &&
      becomes(200, '{}', { 'content-type': 'application/json' })(reply, passing),
    /every second/,
  ],
  ['list', 'a quota that is used up', withToken(onMethod('tools/list', becomes(429))), /plan/],
  [
    'list',
    'a schema that is not an object',
    tools(list => set('inputSchema', { type: 'array' })(list[0]!)),
    /whole list/,
  ],
  ['list', 'a tool without description', tools(list => set('description', ' ')(list[3]!)), /summary/],
  ['names', 'a name with a dot', tools(list => set('name', 'shop.list')(list[0]!)), /operationId/],
]

/** A step of the login is examined without a token: with one, it is a warning. */
const LOGIN = ['challenge', 'resource', 'server', 'registration', 'authorization', 'token']

describe('a gateway whose front is broken', () => {
  it.each(BROKEN)('fails at %s: %s', async (step, _, corrupt, fix) => {
    front.corrupt = corrupt
    const withToken = LOGIN.includes(step) ? [] : ['--token', token]
    const { code, clients } = await examined('--client', 'vscode', ...withToken)
    expect(clients[0]!.failed, JSON.stringify(clients[0]!.steps.at(-1))).toBe(step)
    expect(clients[0]!.steps.at(-1)!.fix).toMatch(fix)
    expect(code).toBe(1)
  })

  it('is usable with a token although the login fails, and both are reported', async () => {
    front.corrupt = at('/.well-known', becomes(404))
    const { code, clients } = await examined('--client', 'vscode', '--token', token)
    expect(clients[0]).toMatchObject({
      ok: true,
      header: { ok: true },
      login: { ok: false, failed: 'resource' },
    })
    const status = Object.fromEntries(clients[0]!.steps.map(({ step, status }) => [step, status]))
    expect(status).toMatchObject({ resource: 'warning', server: 'skipped', token: 'skipped', limits: 'ok' })
    expect(code).toBe(0)
    const { out } = await run('--url', front.url, '--client', 'vscode', '--token', token)
    expect(out).toMatch(/warn {2}resource .*\n.*fix: /)
    expect(out).toContain('VS Code with a login fails at: resource.')
    expect(out).not.toContain('delete the client at the identity provider')
  })

  it('lets the page of the Inspector call or names what a page lacks', async () => {
    const cors = async () =>
      (await examined('--client', 'inspector')).clients[0]!.steps.find(({ step }) => step === 'cors')!
    expect(await cors()).toMatchObject({ status: 'ok', warnings: [expect.stringContaining('CORS_ORIGINS')] })
    front.corrupt = (reply, { method }) => {
      const page = 'http://localhost:6274'
      if (method === 'OPTIONS') reply.headers['access-control-allow-origin'] = `${page}, ${page}`
    }
    expect(await cors()).toMatchObject({
      status: 'failed',
      fix: expect.stringContaining('exactly one origin'),
    })
    front.corrupt = (reply, { method }) => {
      if (method !== 'OPTIONS') return
      reply.headers['access-control-allow-origin'] = 'http://localhost:6274'
      reply.headers['access-control-allow-headers'] = 'Content-Type, Mcp-Session-Id, Last-Event-ID'
    }
    expect(await cors()).toMatchObject({
      status: 'failed',
      found: expect.stringContaining('authorization, mcp-protocol-version'),
    })
  })

  it('warns of more tools and larger definitions than a client uses', async () => {
    front.corrupt = tools(list => {
      for (let at = list.length; at < 101; at++)
        list.push({ ...list[0], name: `tool_${at}`, description: 'x'.repeat(900) })
    })
    const { code, clients } = await examined('--token', token)
    const warned = clients.filter(({ steps }) => steps.at(-1)!.warnings.length > 0)
    expect(warned.map(({ client, steps }) => [client, steps.at(-1)!.step])).toEqual([
      ['claude', 'limits'],
      ['cursor', 'limits'],
      ['windsurf', 'limits'],
    ])
    expect(code).toBe(0)
  })

  it('says where users connect accounts, and warns of a page that cannot be opened', async () => {
    const found = async () =>
      (await examined('--client', 'claude', '--token', token)).clients[0]!.steps.find(
        ({ step }) => step === 'pages',
      )!
    expect(await found()).toMatchObject({
      status: 'ok',
      warnings: [expect.stringContaining('Set PAGES_URL')],
    })
    const leadsTo = (location: string) => at('/connections', becomes(303, '', { location }))
    front.corrupt = leadsTo('http://pages.localhost/connections/')
    expect(await found()).toMatchObject({ found: expect.stringContaining('pages.localhost'), warnings: [] })
    front.corrupt = leadsTo('http://pages.invalid/connections/')
    expect(await found()).toMatchObject({
      status: 'ok',
      warnings: [expect.stringMatching(/cannot be reached.*in the header Host/)],
    })
    front.corrupt = at('/connections', becomes(404))
    expect(await found()).toMatchObject({ status: 'skipped' })
  })

  it('counts names as each client does', async () => {
    const fails = (length: number): string[] =>
      CLIENT_NAMES.filter(name => {
        const { nameAsCounted, maxNameLength } = CLIENTS[name]
        return nameAsCounted('toolgate', 'n'.repeat(length)).length > maxNameLength
      })
    expect(fails(49)).toEqual([])
    expect(fails(50)).toEqual(['claude', 'codex'])
    expect(fails(51)).toEqual(['claude', 'codex'])
    expect(fails(52)).toEqual(['claude', 'cursor', 'vscode', 'gemini', 'codex', 'librechat'])
    expect(fails(65)).toEqual(CLIENT_NAMES.filter(name => name !== 'inspector'))
    for (const length of [50, 65]) {
      front.corrupt = tools(list => set('name', 'n'.repeat(length))(list[0]!))
      const { clients } = await examined('--token', token)
      expect(clients.filter(client => client.failed === 'names').map(client => client.client)).toEqual(
        fails(length),
      )
    }
  })

  it('says what is wrong with a token', async () => {
    const stolen = await examined('--client', 'claude', '--token', 'abc')
    expect(stolen.clients[0]).toMatchObject({ failed: 'stream' })
    expect(stolen.clients[0]!.steps.at(-1)!.fix).toContain('not a JWT')
    const [head, body, signature] = token.split('.')
    const claims = JSON.parse(Buffer.from(body!, 'base64url').toString()) as object
    const late = Buffer.from(JSON.stringify({ ...claims, exp: 1_700_000_000 })).toString('base64url')
    const expired = await examined('--client', 'claude', '--token', `${head}.${late}.${signature}`)
    expect(expired.clients[0]!.steps.at(-1)!.fix).toContain('expired')
  })

  it('is unavailable', async () => {
    const { code, out } = await run('--url', `http://127.0.0.1:${await freePort()}`, '--client', 'cursor')
    expect(code).toBe(1)
    expect(out).toContain('Cursor fails at: reach')
  })
})
