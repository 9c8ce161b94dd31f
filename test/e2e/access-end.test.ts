/** Event streams, slow calls and proxied streams end within two seconds of the credential, subscription, caller or decision that opened them. */
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { unpack } from '../../src/policy/archive.ts'
import { BUNDLE_LIMITS } from '../../src/policy/bundle.ts'
import { rpc } from '../fixtures/deployment.ts'
import { EventReader } from '../fixtures/event-stream.ts'
import { startOwnTime } from '../fixtures/own-time.ts'
import { altered, manifestWith, SHIPPED } from '../fixtures/policy/inputs.ts'
import { type TwoTenants, twoTenants } from '../fixtures/two-tenants.ts'

const WITHIN_MS = 2_000
/** A call is watched once it has taken this long; what was opened meanwhile is examined then. */
const LONG_MS = 1_600
const SOON = { timeout: 15_000, interval: 20 }
const BOTH = 'application/json, text/event-stream'
const HELLO = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } }

/** Kinds of what is open. */
const KINDS = ['stream', 'legacy stream', 'subscription', 'call', 'REST call', 'proxied'] as const
type Kind = (typeof KINDS)[number]

interface Open {
  readonly kind: Kind
  /** Resolves with what a client reads last, when the response has ended. */
  readonly ended: Promise<unknown>
}

