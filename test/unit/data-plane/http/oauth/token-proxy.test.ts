/** The token relay: bytes and Basic header unchanged, statuses as specified; against the embedded provider and one that misbehaves. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeJwt } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { Cancellation } from '../../../../../src/base/cancellation.ts'
import { type DevProvider, startDevProvider } from '../../../../../src/identity/dev-provider/dev-provider.ts'
import { SILENT } from '../../../../../src/telemetry/log.ts'
import { startOwnTime } from '../../../../fixtures/own-time.ts'
import { FORM, frontOf, GATEWAY, providerThat, read } from './front.ts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})
function front(issuer: string) {
  const made = frontOf(issuer)
  closers.push(made.close)
  return made.front
}
const form = (text: string, authorization = '', contentType = FORM) => ({
  contentType,
  authorization,
  body: Buffer.from(text, 'latin1'),
})
const AGENT = 'grant_type=client_credentials&client_id=demo-agent&client_secret=demo-agent-secret'

describe('in front of the embedded provider', () => {
  let dataDir: string
  let provider: DevProvider
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'toolgate-oauth-'))
    provider = await startDevProvider({ host: '127.0.0.1', port: 0, dataDir, log: SILENT })
  })
  afterAll(async () => {
    await provider.close()
    await rm(dataDir, { recursive: true })
  })

  it('returns a token that must not be cached', async () => {
    const { status, headers, body } = read(await front(provider.issuer).token(form(AGENT)))
    expect(status).toBe(200)
    expect(headers).toEqual({
      'content-type': 'application/json',
      'cache-control': 'no-store',
      pragma: 'no-cache',
    })
    expect(decodeJwt(body.access_token)).toMatchObject({ azp: 'demo-agent' })
  })

  it('passes the Basic header on', async () => {
    const basic = `Basic ${Buffer.from('demo-agent:demo-agent-secret').toString('base64')}`
    expect(
      read(
        await front(provider.issuer).token(form('grant_type=client_credentials&scope=platform:read', basic)),
      ).body,
    ).toMatchObject({ scope: 'platform:read' })
  })

  it('passes 401 for a wrong secret, with the scheme when the header was used, and 400 for a bad grant', async () => {
    const made = front(provider.issuer)
    const wrong = read(
      await made.token(form('grant_type=client_credentials&client_id=demo-agent&client_secret=no')),
    )
    expect(wrong).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
    expect(wrong.headers).not.toHaveProperty('www-authenticate')
    const basic = read(
      await made.token(
        form('grant_type=client_credentials', `Basic ${Buffer.from('demo-agent:no').toString('base64')}`),
      ),
    )
    expect(basic.status).toBe(401)
    expect(basic.headers['www-authenticate']).toBe('Basic realm="toolgate"')
    expect(
      read(await made.token(form(`${AGENT.replace('client_credentials', 'refresh_token')}&refresh_token=x`))),
    ).toMatchObject({
      status: 400,
    })
  })
})

describe('what is passed on', () => {
  it('is the very bytes of the form, its content type and the Basic header, and nothing else of the client', async () => {
    const provider = await providerThat((_, response) => response.end('{"access_token":"t"}'))
    closers.push(provider.close)
    const odd = `grant_type=authorization_code&code=%41b+c%2b&resource=${GATEWAY}&resource=${GATEWAY}/mcp&redirect_uri=http%3a%2f%2fx&\u00e9=%E9&empty=`
    const contentType = 'application/x-www-form-urlencoded; charset=UTF-8'
    const reply = await front(provider.issuer).token(form(odd, 'Basic YTpi', contentType))
    expect(reply.status).toBe(200)
    const seen = provider.received.find(one => one.method === 'POST')!
    expect(seen.url).toBe('/realms/x/protocol/openid-connect/token')
    expect(seen.body).toBe(odd)
    expect(seen.headers).toMatchObject({ 'content-type': contentType, authorization: 'Basic YTpi' })
    expect(Object.keys(seen.headers).sort()).toEqual([
      'accept',
      'accept-encoding',
      'authorization',
      'connection',
      'content-length',
      'content-type',
      'host',
    ])
  })

  it.each<[string, ReturnType<typeof form>, string]>([
    ['a JSON body', form('{}', '', 'application/json'), 'invalid_request'],
    ['no content type', form(AGENT, '', ''), 'invalid_request'],
    [
      'a content type that only begins alike',
      form(AGENT, '', 'application/x-www-form-urlencodedx'),
      'invalid_request',
    ],
    ['no grant type', form('client_id=a'), 'invalid_request'],
    ['an empty form', form(''), 'invalid_request'],
    ['a repeated parameter', form(`${AGENT}&client_id=other`), 'invalid_request'],
    ['a repeated grant type', form(`grant_type=password&${AGENT}`), 'invalid_request'],
    ['the password grant', form('grant_type=password&username=a&password=b'), 'unsupported_grant_type'],
    ['a bearer token in the header', form(AGENT, 'Bearer abc'), 'invalid_request'],
    ['a header that would be split', form(AGENT, 'Basic YTpi\r\nX: y'), 'invalid_request'],
    ['a form over the bound', form(`${AGENT}&x=${'y'.repeat(33_000)}`), 'invalid_request'],
  ])('is never %s: 400 without asking the provider', async (_, request, error) => {
    const provider = await providerThat((__, response) => response.end('{"access_token":"t"}'))
    closers.push(provider.close)
    expect(read(await front(provider.issuer).token(request))).toMatchObject({
      status: 400,
      body: { error },
      headers: { 'cache-control': 'no-store' },
    })
    expect(provider.received.filter(one => one.method === 'POST')).toEqual([])
  })
})

describe('what comes back', () => {
  it.each<[string, number, string, number]>([
    ['an OAuth error', 400, '{"error":"invalid_grant","error_description":"gone","x":1}', 400],
    ['an OAuth error with 403', 403, '{"error":"unauthorized_client"}', 400],
    ['a wrong client', 401, '{"error":"invalid_client"}', 401],
    ['a slow-down', 429, '{"error":"slow_down"}', 429],
    ['a page with 404', 404, '<html>', 502],
    ['a page with 200', 200, '<html>', 502],
    ['success without a token', 200, '{"ok":true}', 502],
    ['a list', 200, '["access_token"]', 502],
    ['a redirect', 302, '', 502],
    ['a failure', 500, '{"error":"server_error"}', 502],
    ['a failure behind a proxy', 503, 'upstream', 502],
    ['too much', 200, JSON.stringify({ access_token: 'x'.repeat(300_000) }), 502],
  ])('from %s is as specified', async (_, given, text, expected) => {
    const provider = await providerThat((request, response) => {
      if (request.method === 'GET') return void response.writeHead(500).end()
      response
        .writeHead(given, {
          'set-cookie': 'a=b',
          location: 'http://evil.example/',
          'retry-after': '7',
          'www-authenticate': 'Negotiate',
        })
        .end(text)
    })
    closers.push(provider.close)
    const reply = await front(provider.issuer).token(form(AGENT))
    const { status, headers, body } = read(reply)
    expect(status).toBe(expected)
    expect(headers['cache-control']).toBe('no-store')
    for (const stray of ['set-cookie', 'location', 'www-authenticate'])
      expect(headers).not.toHaveProperty(stray)
    if (expected === 502) expect(body.error).toBe('server_error')
    else expect(Buffer.from(reply.body).toString()).toBe(text)
    if (expected === 429) expect(headers['retry-after']).toBe('7')
  })

  it('is 502 when the provider is unavailable, and when it closes the connection', async () => {
    expect(read(await front('http://127.0.0.1:9/realms/x').token(form(AGENT)))).toMatchObject({
      status: 502,
      body: { error: 'server_error' },
    })
    const provider = await providerThat((_, response) => void response.destroy())
    closers.push(provider.close)
    expect((await front(provider.issuer).token(form(AGENT))).status).toBe(502)
  })

  it('is not waited for when the client has gone', async () => {
    const cancellation = new Cancellation()
    let sinceCancelledMs = () => Number.NaN
    const provider = await providerThat((request, response) => {
      if (request.method === 'GET') return void response.writeHead(404).end()
      sinceCancelledMs = startOwnTime()
      cancellation.cancel()
    })
    closers.push(provider.close)
    expect((await front(provider.issuer).token({ ...form(AGENT), cancellation })).status).toBe(502)
    // without the cancellation, 10 s
    expect(sinceCancelledMs()).toBeLessThan(5_000)
  })
})

it('the first forms wait for the discovery of the provider, and reach its endpoint', async () => {
  let publish = (): void => undefined
  const provider = await providerThat(({ method, issuer }, response) => {
    if (method === 'POST') return void response.end('{"access_token":"t"}')
    publish = () =>
      void response.end(
        JSON.stringify({ issuer, token_endpoint: issuer.replace('/realms/x', '/oauth2/v1/token') }),
      )
  })
  closers.push(provider.close)
  const made = front(provider.issuer)
  const replies = Promise.all([made.token(form(AGENT)), made.token(form(AGENT))])
  await expect.poll(() => provider.received.length, { timeout: 15_000, interval: 5 }).toBeGreaterThan(0)
  publish()
  expect((await replies).map(reply => reply.status)).toEqual([200, 200])
  expect(provider.received.map(({ method, url }) => `${method} ${url}`)).toEqual([
    'GET /realms/x/.well-known/openid-configuration',
    'POST /oauth2/v1/token',
    'POST /oauth2/v1/token',
  ])
})

describe('a revocation', () => {
  /** @param announced members of the discovery document. @param status of the revocation endpoint */
  async function revoke(text: string, announced: object | undefined, status: number, reply = '') {
    const provider = await providerThat((request, response) => {
      if (request.method === 'POST') return void response.writeHead(status).end(reply)
      if (announced === undefined) return void response.writeHead(500).end()
      response.end(JSON.stringify({ issuer: request.issuer, ...announced }))
    })
    closers.push(provider.close)
    const relayed = read(await front(provider.issuer).revoke(form(text)))
    return { ...relayed, sent: provider.received.filter(({ method }) => method === 'POST') }
  }

  it('goes to the provider unchanged, whose confirmation has any body', async () => {
    const { status, body, headers, sent } = await revoke('token=t&client_id=a', undefined, 200, '<html>')
    expect([status, body, headers['cache-control']]).toEqual([200, {}, 'no-store'])
    expect(sent.map(({ url, body }) => [url, body])).toEqual([
      [expect.stringMatching(/\/protocol\/openid-connect\/revoke$/), 'token=t&client_id=a'],
    ])
  })

  it.each<[string, string, object | undefined, number, string, number, number]>([
    ['a form without a token', 'client_id=a', undefined, 200, '', 400, 0],
    ['two tokens', 'token=t&token=u', undefined, 200, '', 400, 0],
    ['a provider without the endpoint', 'token=t', {}, 200, '', 404, 0],
    ['an unknown client', 'token=t', undefined, 401, '{"error":"invalid_client"}', 401, 1],
    ['a failure', 'token=t', undefined, 503, '{"error":"server_error"}', 502, 1],
  ])('of %s has the specified status', async (_, text, announced, given, reply, expected, requests) => {
    const { status, sent } = await revoke(text, announced, given, reply)
    expect([status, sent.length]).toEqual([expected, requests])
  })
})
