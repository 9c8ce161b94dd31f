/** The demo against gateways that misbehave: it says what it expected, shows no whole token, and exits with 1 or 64. The good walk is an e2e test. */
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { DemoFailure } from '../../../../src/app/cli/demo/demo-failure.ts'
import { mask } from '../../../../src/app/cli/demo/masked.ts'
import { walk } from '../../../../src/app/cli/demo/steps.ts'
import { JsonTranscript, TextTranscript } from '../../../../src/app/cli/demo/transcript.ts'
import { runToolgate } from '../../../fixtures/command.ts'

const TOKEN = `eyJhbGciOiJSUzI1NiJ9.${'a'.repeat(40)}.${'b'.repeat(40)}`
let server: Server | undefined

afterEach(() => {
  vi.restoreAllMocks()
  server?.close()
  server?.closeAllConnections()
  server = undefined
})

type Responses = { readonly [path: string]: (status: { code: number }) => object }

/** A server that responds to each path from a table. */
async function serving(responses: (url: string) => Responses): Promise<string> {
  let table: Responses = {}
  const listener: RequestListener = (request, response) => {
    const status = { code: 200 }
    const body = table[request.url!]?.(status)
    response.writeHead(body === undefined ? 404 : status.code, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body ?? {}))
  }
  server = createServer(listener)
  await new Promise<void>(resolve => server!.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  table = responses(url)
  return url
}

function discovery(url: string): Responses {
  return {
    '/.well-known/oauth-protected-resource': () => ({ resource: url, authorization_servers: [url] }),
    '/.well-known/oauth-authorization-server': () => ({ issuer: url, token_endpoint: `${url}/oauth/token` }),
    '/oauth/token': () => ({ access_token: TOKEN, token_type: 'Bearer', expires_in: 60 }),
  }
}

async function walked(url: string, authUrl = url): Promise<{ text: string; failure: unknown }> {
  let text = ''
  const transcript = new TextTranscript(part => {
    text += part
  }, false)
  const failure = await walk({ url, authUrl }, transcript).catch((error: unknown) => error)
  return { text, failure }
}

describe('a gateway that misbehaves', () => {
  it('is reported when nothing responds, with how to start it', async () => {
    const { failure } = await walked('http://127.0.0.1:1')
    expect(failure).toBeInstanceOf(DemoFailure)
    expect((failure as DemoFailure).got).toContain('npm start')
  })

  it('is reported when its authorization server is another than it says', async () => {
    const url = await serving(own => ({
      ...discovery(own),
      '/.well-known/oauth-authorization-server': () => ({
        issuer: 'https://other.example',
        token_endpoint: own,
      }),
    }))
    expect((await walked(url)).failure).toMatchObject({
      expected: `issuer to be ${url}`,
      got: 'https://other.example',
    })
  })

  it('is reported when it lists tools that the agent may not call', async () => {
    const names = ['shop_placeOrder', 'shop_getOrder', 'shop_cancelOrder', 'shop_deleteOrder', ...'abcdefgh']
    const url = await serving(own => ({
      ...discovery(own),
      '/mcp/v1/tools': () => ({ tools: names.map(name => ({ name })) }),
    }))
    expect((await walked(url)).failure).toMatchObject({ expected: 'only tools that the client may call' })
  })

  it('is asked through the given issuer when it publishes no documents', async () => {
    const realm = '/realms/platform'
    const url = await serving(own => ({
      [`${realm}/.well-known/openid-configuration`]: () => ({
        issuer: own + realm,
        token_endpoint: `${own}/token`,
      }),
      '/token': status => {
        status.code = 401
        return { error: 'invalid_client' }
      },
    }))
    const { text, failure } = await walked(url, url + realm)
    expect(text).toContain(`ok the token endpoint is ${url}/token`)
    expect(failure).toMatchObject({
      expected: `status 200 from ${url}/token`,
      got: '401 {"error":"invalid_client"}',
    })
  })
})

describe('what is shown', () => {
  it('never holds a whole token, as text or as JSON', async () => {
    const url = await serving(own => ({
      ...discovery(own),
      '/mcp/v1/tools': () => ({ tools: [], echo: TOKEN }),
    }))
    const { text } = await walked(url)
    expect(text).toContain('Bearer eyJ…bbbbbbbb')
    expect(text).not.toContain(TOKEN.slice(0, 20))
    let json = ''
    const transcript = new JsonTranscript(part => {
      json += part
    })
    const failure = (await walk({ url, authUrl: url }, transcript).catch(
      (error: unknown) => error,
    )) as DemoFailure
    transcript.fail(failure.expected, failure.got)
    expect(json).not.toContain(TOKEN.slice(0, 20))
    const steps = json
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(steps.map(step => [step.step, step.ok])).toEqual([
      ['discover', true],
      ['token', true],
      ['list', false],
    ])
    expect(steps[2].expected).toBe('at least 12 tools')
  })

  it('masks a token wherever it stands', () => {
    expect(mask(`a ${TOKEN} b`)).toBe('a eyJ…bbbbbbbb b')
  })
})

describe('the command', () => {
  it('exits with 1 when a step fails, and writes no colors into a pipe', async () => {
    const { code, out } = await runToolgate(['demo', '--url', 'http://127.0.0.1:1'])
    expect(code).toBe(1)
    expect(out).toContain('FAILED')
    expect(out).not.toContain('\u001b')
  })

  it('refuses a default from the environment that is not a URL', async () => {
    const { code, err } = await runToolgate(['demo'], { GATEWAY_URL: 'localhost:8080' })
    expect([code, err]).toEqual([64, expect.stringContaining('GATEWAY_URL is invalid')])
  })
})
