/** The names (`Host`) under which gateway, control plane, provider and metrics serve, and which pages get a token of the embedded provider. */
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { freePort } from '../fixtures/free-ports.ts'

const LISTENERS = {
  gateway: ['gateway_url', '/mcp/capabilities'],
  'control plane': ['api_url', '/openapi.json'],
  provider: ['auth_url', '/realms/platform/.well-known/openid-configuration'],
  metrics: ['metrics_url', '/metrics'],
} as const
type Name = keyof typeof LISTENERS
const NAMES = Object.keys(LISTENERS) as Name[]

let deployment: Deployment
let ports: readonly number[]
beforeAll(async () => {
  ports = [await freePort(), await freePort()]
  deployment = await deploy({
    GATEWAY_PORT: String(ports[0]),
    API_PORT: String(ports[1]),
    ALLOWED_HOSTS: 'extra.example,*.wild.example',
    GATEWAY_URL: 'https://gw.example/base',
    API_URL: 'https://api.example',
    CORS_ORIGINS: 'http://console.example',
  })
})
afterAll(() => deployment?.stop())

interface Sent {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly path?: string
  readonly body?: string
}

/** The port is that of the listener, not of the public address. */
async function send(name: Name, host: string, { method = 'GET', headers, path, body }: Sent = {}) {
  const [address, ownPath] = LISTENERS[name]
  const port = portOf(address)
  return new Promise<{ status: number; text: string; cors: string | undefined }>((resolve, reject) => {
    const sent = request(
      { host: '127.0.0.1', port, path: path ?? ownPath, method, headers: { host, ...headers } },
      response => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', chunk => {
          text += chunk
        })
        const cors = response.headers['access-control-allow-origin']
        response.on('end', () => resolve({ status: response.statusCode!, text, cors }))
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

/** The public addresses do not contain the ports of the listeners. */
function portOf(address: (typeof LISTENERS)[Name][0]): number {
  if (address === 'gateway_url') return ports[0]!
  if (address === 'api_url') return ports[1]!
  return Number(new URL(deployment.running.addresses[address]).port)
}

describe.each(NAMES)('the %s listener', name => {
  it.each([
    'evil.example',
    'evil.example:8080',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'notextra.example',
    'wild.example',
    'evilwild.example',
    'gw.example.evil.example',
  ])('refuses Host: %s, and the message names the setting', async host => {
    const { status, text } = await send(name, host)
    expect(status).toBe(421)
    expect(text).toContain('ALLOWED_HOSTS')
  })

  it.each([
    'localhost',
    'localhost:1',
    'LOCALHOST:8080',
    'localhost.',
    'app.localhost',
    '127.0.0.1',
    '[::1]:80',
    '10.1.2.3:9464',
    'gw.example',
    'api.example:443',
    'extra.example',
    'a.wild.example',
  ])('serves Host: %s', async host => {
    expect((await send(name, host)).status).toBe(200)
  })
})

describe('the embedded provider', () => {
  const form = 'grant_type=client_credentials&client_id=demo-admin&client_secret=demo-admin-secret'
  const token = (origin: string) =>
    send('provider', 'localhost', {
      method: 'POST',
      path: '/realms/platform/protocol/openid-connect/token',
      headers: { origin, 'content-type': 'application/x-www-form-urlencoded' },
      body: form,
    })

  it.each(['http://evil.example', 'null'])('gives no token to a page of origin %s', async origin => {
    const { status, text, cors } = await token(origin)
    expect({ status, cors }).toEqual({ status: 403, cors: undefined })
    expect(text).not.toContain('access_token')
    expect(text).toContain('CORS_ORIGINS')
  })

  it('lets no foreign page read a document', async () => {
    const { cors } = await send('provider', 'localhost', { headers: { origin: 'http://evil.example' } })
    expect(cors).toBeUndefined()
  })

  it('gives a token to a page of CORS_ORIGINS', async () => {
    const { status, text, cors } = await token('http://console.example')
    expect({ status, cors }).toEqual({ status: 200, cors: 'http://console.example' })
    expect(text).toContain('access_token')
  })
})
