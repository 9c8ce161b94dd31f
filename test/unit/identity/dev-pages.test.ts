/** What the embedded identity provider sends to pages of other origins, foreign names and damaged requests; its tokens, clients and notices. */
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeJwt } from 'jose'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import {
  type DevProvider,
  type DevProviderOptions,
  startDevProvider,
} from '../../../src/identity/dev-provider/dev-provider.ts'
import { withoutBanners } from '../../../src/identity/dev-provider/library.ts'
import type { Log } from '../../../src/telemetry/log.ts'
import { SILENT } from '../../../src/telemetry/log.ts'
import { Browser } from './browser.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'toolgate-dev-'))
afterAll(() => rmSync(dataDir, { recursive: true }))

const started: DevProvider[] = []
afterEach(async () => {
  for (const provider of started.splice(0)) await provider.close()
})
async function start(more: Partial<DevProviderOptions> = {}): Promise<DevProvider> {
  const provider = await startDevProvider({ host: '127.0.0.1', port: 0, dataDir, log: SILENT, ...more })
  started.push(provider)
  return provider
}

interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}
/** With any `Host` and `Origin`, which `fetch` does not set. */
function send(
  provider: DevProvider,
  path: string,
  { method = 'GET', body = '', ...headers }: Record<string, string> & { method?: string; body?: string } = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { port } = provider
    const sent = request({ host: '127.0.0.1', port, path, method, headers, agent: false }, async response => {
      const chunks: Buffer[] = []
      for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk)
      const text = Buffer.concat(chunks).toString('utf8')
      resolve({ status: response.statusCode!, headers: response.headers, text })
    })
    sent.on('error', reject).end(body)
  })
}

const REALM = '/realms/platform'
const DISCOVERY = `${REALM}/.well-known/openid-configuration`
const TOKEN = `${REALM}/protocol/openid-connect/token`
const REGISTRATION = `${REALM}/clients-registrations/openid-connect`
const REDIRECT = 'http://127.0.0.1:39999/callback'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const JSON_BODY = { 'content-type': 'application/json' }

describe('a name that is not its own', () => {
  it('gets nothing, before anything is read', async () => {
    const provider = await start()
    const seen = await send(provider, DISCOVERY, { host: 'rebound.example' })
    expect(seen).toMatchObject({ status: 421, text: expect.stringContaining('Host header') })
    expect(seen.headers['x-content-type-options']).toBe('nosniff')
    expect(seen.text).not.toContain('issuer')
    expect((await send(provider, DISCOVERY, { host: `localhost:${provider.port}` })).status).toBe(200)
  })

  it('is one when the setting says so', async () => {
    const provider = await start({ isServed: host => host === 'id.example' })
    expect((await send(provider, DISCOVERY, { host: 'id.example' })).status).toBe(200)
    expect((await send(provider, DISCOVERY, { host: 'localhost' })).status).toBe(421)
  })
})

describe('a page of another origin', () => {
  const form = {
    ...FORM,
    method: 'POST',
    body: 'grant_type=client_credentials&client_id=demo-agent&client_secret=demo-agent-secret',
  }
  const page = { origin: 'https://page.example' }

  it('reads nothing, may not send, and may be redirected to it', async () => {
    const provider = await start()
    for (const method of ['GET', 'HEAD']) {
      const seen = await send(provider, DISCOVERY, { ...page, method })
      expect(seen.status).toBe(200)
      expect(Object.keys(seen.headers).filter(name => name.startsWith('access-control-'))).toEqual([])
    }
    const refused = await send(provider, TOKEN, { ...form, ...page })
    expect(refused).toMatchObject({ status: 403, text: expect.stringContaining('CORS_ORIGINS') })
    expect(refused.headers['content-type']).toBe('text/plain; charset=utf-8')
    expect(Object.keys(refused.headers).filter(name => name.startsWith('access-control-'))).toEqual([])
    expect((await send(provider, TOKEN, { ...page, method: 'OPTIONS' })).status).toBe(403)
  })

  it.each([
    ['it is allowed', ['https://page.example']],
    ['all are allowed', ['*']],
  ])('reads and sends when %s', async (_, origins) => {
    const provider = await start({ origins })
    const seen = await send(provider, DISCOVERY, page)
    expect(seen.headers['access-control-allow-origin']).toBeDefined()
    expect((await send(provider, TOKEN, { ...form, ...page })).status).toBe(200)
  })

  it('is not one of an allowed origin that only looks like it', async () => {
    const provider = await start({ origins: ['https://page.example'] })
    const refused = await send(provider, TOKEN, { ...form, origin: 'https://page.example.evil.example' })
    expect(refused.status).toBe(403)
  })

  it('is its own under the address of the request, and no page at all without an origin', async () => {
    const provider = await start()
    const host = `localhost:${provider.port}`
    expect((await send(provider, TOKEN, { ...form, host, origin: `http://${host}` })).status).toBe(200)
    expect((await send(provider, TOKEN, { ...form, host, origin: `https://${host}` })).status).toBe(403)
    expect((await send(provider, TOKEN, { ...form, host })).status).toBe(200)
  })
})

