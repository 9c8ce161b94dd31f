/** Sessions and their streams belong to the caller that opened them: other tenants and users who know their ids are refused, for each session store. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy, read, rpc } from '../fixtures/deployment.ts'
import { EventReader } from '../fixtures/event-stream.ts'
import { hasRedis, RedisServer } from '../fixtures/redis-server.ts'
import { signedToken } from '../fixtures/tokens.ts'

const VERSION = '2025-11-25'
const BOTH = 'application/json, text/event-stream'

/** Name, settings, whether it needs Redis. */
const STORES = [
  ['in memory', { WORKERS: '1' }, false],
  ['shared by two threads', { WORKERS: '2' }, false],
  ['in Redis (needs redis-server: scripts/services.sh redis)', { WORKERS: '1' }, true],
] as const

for (const [name, env, needsRedis] of STORES) {
  describe.skipIf(needsRedis && !hasRedis())(`sessions ${name}`, () => {
    const dir = mkdtempSync(join(tmpdir(), 'ownership-'))
    let redis: RedisServer | undefined
    let gateway: Deployment
    let victim: string
    /** For another tenant; of the same tenant, another user. */
    let attackers: readonly [string, string][]

    beforeAll(async () => {
      redis = needsRedis ? await RedisServer.start() : undefined
      gateway = await deploy({
        ...env,
        DATA_DIR: dir,
        SSE_LIMITER_ENABLED: 'false',
        ...(redis === undefined ? {} : { REDIS_URL: redis.url }),
      })
      const sign = (id: string, tenant: string): Promise<string> =>
        signedToken(dir, gateway.running.addresses.auth_url, { id, tenant })
      victim = await gateway.token('demo-admin')
      attackers = [
        ['another tenant', await sign('mallory', 'other')],
        ['another user of the tenant', await sign('mallory', 'acme')],
      ]
    }, 120_000)
    afterAll(async () => {
      await gateway?.stop()
      await redis?.stop()
      rmSync(dir, { recursive: true, force: true })
    })

    const headersOf = (token: string, session?: string): Record<string, string> => ({
      authorization: `Bearer ${token}`,
      'mcp-protocol-version': VERSION,
      ...(session === undefined ? {} : { 'mcp-session-id': session }),
    })
    const post = (path: string, body: object, headers: Record<string, string>): Promise<Response> =>
      fetch(`${gateway.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: BOTH, ...headers },
        body: JSON.stringify(body),
      })
    const get = (path: string, headers: Record<string, string>): Promise<Response> =>
      fetch(`${gateway.url}${path}`, { headers: { accept: 'text/event-stream', ...headers } })

    async function initialize(token?: string): Promise<string> {
      const params = {
        protocolVersion: VERSION,
        capabilities: {},
        clientInfo: { name: 'test', version: '1' },
      }
      const authorization: Record<string, string> =
        token === undefined ? {} : { authorization: `Bearer ${token}` }
      const response = await post('/mcp', rpc('initialize', params), authorization)
      await response.body?.cancel()
      return response.headers.get('mcp-session-id')!
    }

    const report = (id: string, stepMs: number): object => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'shop_runSalesReport', arguments: { stepMs }, _meta: { progressToken: id } },
    })

    /** Begins a call with progress and cuts its stream after two messages. @returns the id of the first one */
    async function cutCall(session: string): Promise<string> {
      const events = new EventReader(
        await post('/mcp', report('secret-report', 100), headersOf(victim, session)),
      )
      const first = (await events.message(20_000))!
      await events.message(20_000)
      await events.close()
      return first.id!
    }

    /** Status, three headers and the body of a refusal, without the id of the request. */
    async function refusalOf(response: Response): Promise<object> {
      const { status, headers, text } = await read(response)
      const seen = ['content-type', 'mcp-session-id', 'www-authenticate'].map(header => headers.get(header))
      return { status, seen, text: text.replace(/"request_id":"[^"]*"/, '"request_id":""') }
    }

    async function resumeAs(token: string, session: string, eventId: string): Promise<object> {
      return refusalOf(await get('/mcp', { ...headersOf(token, session), 'last-event-id': eventId }))
    }

    it('gives the events of a stream to its owner through its session, and to no one else', async () => {
      const session = await initialize(victim)
      const eventId = await cutCall(session)
      const [streamId] = eventId.split(/_\d+$/)
      for (const [who, token] of [...attackers, ['another session of the owner', victim] as const]) {
        const own = await initialize(token)
        const unknown = await resumeAs(token, own, 'AAAAAAAAAAAA_0')
        expect(unknown, who).toMatchObject({ status: 404 })
        for (const n of [0, 1, 2]) {
          expect(await resumeAs(token, own, `${streamId}_${n}`), who).toEqual(unknown)
          if (token !== victim)
            expect(await resumeAs(token, session, `${streamId}_${n}`), who).toEqual(unknown)
        }
      }
      const resumed = new EventReader(
        await get('/mcp', { ...headersOf(victim, session), 'last-event-id': eventId }),
      )
      expect(resumed.response.status).toBe(200)
      let message: { id?: string }
      do message = await resumed.json(20_000)
      while (message.id === undefined)
      expect(message).toMatchObject({ id: 'secret-report', result: { isError: false } })
      expect(await resumed.message(20_000)).toBeUndefined()
    }, 60_000)

    it('keeps a session that was opened without a token for the first caller that uses it', async () => {
      const session = await initialize()
      const eventId = await cutCall(session)
      for (const [who, token] of attackers)
        expect(await resumeAs(token, session, eventId), who).toMatchObject({ status: 404 })
    }, 60_000)

    it('lets no one else open a stream of a session, end it, or cancel and respond in it', async () => {
      const session = await initialize(victim)
      const running = new EventReader(await post('/mcp', report('kept', 100), headersOf(victim, session)))
      await running.message(20_000)
      const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'kept' } }
      const responded = { jsonrpc: '2.0', id: 'ask-1', result: { action: 'accept', content: {} } }
      for (const [who, token] of attackers) {
        const headers = headersOf(token, session)
        expect(await refusalOf(await get('/mcp', headers)), who).toMatchObject({ status: 404 })
        const query = `/mcp?sessionId=${session}`
        expect(await refusalOf(await get(query, headersOf(token))), who).toMatchObject({ status: 404 })
        const unknown = await refusalOf(await post('/mcp', rpc('tools/list'), headersOf(token, 'unknown')))
        for (const body of [rpc('tools/list'), [rpc('tools/list')]])
          expect(
            await refusalOf(await post('/mcp', body, { ...headers, 'mcp-protocol-version': '2025-03-26' })),
            who,
          ).toEqual(unknown)
        for (const body of [cancelled, responded])
          expect(await refusalOf(await post('/mcp', body, headers)), who).toMatchObject({ status: 404 })
        const ended = await fetch(`${gateway.url}/mcp`, { method: 'DELETE', headers })
        expect(ended.status, who).toBe(404)
      }
      let message: { id?: string }
      do message = await running.json(20_000)
      while (message.id === undefined)
      expect(message).toMatchObject({ id: 'kept', result: { isError: false } })
    }, 60_000)

    it('lets no one else write to the HTTP+SSE stream of a session, or change the session', async () => {
      const stream = new EventReader(await get('/mcp/sse', { authorization: `Bearer ${victim}` }))
      const address = (await stream.message(20_000))!.data
      const owner = { authorization: `Bearer ${victim}` }
      const later = { protocolVersion: '2025-11-25', capabilities: { elicitation: {} } }
      const foreign = [
        rpc('ping'),
        rpc('initialize', later),
        rpc('tools/list'),
        rpc('tools/call', { name: 'shop_listProducts', arguments: {} }),
        rpc('tools/call', { name: 7 }),
        rpc('no/such'),
        [rpc('ping')],
      ]
      for (const [who, token] of attackers) {
        for (const body of foreign) {
          const refused = await post(address, body, { authorization: `Bearer ${token}` })
          expect([JSON.stringify(body), (await read(refused)).status], who).toEqual([
            JSON.stringify(body),
            404,
          ])
        }
        expect((await get(address, { authorization: `Bearer ${token}` })).status, who).toBe(404)
      }
      for (const body of [rpc('ping'), rpc('tools/list')])
        expect((await read(await post(address, body, {}))).status).toBe(401)
      expect(
        (await read(await post(address, { jsonrpc: '2.0', id: 'last', method: 'ping' }, owner))).status,
      ).toBe(202)
      // the first message on the stream is the response to the owner's own request
      expect(await stream.json(20_000)).toEqual({ jsonrpc: '2.0', id: 'last', result: {} })
      await stream.close()
    }, 60_000)
  })
}