describe.each(['1', '2'])('with WORKERS=%s', workers => {
  /** Threads are of no account for these. */
  const inOneThread = (name: string, test: () => Promise<void>) => {
    if (workers === '1') it(name, test, 90_000)
  }
  const dir = mkdtempSync(join(tmpdir(), 'access-end-'))
  const bundle = join(dir, 'bundle.tar.gz')
  let revision = 0
  let world: TwoTenants
  let upstream: Server
  /** Responses that the upstream has begun and not ended. */
  const running = new Set<ServerResponse>()
  let count = 0

  /** @returns the revision */
  function putPolicy(isShut: boolean): string {
    const name = `r-${revision++}`
    const data = JSON.parse(
      Buffer.from(unpack(readFileSync(SHIPPED), BUNDLE_LIMITS).get('data.json')!).toString(),
    )
    const { operations } = data.toolgate
    for (const action of Object.keys(operations))
      if (isShut && /^(tools|proxy|resources|prompts)/.test(action)) operations[action] = { all: ['nobody'] }
    const manifest = manifestWith(content => {
      content.revision = name
    })
    writeFileSync(`${bundle}.next`, altered({ '.manifest': manifest, 'data.json': JSON.stringify(data) }))
    renameSync(`${bundle}.next`, bundle)
    return name
  }
  async function served(): Promise<string> {
    const headers = { authorization: `Bearer ${world.root}` }
    const { revision } = (await (await fetch(`${world.gateway.url}/admin/policy`, { headers })).json()) as {
      revision: string
    }
    return revision
  }

  beforeAll(async () => {
    putPolicy(false)
    upstream = createServer((request, response) => {
      running.add(response)
      response.once('close', () => running.delete(response))
      if (!request.url!.startsWith('/drip')) return
      response.writeHead(200, { 'content-type': 'text/plain' })
      const timer = setInterval(() => response.write('drip\n'), 100)
      response.once('close', () => clearInterval(timer))
    })
    await new Promise<void>(resolve => upstream.listen(0, '127.0.0.1', resolve))
    world = await twoTenants({
      WORKERS: workers,
      POLICY_BUNDLE: bundle,
      POLICY_POLL: '10ms',
      POLICY_MAX_FLIPS: '0',
      SSE_LIMITER_ENABLED: 'false',
    })
  }, 120_000)
  afterAll(async () => {
    await world?.stop()
    upstream?.closeAllConnections()
    upstream?.close()
    rmSync(dir, { recursive: true, force: true })
  })

  async function made(path: string, body: object) {
    const { status, text, json } = await world.api('POST', `/tenants/${world.beta}${path}`, world.root, body)
    if (status >= 300) throw new Error(`POST ${path}: ${status} ${text}`)
    return json
  }

  /** An API with a slow tool, and the key of a new application. */
  async function subscribed() {
    const name = `slow${count++}`
    const get = { operationId: 'wait', summary: 'Waits', responses: { 200: { description: 'ok' } } }
    const spec = { openapi: '3.1.0', info: { title: 'S', version: '1' }, paths: { '/wait': { get } } }
    const upstream_url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
    const api = await made('/apis', { name, path: `/${name}`, upstream_url, spec, portal_visibility: true })
    const { id } = await made('/subscriptions', { api_id: api.id, plan: 'gold', application: name })
    const { api_key: key } = await made(`/subscriptions/${id}/approve`, {})
    const found = { name, subscriptionId: id as string, key: key as string, tool: `${name}_wait` }
    await expect.poll(() => listed({ 'x-api-key': key }), SOON).toEqual([found.tool])
    return found
  }
  async function listed(credential: Record<string, string>): Promise<string[]> {
    const response = await fetch(`${world.gateway.url}/mcp/v1/tools`, {
      method: 'POST',
      headers: { ...credential, 'content-type': 'application/json' },
      body: '{}',
    })
    const { tools } = (await response.json()) as { tools?: { name: string }[] }
    return (tools ?? []).map(tool => tool.name)
  }

  /** Opens one of each kind, and waits until all of them take long. */
  async function openAll(
    credential: Record<string, string>,
    { name, tool }: { readonly name: string; readonly tool: string },
    kinds: readonly Kind[] = KINDS,
  ): Promise<Open[]> {
    const { url } = world.gateway
    const get = (path: string, headers: Record<string, string> = {}) =>
      fetch(`${url}${path}`, { headers: { ...credential, accept: 'text/event-stream', ...headers } })
    const post = (path: string, body: object, headers: Record<string, string> = {}) =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: { ...credential, accept: BOTH, 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })
    const call = { name: tool, arguments: {} }
    const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' }
    const meta = {
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    }
    const open: Record<Kind, () => Promise<Pick<Open, 'ended'>>> = {
      stream: async () => {
        const session = (await post('/mcp', rpc('initialize', HELLO))).headers.get('mcp-session-id')!
        const opened = await get('/mcp', { 'mcp-session-id': session })
        expect(opened.status).toBe(200)
        return { ended: lastOf(opened) }
      },
      'legacy stream': async () => ({ ended: lastOf(await get('/mcp/sse')) }),
      subscription: async () => {
        const listen = { ...meta, notifications: { toolsListChanged: true } }
        const opened = await post('/mcp', rpc('subscriptions/listen', listen), modern)
        expect(opened.headers.get('content-type')).toContain('text/event-stream')
        return { ended: lastOf(opened) }
      },
      // the head comes with the first event, which is a comment after 15 s
      call: async () => ({ ended: post('/mcp', rpc('tools/call', call)).then(lastOf) }),
      'REST call': async () => ({
        ended: post('/mcp/tools/call', call).then(async one => [one.status, await one.json()]),
      }),
      proxied: async () => {
        const opened = await get(`/t/beta/${name}/drip`)
        expect(opened.status).toBe(200)
        const ended = opened.text().then(
          () => 'whole',
          () => 'cut',
        )
        return { ended }
      },
    }
    const opened = await Promise.all(kinds.map(async kind => ({ kind, ...(await open[kind]()) })))
    await sleep(LONG_MS)
    return opened
  }
  async function lastOf(response: Response): Promise<unknown> {
    const events = new EventReader(response)
    let last = ''
    for (let one = await events.message(60_000); one !== undefined; one = await events.message(60_000))
      last = one.data
    return last.startsWith('{') ? JSON.parse(last) : last
  }

  /** @param change resolves when it has been accepted @returns what a client reads last, by kind */
  async function endsAfter(
    opened: readonly Open[],
    change: () => Promise<unknown>,
  ): Promise<Record<Kind, unknown>> {
    await change()
    const elapsedMs = startOwnTime()
    const last: Partial<Record<Kind, unknown>> = {}
    const took: Partial<Record<Kind, number>> = {}
    const all = opened.map(async ({ kind, ended }) => {
      last[kind] = await ended
      took[kind] = Math.round(elapsedMs())
    })
    await Promise.race([Promise.all(all), sleep(15_000)])
    console.info(JSON.stringify(took))
    expect(Object.keys(took).sort()).toEqual(opened.map(({ kind }) => kind).sort())
    for (const [kind, ms] of Object.entries(took)) expect(ms, kind).toBeLessThan(WITHIN_MS)
    await expect.poll(() => running.size, SOON).toBe(0)
    return last as Record<Kind, unknown>
  }

  /** Of the JSON-RPC response and the REST response to a call that ended. */
  function reasonsOf(last: Record<Kind, unknown>): unknown[] {
    const { result, error } = last.call as {
      result?: { _meta?: Record<string, object> }
      error?: { data: object }
    }
    const [status, body] = last['REST call'] as [number, { error: string; message: string }]
    const inRpc = error?.data ?? result?._meta?.['toolgate.dev/error']
    expect(inRpc).toMatchObject({ error: body.error, message: body.message })
    expect(last.proxied).toBe('cut')
    return [status, body.message]
  }

  it('a key that is revoked', async () => {
    const app = await subscribed()
    const keys = (await world.api('GET', `/tenants/${world.beta}/apikeys?limit=100`, world.root)).json.items
    const { id } = keys.find((one: { prefix: string }) => app.key.startsWith(one.prefix))
    const opened = await openAll({ 'x-api-key': app.key }, app)
    const last = await endsAfter(opened, () =>
      world.api('DELETE', `/tenants/${world.beta}/apikeys/${id}`, world.root),
    )
    expect(reasonsOf(last)).toEqual([401, 'The API key is not known, has expired or was revoked.'])
    const recorded = await fetch(`${world.gateway.url}/admin/calls?consumer=${app.name}&limit=50`, {
      headers: { authorization: `Bearer ${world.root}` },
    })
    const { calls } = (await recorded.json()) as { calls: Record<string, unknown>[] }
    const long = calls.filter(({ duration_ms: ms }) => Number(ms) > LONG_MS - 100)
    expect(long.map(({ outcome, status }) => [outcome, status])).toEqual(
      Array(3).fill(['api_key_invalid', 401]),
    )
    const again = await fetch(`${world.gateway.url}/mcp/sse`, {
      headers: { 'x-api-key': app.key, accept: 'text/event-stream' },
    })
    expect([again.status, again.headers.get('www-authenticate')]).toEqual([401, expect.any(String)])
  }, 90_000)

  inOneThread('a subscription that is revoked', async () => {
    const app = await subscribed()
    const opened = await openAll({ 'x-api-key': app.key }, app)
    const last = await endsAfter(opened, () =>
      world.api('DELETE', `/tenants/${world.beta}/subscriptions/${app.subscriptionId}`, world.root),
    )
    expect(reasonsOf(last)[0]).toBe(401)
  })

  inOneThread('a token that expires', async () => {
    const app = await subscribed()
    const token = await world.token({ id: app.name, tenant: 'beta' }, '12s')
    const { exp } = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())
    const opened = await openAll({ authorization: `Bearer ${token}` }, app)
    const last = await endsAfter(opened, () => sleep(exp * 1000 - Date.now()))
    expect(reasonsOf(last)).toEqual([401, 'The token has expired.'])
  })

  inOneThread('a consumer that is blocked', async () => {
    const app = await subscribed()
    const token = await world.token({ id: app.name, tenant: 'beta' })
    const path = `/tenants/${world.beta}/consumers`
    const opened = await openAll({ authorization: `Bearer ${token}` }, app)
    const find = async () => (await world.api('GET', `${path}?q=${app.name}`, world.root)).json.items[0]?.id
    await expect.poll(find, SOON).toBeDefined()
    const id = await find()
    const last = await endsAfter(opened, () =>
      world.api('PATCH', `${path}/${id}`, world.root, { status: 'blocked' }),
    )
    expect(reasonsOf(last)).toEqual([403, 'The calling application is blocked.'])
  })

  it('a caller that a new policy denies', async () => {
    const app = await subscribed()
    const token = await world.token({ id: app.name, tenant: 'beta' })
    const opened = await openAll({ authorization: `Bearer ${token}` }, app)
    const last = await endsAfter(opened, async () => {
      const revision = putPolicy(true)
      await expect.poll(served, SOON).toBe(revision)
    })
    putPolicy(false)
    expect(reasonsOf(last)[0]).toBe(403)
  }, 90_000)

  inOneThread('what a later change does not concern goes on', async () => {
    const app = await subscribed()
    const other = await subscribed()
    const opened = await openAll({ 'x-api-key': app.key }, app, ['stream', 'call', 'proxied'])
    await world.api('DELETE', `/tenants/${world.beta}/subscriptions/${other.subscriptionId}`, world.root)
    const ended = await Promise.race([...opened.map(one => one.ended), sleep(WITHIN_MS).then(() => 'open')])
    expect(ended).toBe('open')
    for (const response of running) response.end()
    await world.api('DELETE', `/tenants/${world.beta}/subscriptions/${app.subscriptionId}`, world.root)
    await Promise.all(opened.map(one => one.ended))
  })
})