describe('an address', () => {
  it('of the issuer may end with slashes', async () => {
    expect((await start({ publicUrl: 'https://id.example//' })).issuer).toBe(`https://id.example${REALM}`)
  })

  it('of a sign-in that does not exist is refused in words, other methods with 405', async () => {
    const provider = await start()
    const lost = await send(provider, `${REALM}/interaction/unknown`)
    expect(lost).toMatchObject({ status: 400, text: expect.stringContaining('Start again from your client') })
    expect(lost.headers['content-type']).toBe('text/plain; charset=utf-8')
    const { browser, url } = await beginSignIn(provider)
    const cookie = browser.cookies
    const path = new URL(url).pathname
    const put = await send(provider, path, { method: 'PUT', cookie })
    expect([put.status, put.headers.allow]).toEqual([405, 'GET, POST'])
    const page = await send(provider, path, { cookie })
    expect(page.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    })
    const whole = 'account='.padEnd(4096, 'x')
    expect((await send(provider, path, { ...FORM, method: 'POST', body: `${whole}x`, cookie })).status).toBe(
      413,
    )
    expect((await send(provider, path, { ...FORM, method: 'POST', body: whole, cookie })).status).toBe(303)
  })
})

/** Registers a client and opens its page. */
async function beginSignIn(provider: DevProvider, scope = 'openid profile email platform:read') {
  const registered = await send(provider, REGISTRATION, {
    ...JSON_BODY,
    method: 'POST',
    body: JSON.stringify({ redirect_uris: [REDIRECT] }),
  })
  const client = (JSON.parse(registered.text) as { client_id: string }).client_id
  const verifier = randomBytes(32).toString('base64url')
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client,
    redirect_uri: REDIRECT,
    scope,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  const browser = new Browser()
  const { url, response } = await browser.follow(
    `${provider.issuer}/protocol/openid-connect/auth?${query}`,
    REDIRECT,
  )
  return { browser, client, verifier, url, html: await response!.text() }
}

async function tokensOf(provider: DevProvider, account: string) {
  const { browser, client, verifier, url, html } = await beginSignIn(provider)
  const landed = new URL((await browser.follow(url, REDIRECT, { account })).url)
  const response = await send(provider, TOKEN, {
    ...FORM,
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: client,
      code: landed.searchParams.get('code')!,
      redirect_uri: REDIRECT,
      code_verifier: verifier,
    }).toString(),
  })
  return { client, html, tokens: JSON.parse(response.text) as Record<string, string> }
}

