/** Refused calls over JSON-RPC, in each protocol version: the session of a client goes on, the model reads the reason, and metrics count 429 or 403. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ERROR_META_KEY } from '../../src/data-plane/http/refusal-body.ts'
import { OPA_VERSION } from '../../src/policy/workshop/opa.ts'
import { type ReadResponse, rpc } from '../fixtures/deployment.ts'
import { EventReader } from '../fixtures/event-stream.ts'
import { connectClient } from '../fixtures/mcp-clients.ts'
import { opa } from '../fixtures/policy/author.ts'
import {
  ALLOWED,
  ALLOWED_PER_MINUTE,
  DENIAL,
  DENIED_TOOL,
  deployRefusing,
  type RefusingGateway,
} from '../fixtures/refusing-gateway.ts'

const missing = opa === undefined && process.env.REQUIRE_SERVICES !== '1'
const KEY = 'io.modelcontextprotocol'
const QUOTA_MESSAGE = `Per-minute limit of ${ALLOWED_PER_MINUTE} requests exceeded.`
const DENIED = { name: DENIED_TOOL, arguments: { orderId: 'O-1' } }

/** What a client of a version has at hand: sends a request, and sees its response and, where it is alone in its POST, the HTTP head. */
interface Session {
  // biome-ignore lint/suspicious/noExplicitAny: JSON of every shape
  send(method: string, params: object): Promise<{ message: any; http: ReadResponse | undefined }>
  end(): Promise<void>
}

