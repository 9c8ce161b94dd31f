/** Two planes as processes with certificates: TLS on both listeners, and gateways that the control plane verifies. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type DevProvider, startDevProvider } from '../../../src/identity/dev-provider/dev-provider.ts'
import { SILENT } from '../../../src/telemetry/log.ts'
import { copyTemplate } from '../../contract/store/pglite-template.ts'
import { Authority } from '../../fixtures/certificates.ts'
import { freePorts } from '../../fixtures/free-ports.ts'
import { ServeProcess } from '../../fixtures/planes.ts'
import { clientToken } from '../../fixtures/tokens.ts'

const hasOpenssl = spawnSync('openssl', ['version']).status === 0
const SOON = { timeout: 30_000, interval: 50 }

describe.skipIf(!hasOpenssl)('planes with TLS (needs openssl: apt-get install openssl)', () => {
  const dir = mkdtempSync(join(tmpdir(), 'toolgate-planes-tls-'))
  const processes: ServeProcess[] = []
  let provider: DevProvider
  let authority: Authority
  let control: ServeProcess
  let gateway: ServeProcess
  let token: string

  beforeAll(async () => {
    await copyTemplate(join(dir, 'control', 'postgres'))
    provider = await startDevProvider({
      host: '127.0.0.1',
      port: 0,
      dataDir: join(dir, 'provider'),
      log: SILENT,
    })
    token = await clientToken(provider.issuer, 'demo-admin')
    authority = new Authority(dir)
    const [apiPort] = await freePorts(1)
    control = serve({
      ROLE: 'control-plane',
      API_PORT: String(apiPort),
      DATA_DIR: join(dir, 'control'),
      API_CLIENT_CA_FILE: authority.ca,
      ...certificateOf('API', 'api'),
    })
    await control.start()
    gateway = serve({
      ...gatewayEnv('verified'),
      ...certificateOf('CONTROL_PLANE', 'edge-1'),
      ...certificateOf('GATEWAY', 'gateway'),
    })
    await gateway.start()
  }, 60_000)
  afterAll(async () => {
    for (const each of processes.reverse()) await each.end('SIGTERM')
    await provider.close()
    rmSync(dir, { recursive: true, force: true })
  })

  function serve(env: Record<string, string>): ServeProcess {
    const common = { AUTH_ISSUER: provider.issuer, METRICS_PORT: '0', LOG_LEVEL: 'warn' }
    const each = new ServeProcess({ ...common, ...env }, join(dir, 'log'))
    processes.push(each)
    return each
  }

  function certificateOf(prefix: string, name: string): Record<string, string> {
    const { cert, key } = authority.issue(name)
    return { [`${prefix}_CERT_FILE`]: cert, [`${prefix}_KEY_FILE`]: key }
  }

  const gatewayEnv = (name: string) => ({
    ROLE: 'gateway',
    CONTROL_PLANE_URL: control.addresses.api_url,
    CONTROL_PLANE_CA_FILE: authority.ca,
    GATEWAY_CLIENT_ID: 'gateway',
    GATEWAY_CLIENT_SECRET: 'gateway-secret',
    GATEWAY_NAME: name,
    GATEWAY_PORT: '0',
    EXAMPLE_PORT: '0',
    DATA_DIR: join(dir, name),
  })

  function get(url: string, headers: Record<string, string> = {}): Promise<{ status: number; text: string }> {
    return new Promise((resolve, reject) => {
      const call = request(url, { ca: readFileSync(authority.ca), headers, agent: false }, response => {
        let text = ''
        response.on('data', chunk => {
          text += chunk
        })
        response.on('end', () => resolve({ status: response.statusCode!, text }))
      })
      call.on('error', reject)
      call.end()
    })
  }

  const gatewayNames = async (): Promise<readonly string[]> => {
    const { text } = await get(`${control.addresses.api_url}/v1/gateways`, {
      authorization: `Bearer ${token}`,
    })
    return (JSON.parse(text) as { items: { name: string }[] }).items.map(({ name }) => name)
  }

  it('serves both planes over https, and API callers need no certificate', async () => {
    expect(gateway.addresses).toMatchObject({ http_server: 'node' })
    expect(gateway.addresses.gateway_url).toMatch(/^https:/)
    expect((await get(`${gateway.addresses.gateway_url}/mcp/health`)).status).toBe(200)
    expect(await gatewayNames()).toEqual(['verified'])
  })

  it('refuses a gateway that has a token and no certificate, and says how to configure one', async () => {
    const anonymous = serve(gatewayEnv('anonymous'))
    const started = anonymous.start()
    started.catch(() => {})
    const log = () => readFileSync(join(dir, 'log'), 'utf8')
    await expect.poll(log, SOON).toMatch(/responded with 403/)
    expect(await gatewayNames()).toEqual(['verified'])
    const stream = `${control.addresses.api_url}/v1/gateways/stream?name=anonymous`
    const refused = await get(stream, { authorization: `Bearer ${token}` })
    expect(refused.status).toBe(403)
    expect(refused.text).toContain('CONTROL_PLANE_CERT')
  })
})
