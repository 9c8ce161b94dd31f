/** Client credentials against an HTTP server: what is sent, how long a token is used, and errors that hold no secret. */
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ClientCredentials } from '../../../src/identity/client-credentials.ts'
import { createEgress } from '../../../src/net/egress/client.ts'

interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

let server: Server
let base: string
let seen: Seen[]
/** By path; a function of the number of requests to it. */
let replies: { [path: string]: (count: number) => { status?: number; body: unknown } }
let nowMs: number

beforeEach(async () => {
  seen = []
  nowMs = 1_000_000
  server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { method = '', url = '', headers } = request
    seen.push({ method, url, headers, body })
    const made = replies[url]?.(seen.filter(one => one.url === url).length) ?? { status: 404, body: {} }
    const text = typeof made.body === 'string' ? made.body : JSON.stringify(made.body)
    response.writeHead(made.status ?? 200, { 'content-type': 'application/json' }).end(text)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  replies = {
    '/realm/.well-known/openid-configuration': () => ({
      body: { issuer: `${base}/realm`, token_endpoint: `${base}/token` },
    }),
    '/token': count => ({ body: { access_token: `t${count}`, expires_in: 600 } }),
  }
})
afterEach(async () => {
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
})

type Options = ConstructorParameters<typeof ClientCredentials>[0]

function credentials(change: Partial<Options> = {}): ClientCredentials {
  return new ClientCredentials({
    egress: createEgress({ allow: [], allowLoopback: true }),
    at: { tokenUrl: `${base}/token` },
    clientId: 'a client',
    clientSecret: 'sécret:+',
    names: 'CLIENT_ID and CLIENT_SECRET',
    now: () => nowMs,
    ...change,
  })
}

describe('a token', () => {
  it('is asked for with the encoded credentials (RFC 6749 §2.3.1, §4.4.2)', async () => {
    expect(await credentials().token()).toBe('t1')
    const [{ method, headers, body } = {} as Seen] = seen
    expect([method, body]).toEqual(['POST', 'grant_type=client_credentials'])
    expect(headers['content-type']).toBe('application/x-www-form-urlencoded')
    expect(headers.accept).toBe('application/json')
    const basic = Buffer.from(headers.authorization!.replace(/^Basic /, ''), 'base64').toString()
    expect(basic).toBe('a+client:s%C3%A9cret%3A%2B')
  })

  it('is asked for with a scope where one is set', async () => {
    await credentials({ scope: 'a b' }).token()
    expect(seen[0]!.body).toBe('grant_type=client_credentials&scope=a+b')
  })

  it('is used until 30 s before its end', async () => {
    const one = credentials()
    await one.token()
    nowMs += 569_999
    expect(await one.token()).toBe('t1')
    nowMs += 1
    expect(await one.token()).toBe('t2')
  })

  it('with a short lifetime is used for half of it', async () => {
    replies['/token'] = count => ({ body: { access_token: `t${count}`, expires_in: 20 } })
    const one = credentials()
    await one.token()
    nowMs += 9_999
    expect(await one.token()).toBe('t1')
    nowMs += 1
    expect(await one.token()).toBe('t2')
  })

  it('without a lifetime is used for half a minute', async () => {
    replies['/token'] = count => ({ body: { access_token: `t${count}` } })
    const one = credentials()
    await one.token()
    nowMs += 29_999
    expect(await one.token()).toBe('t1')
    nowMs += 1
    expect(await one.token()).toBe('t2')
  })

  it.each([
    ['a lifetime as text', '600', 570_000],
    ['a lifetime of 1,000 years', 31_536_000_000, 86_370_000],
  ])('with %s is used until then, for a day at most', async (_, expires_in, usedMs) => {
    replies['/token'] = count => ({ body: { access_token: `t${count}`, expires_in } })
    const one = credentials()
    await one.token()
    nowMs += usedMs - 1
    expect(await one.token()).toBe('t1')
    nowMs += 1
    expect(await one.token()).toBe('t2')
  })

  it('is fetched again after it was discarded', async () => {
    const one = credentials()
    await one.token()
    one.discardToken()
    expect(await one.token()).toBe('t2')
  })
})