describe.skipIf(missing)(`refusals, with opa ${OPA_VERSION} (npm run policy:test installs it)`, () => {
  let gateway: RefusingGateway
  beforeAll(async () => {
    if (opa === undefined) throw new Error(`opa ${OPA_VERSION} is neither on the PATH nor in .tools/bin`)
    gateway = await deployRefusing()
  }, 120_000)
  afterAll(() => gateway?.stop())

  const initialize = (protocolVersion: string): object =>
    rpc('initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } })

  async function overStream(token: string): Promise<Session> {
    const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' }
    const events = new EventReader(await fetch(`${gateway.url}/mcp/sse`, { headers }))
    const address = (await events.message())!.data
    const exchange = async (body: object) => {
      const accepted = await gateway.post(address, body, token)
      expect([accepted.status, accepted.text]).toEqual([202, 'Accepted'])
      return { message: await events.json(20_000), http: undefined }
    }
    await exchange(initialize('2024-11-05'))
    return { send: (method, params) => exchange(rpc(method, params)), end: () => events.close() }
  }

  async function overPosts(token: string, version: string, batch = false): Promise<Session> {
    const opened = await gateway.post('/mcp', initialize(version), token)
    const headers = {
      'mcp-session-id': opened.headers.get('mcp-session-id')!,
      'mcp-protocol-version': version,
    }
    return {
      async send(method, params) {
        const body = rpc(method, params)
        const http = await gateway.post('/mcp', batch ? [body, rpc('ping')] : body, token, headers)
        expect(http.status).toBe(200)
        return batch ? { message: http.json[0], http: undefined } : { message: http.json, http }
      },
      end: async () => {},
    }
  }

  async function modern(token: string): Promise<Session> {
    const version = '2026-07-28'
    const _meta = { [`${KEY}/protocolVersion`]: version, [`${KEY}/clientCapabilities`]: {} }
    return {
      async send(method, params) {
        const { name } = params as { name?: string }
        const http = await gateway.post('/mcp', rpc(method, { ...params, _meta }), token, {
          'mcp-protocol-version': version,
          'mcp-method': method,
          ...(name === undefined ? {} : { 'mcp-name': name }),
        })
        expect(http.status).toBe(200)
        return { message: http.json, http }
      },
      end: async () => {},
    }
  }

  const ERAS: readonly (readonly [string, (token: string) => Promise<Session>])[] = [
    ['2024-11-05 on its stream', overStream],
    ['2025-03-26', token => overPosts(token, '2025-03-26')],
    ['2025-03-26 in a batch', token => overPosts(token, '2025-03-26', true)],
    ['2025-06-18', token => overPosts(token, '2025-06-18')],
    ['2025-11-25', token => overPosts(token, '2025-11-25')],
    ['2026-07-28', modern],
  ]

  describe.each(ERAS)('%s', (era, connect) => {
    const shape = (text: string, body: object): object => {
      const _meta = { [ERROR_META_KEY]: body }
      return era === '2026-07-28'
        ? {
            resultType: 'complete',
            content: [{ type: 'text', text }],
            isError: true,
            _meta: { ..._meta, [`${KEY}/serverInfo`]: expect.any(Object) },
          }
        : { content: [{ type: 'text', text }], isError: true, _meta }
    }

    it('a call over the quota is an error result, and the session lives on', async () => {
      const session = await connect(await gateway.freshToken())
      for (let n = 0; n < ALLOWED_PER_MINUTE; n++)
        expect((await session.send('tools/call', ALLOWED)).message.result.isError).toBe(false)
      const { message, http } = await session.send('tools/call', ALLOWED)
      const waitSecs = expect.any(Number)
      const body = { error: 'quota_exceeded', message: QUOTA_MESSAGE, retry_after_secs: waitSecs }
      expect(message.result).toEqual(shape(QUOTA_MESSAGE, body))
      if (http !== undefined) {
        const wait = message.result._meta[ERROR_META_KEY].retry_after_secs
        expect(http.headers.get('retry-after')).toBe(String(wait))
        expect(http.headers.get('x-ratelimit-limit')).toBe(String(ALLOWED_PER_MINUTE))
        expect(http.headers.get('x-ratelimit-remaining')).toBe('0')
        expect(http.text.match(/"_meta"/g)).toHaveLength(1)
      }
      // what is not limited, is served
      expect((await session.send('tools/list', {})).message.result.tools).not.toEqual([])
      await session.end()
    }, 60_000)

    it('a call that the policy denies is an error result with the reasons', async () => {
      const session = await connect(await gateway.freshToken())
      const { message, http } = await session.send('tools/call', DENIED)
      const body = {
        error: 'forbidden',
        message: DENIAL,
        request_id: expect.any(String),
        reasons: [{ code: 'orders_closed', message: DENIAL }],
        decision_id: expect.any(String),
        policy_revision: expect.any(String),
      }
      expect(message.result).toEqual(shape(DENIAL, body))
      expect(http?.headers.get('www-authenticate') ?? null).toBeNull()
      expect((await session.send('tools/list', {})).message.result.tools).not.toEqual([])
      await session.end()
    }, 60_000)
  })

  it.each(['streamable', 'sse'] as const)(
    'reach the user of the TypeScript client (%s), whose session lives on',
    async transport => {
      const token = await gateway.freshToken()
      const client = await connectClient(1, transport, `${gateway.url}/mcp/sse`, token)
      const denied = await client.call(DENIED_TOOL, DENIED.arguments)
      expect(denied).toMatchObject({
        isError: true,
        content: [{ text: DENIAL }],
        _meta: { [ERROR_META_KEY]: { error: 'forbidden' } },
      })
      let limited = denied
      for (let n = 0; n <= ALLOWED_PER_MINUTE; n++)
        limited = await client.call(ALLOWED.name, ALLOWED.arguments)
      expect(limited).toMatchObject({
        isError: true,
        content: [{ text: QUOTA_MESSAGE }],
        _meta: { [ERROR_META_KEY]: { error: 'quota_exceeded' } },
      })
      expect(await client.list()).toContain(ALLOWED.name)
      await client.end()
    },
    60_000,
  )

  it('of a credential, a scope and a session keep their HTTP status', async () => {
    const missingToken = await gateway.post('/mcp', rpc('tools/call', ALLOWED))
    expect([missingToken.status, missingToken.json.error.code]).toEqual([401, 401])
    expect(missingToken.headers.get('www-authenticate')).toMatch(/^Bearer /)
    const viewer = await gateway.token('demo-viewer')
    const scope = await gateway.post('/mcp', rpc('tools/call', ALLOWED), viewer)
    expect([scope.status, scope.json.error.code]).toEqual([403, 403])
    expect(scope.headers.get('www-authenticate')).toMatch(/error="insufficient_scope"/)
    const gone = await gateway.post('/mcp', rpc('tools/call', ALLOWED), viewer, { 'mcp-session-id': 'gone' })
    expect(gone.status).toBe(404)
  })

  it('of other methods are JSON-RPC errors with HTTP 200 and the REST body', async () => {
    const token = await gateway.freshToken()
    const refused = await gateway.post('/mcp', rpc('tools/list'), token, { 'x-tenant-id': 'other' })
    expect(refused.status).toBe(200)
    expect(refused.json.error).toMatchObject({ code: 403, data: { error: 'forbidden' } })
  })

  it('over REST keep their HTTP status', async () => {
    const token = await gateway.freshToken()
    expect((await gateway.post('/mcp/tools/call', DENIED, token)).status).toBe(403)
    const statuses: number[] = []
    for (let n = 0; n < 3; n++) statuses.push((await gateway.post('/mcp/tools/call', ALLOWED, token)).status)
    expect(statuses).toContain(429)
  })

  it('are counted as 429 and 403', async () => {
    const token = await gateway.freshToken()
    const consumer = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()).azp as string
    await gateway.post('/mcp', rpc('tools/call', DENIED), token)
    for (let n = 0; n < 3; n++) await gateway.post('/mcp', rpc('tools/call', ALLOWED), token)
    const counted = async (): Promise<string[]> => {
      const text = await (await fetch(`${gateway.running.addresses.metrics_url}/metrics`)).text()
      return text.split('\n').flatMap(line => {
        const found = line.startsWith('platform_requests_total{') && line.includes(`consumer="${consumer}"`)
        return found ? [/status="(\d+)"/.exec(line)![1]!] : []
      })
    }
    await expect
      .poll(async () => new Set(await counted()), { timeout: 15_000 })
      .toEqual(new Set(['200', '403', '429']))
  })

  it('never meet discovery, initialize and ping, however much of the quota is used', async () => {
    const token = await gateway.freshToken()
    for (let n = 0; n <= ALLOWED_PER_MINUTE; n++)
      await gateway.post('/mcp', rpc('tools/call', ALLOWED), token)
    const session = await modern(token)
    for (let n = 0; n < 2 * ALLOWED_PER_MINUTE; n++) {
      expect((await session.send('server/discover', {})).message.result).toHaveProperty('supportedVersions')
      expect((await gateway.post('/mcp', initialize('2025-06-18'), token)).json.result).toBeDefined()
      expect((await gateway.post('/mcp', rpc('ping'), token)).json.result).toEqual({})
    }
  })
})
