/** `GET /` of gateway and control plane: a browser is led to console or portal, other clients get a list; a gateway in production names no other server. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { freePort, freePorts } from '../fixtures/free-ports.ts'

/** As browsers send it for a page. */
const HTML = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

const open = (url: string, accept: string, method = 'GET') =>
  fetch(`${url}/`, { method, redirect: 'manual', headers: { accept } })

async function leadsTo(url: string) {
  const response = await open(url, HTML)
  return [response.status, response.headers.get('location')]
}
const listed = async (url: string) => (await open(url, '*/*')).json()

describe('in development', () => {
  let platform: Deployment
  let gateway: string
  let control: string
  beforeAll(async () => {
    platform = await deploy()
    gateway = platform.url
    control = platform.running.addresses.api_url
  })
  afterAll(() => platform?.stop())

  it('leads a browser from both servers to the console', async () => {
    expect(await leadsTo(gateway)).toEqual([302, `${control}/console/`])
    expect(await leadsTo(control)).toEqual([302, './console/'])
    for (const url of [gateway, control]) {
      const page = await fetch(`${url}/`, { headers: { accept: HTML } })
      expect([page.url, page.status]).toEqual([`${control}/console/`, 200])
      expect(await page.text()).toContain('<title>')
    }
  })

  it('lists console and portal for other clients', async () => {
    const pages = { console: `${control}/console/`, portal: `${control}/portal/` }
    expect(await listed(gateway)).toEqual({
      ...pages,
      mcp: `${gateway}/mcp`,
      health: `${gateway}/mcp/health`,
    })
    expect(await listed(control)).toEqual({
      ...pages,
      docs: `${control}/docs`,
      openapi: `${control}/openapi.json`,
    })
  })

  it('has the headers and methods of every other address', async () => {
    for (const url of [gateway, control]) {
      for (const accept of [HTML, '*/*']) {
        const { headers } = await open(url, accept)
        expect(headers.get('x-content-type-options')).toBe('nosniff')
        expect(headers.get('x-request-id')).not.toBeNull()
        // a cache would serve one client the response of another
        expect(headers.get('cache-control')).toBe('no-store')
        const head = await open(url, accept, 'HEAD')
        expect([head.headers.get('location'), await head.text()]).toEqual([headers.get('location'), ''])
      }
      const refused = await open(url, '*/*', 'POST')
      expect([refused.status, refused.headers.get('allow')]).toEqual([405, expect.stringMatching(/^GET\b/)])
    }
  })

  it('says in the session of the console whether there is a portal', async () => {
    expect(await (await fetch(`${control}/console/session`)).json()).toMatchObject({ has_portal: true })
  })
})

it('leads to the portal without the console, at the public address of the control plane', async () => {
  const apiPort = await freePort()
  const env = { CONSOLE: 'false', API_PORT: String(apiPort), API_URL: 'https://example.com/control' }
  const { url, stop } = await deploy(env)
  try {
    expect(await leadsTo(url)).toEqual([302, 'https://example.com/control/portal/'])
    const control = `http://127.0.0.1:${apiPort}`
    expect(await leadsTo(control)).toEqual([302, './portal/'])
    expect(await listed(control)).toEqual({
      portal: 'https://example.com/control/portal/',
      docs: 'https://example.com/control/docs',
      openapi: 'https://example.com/control/openapi.json',
    })
  } finally {
    await stop()
  }
})

it('names nothing of the control plane on a gateway in production', async () => {
  const [gatewayPort, apiPort] = await freePorts(2)
  const { url, stop } = await deploy({
    NODE_ENV: 'production',
    SHUTDOWN_DELAY: '0s',
    AUTH_ISSUER: 'https://127.0.0.1:9/realms/none',
    TOOLSETS: 'toolsets',
    GATEWAY_PORT: String(gatewayPort),
    GATEWAY_URL: `http://localhost:${gatewayPort}/gateway`,
    API_PORT: String(apiPort),
    API_URL: 'http://localhost:1',
    CONSOLE_CLIENT_ID: 'console',
  })
  try {
    for (const accept of [HTML, '*/*']) {
      const response = await open(`http://127.0.0.1:${gatewayPort}`, accept)
      expect([response.status, await response.json()]).toEqual([
        200,
        { mcp: `${url}/mcp`, health: `${url}/mcp/health` },
      ])
    }
    expect(await leadsTo(`http://127.0.0.1:${apiPort}`)).toEqual([302, './console/'])
  } finally {
    await stop()
  }
})

it('leads to the documents of the API where the control plane serves neither console nor portal', async () => {
  const { running, url, stop } = await deploy({ CONSOLE: 'false', PORTAL: 'false' })
  try {
    expect(await leadsTo(running.addresses.api_url)).toEqual([302, './docs'])
    expect(await leadsTo(url)).toEqual([200, null])
  } finally {
    await stop()
  }
})