describe('the token endpoint', () => {
  const discovered = () => credentials({ at: { issuer: `${base}/realm` } })

  it('is found by discovery, once', async () => {
    const one = discovered()
    await one.token()
    one.discardToken()
    await one.token()
    expect(seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /realm/.well-known/openid-configuration',
      'POST /token',
      'POST /token',
    ])
    expect(seen[0]!.headers.authorization).toBeUndefined()
    expect(seen[0]!.body).toBe('')
  })

  it('is found for an issuer that ends with slashes', async () => {
    replies['/realm/.well-known/openid-configuration'] = () => ({
      body: { issuer: `${base}/realm//`, token_endpoint: `${base}/token` },
    })
    expect(await credentials({ at: { issuer: `${base}/realm//` } }).token()).toBe('t1')
  })

  it.each([
    [{ issuer: 'https://other.example', token_endpoint: 'x' }, 'has the issuer "https://other.example", not'],
    [{ token_endpoint: 7 }, 'has no token_endpoint'],
    [{ token_endpoint: 'ftp://a' }, 'has no token_endpoint'],
    [{ token_endpoint: 'see https://a' }, 'has no token_endpoint'],
    [{}, 'has no token_endpoint'],
  ])('is refused: %j', async (document, reason) => {
    replies['/realm/.well-known/openid-configuration'] = () => ({
      body: { issuer: `${base}/realm`, ...document },
    })
    await expect(discovered().token()).rejects.toThrow(reason)
    expect(seen).toHaveLength(1)
  })
})

describe('an error', () => {
  it.each([
    [
      401,
      { error: 'invalid_client' },
      'does not accept the credentials in CLIENT_ID and CLIENT_SECRET (status 401)',
    ],
    [
      400,
      { error: 'invalid_scope' },
      'does not accept the credentials in CLIENT_ID and CLIENT_SECRET (status 400)',
    ],
    [503, {}, 'responded with status 503'],
    [201, { access_token: 'x' }, 'responded with status 201'],
    [200, {}, 'contains no valid access token'],
    [200, { access_token: 7 }, 'contains no valid access token'],
    [200, { access_token: 'two lines\r\nx: y' }, 'contains no valid access token'],
    [200, { access_token: 'x', token_type: 'mac' }, 'issues tokens of an unsupported type'],
    [200, 'null', 'contains no valid access token'],
    [200, '"text"', 'contains no valid access token'],
    [200, 'eyJ-not-json', 'contains no valid access token'],
  ])('names the reason of a response %d %j', async (status, body, reason) => {
    replies['/token'] = () => ({ status, body })
    const failed = credentials().token()
    await expect(failed).rejects.toThrow(reason)
    await failed.catch((error: Error) => expect(error.message).not.toMatch(/s(é|%C3%A9)cret|eyJ/))
  })

  it('of the discovery blames no credentials, since it gets none', async () => {
    replies['/realm/.well-known/openid-configuration'] = () => ({ status: 400, body: {} })
    const failed = credentials({ at: { issuer: `${base}/realm` } }).token()
    await expect(failed).rejects.toThrow(/openid-configuration responded with status 400$/)
  })

  it('of the connection names it, and a later request may succeed', async () => {
    const one = credentials({ at: { tokenUrl: 'http://127.0.0.1:9/token' } })
    await expect(one.token()).rejects.toThrow(/connect|refused|127\.0\.0\.1/i)
    replies['/token'] = count =>
      count === 1 ? { status: 503, body: {} } : { body: { access_token: 'later', expires_in: 600 } }
    const two = credentials()
    await expect(two.token()).rejects.toThrow('503')
    expect(await two.token()).toBe('later')
  })

  it('names the token endpoint without its query', async () => {
    const at = { tokenUrl: `${base}/token?key=canary` }
    const messages: string[] = []
    for (const reply of [
      { status: 401, body: {} },
      { status: 503, body: {} },
      { body: {} },
      { body: 'null' },
    ]) {
      replies['/token?key=canary'] = () => reply
      messages.push(
        await credentials({ at })
          .token()
          .catch((error: Error) => error.message),
      )
    }
    expect(messages.map(message => message.includes(`${base}/token `))).toEqual([true, true, true, true])
    expect(messages.join()).not.toContain('canary')
  })

  it('of a response beyond 256 KiB', async () => {
    replies['/token'] = () => ({ body: { access_token: 'x', padding: 'y'.repeat(300_000) } })
    await expect(credentials().token()).rejects.toThrow()
  })
})