describe('a person', () => {
  it('is named by its tokens, and asked in the name of the client', async () => {
    const provider = await start()
    const { client, html, tokens } = await tokensOf(provider, 'developer')
    // it gave no name
    expect(html).toContain(client)
    expect(decodeJwt(tokens.id_token!)).toMatchObject({ sub: 'developer', aud: client })
    const claims = decodeJwt(tokens.access_token!)
    expect(claims).toMatchObject({ preferred_username: 'developer', tenant_id: 'acme' })
    expect(claims.exp! - claims.iat!).toBe(3600)
  })

  it('may take a token back from the client that got it, and from no other', async () => {
    const provider = await start()
    const [own, other] = [await tokensOf(provider, 'developer'), await tokensOf(provider, 'viewer')]
    const form = { ...FORM, method: 'POST' }
    const refresh = () =>
      send(provider, TOKEN, {
        ...form,
        body: `grant_type=refresh_token&client_id=${own.client}&refresh_token=${own.tokens.refresh_token}`,
      })
    const revoke = (client: string) =>
      send(provider, `${REALM}/protocol/openid-connect/revoke`, {
        ...form,
        body: `client_id=${client}&token=${own.tokens.refresh_token}`,
      })
    await revoke(other.client)
    const kept = await refresh()
    expect(kept.status).toBe(200)
    own.tokens.refresh_token = (JSON.parse(kept.text) as { refresh_token: string }).refresh_token
    expect((await revoke(own.client)).status).toBe(200)
    expect((await refresh()).status).toBe(400)
  })

  it('gets tokens of the time of the clock it was given', async () => {
    const aheadMs = 1_000_000_000
    const provider = await start({ now: () => Date.now() + aheadMs })
    const { tokens } = await tokensOf(provider, 'developer')
    const { iat, exp } = decodeJwt(tokens.access_token!)
    for (const [at, expected] of [
      [iat!, Date.now() + aheadMs],
      [exp!, Date.now() + aheadMs + 3_600_000],
    ] as const)
      expect(Math.abs(at - expected / 1000)).toBeLessThan(30)
  })
})

describe('a client', () => {
  it.each([
    [{ token_endpoint_auth_method: 'client_secret_basic' }, 'token_endpoint_auth_method must be none'],
    [
      { grant_types: ['authorization_code', 'client_credentials'] },
      'grant_types must not include client_credentials',
    ],
    [{ scope: 'openid platform:admin' }, 'scope must not include platform:admin'],
    [{ scope: `openid ${'x'.repeat(80)}` }, `scope must not include ${'x'.repeat(64)}`],
  ])('is not registered with %j', async (more, reason) => {
    const seen = await send(await start(), REGISTRATION, {
      ...JSON_BODY,
      method: 'POST',
      body: JSON.stringify({ redirect_uris: [REDIRECT], ...more }),
    })
    expect([seen.status, JSON.parse(seen.text)]).toMatchObject([
      400,
      { error: 'invalid_client_metadata', error_description: expect.stringContaining(reason) },
    ])
    expect(JSON.parse(seen.text).error_description).not.toContain('x'.repeat(65))
  })

  it('is refused in plain text where there is no address to go back to', async () => {
    const seen = await send(await start(), `${REALM}/protocol/openid-connect/auth?client_id=unknown`)
    expect([seen.status, seen.headers['content-type']]).toEqual([400, 'text/plain; charset=utf-8'])
    expect(seen.text).toMatch(/^invalid_\w+: .+\n$/)
  })
})

it('notices of the library go to the log, lines of other code to the console, which is then as before', async () => {
  const lines: unknown[][] = []
  const notices: unknown[] = []
  const output = globalThis.console
  const before = [output.info, output.warn]
  const print = (...parts: unknown[]) => void lines.push(parts)
  Object.assign(output, { info: print, warn: print })
  try {
    const log = { debug: (fields: object) => notices.push(fields) } as unknown as Log
    const result = await withoutBanners(log, async () => {
      output.info('oidc-provider NOTICE: quick start')
      output.warn('oidc-provider WARNING: a setting')
      output.info('a line', 2)
      output.warn(7)
      return 'done'
    })
    expect(result).toBe('done')
    expect(lines).toEqual([['a line', 2], [7]])
    expect(notices).toEqual([
      { notice: 'oidc-provider NOTICE: quick start' },
      { notice: 'oidc-provider WARNING: a setting' },
    ])
    expect([output.info, output.warn]).toEqual([print, print])
    await expect(withoutBanners(log, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
    expect([output.info, output.warn]).toEqual([print, print])
  } finally {
    Object.assign(output, { info: before[0], warn: before[1] })
  }
})
