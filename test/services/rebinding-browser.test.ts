/** A foreign page in a real browser against the instance of a newcomer, as `npm start` configures it: directly, and after DNS rebinding. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BROWSER, type BrowserPage, openPage } from '../fixtures/browser-page.ts'
import { type Deployment, deploy } from '../fixtures/deployment.ts'

const missing = BROWSER === undefined && process.env.REQUIRE_SERVICES !== '1'
const hint = missing ? ' (skipped: apt-get install chromium)' : ''

interface Attack {
  readonly name: string
  readonly url: string
  readonly init: {
    readonly method?: string
    readonly headers?: Record<string, string>
    readonly body?: string
  }
}

/** Runs in the page: it may use nothing of this file. */
async function attack(attacks: readonly Attack[]) {
  const read: Record<string, string> = {}
  for (const { name, url, init } of attacks)
    read[name] = await fetch(url, init).then(
      async response => `${response.status} ${await response.text()}`,
      (error: Error) => error.name,
    )
  return read
}

const json = { 'Content-Type': 'application/json' }
const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
const GRANT = 'grant_type=client_credentials&client_id=demo-admin&client_secret=demo-admin-secret'
const CLIENT = JSON.stringify({ redirect_uris: ['https://evil.example/callback'] })
const INITIALIZE = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} })

describe.skipIf(missing)(`a foreign page${hint}`, () => {
  let deployment: Deployment
  let token: string
  beforeAll(async () => {
    deployment = await deploy()
    token = await deployment.token('demo-admin')
  })
  afterAll(() => deployment?.stop())

  /** @param at address of a port for the page */
  function attacks(at: (url: string) => string): readonly Attack[] {
    const { gateway_url, api_url, auth_url, metrics_url } = deployment.running.addresses
    const bearer = { Authorization: `Bearer ${token}` }
    const realm = `${at(new URL(auth_url).origin)}/realms/platform`
    return [
      { name: 'capabilities', url: `${at(gateway_url)}/mcp/capabilities`, init: {} },
      {
        name: 'mcp',
        url: `${at(gateway_url)}/mcp`,
        init: { method: 'POST', headers: json, body: INITIALIZE },
      },
      {
        name: 'tools',
        url: `${at(gateway_url)}/mcp/v1/tools`,
        init: { method: 'POST', headers: { ...json, ...bearer }, body: '{}' },
      },
      {
        name: 'oauth front',
        url: `${at(gateway_url)}/oauth/token`,
        init: { method: 'POST', headers: form, body: GRANT },
      },
      { name: 'openapi', url: `${at(api_url)}/openapi.json`, init: {} },
      { name: 'tenants', url: `${at(api_url)}/v1/tenants`, init: { headers: bearer } },
      { name: 'discovery', url: `${realm}/.well-known/openid-configuration`, init: {} },
      {
        name: 'token',
        url: `${realm}/protocol/openid-connect/token`,
        init: { method: 'POST', headers: form, body: GRANT },
      },
      {
        name: 'registration',
        url: `${realm}/clients-registrations/openid-connect`,
        init: { method: 'POST', headers: json, body: CLIENT },
      },
      { name: 'metrics', url: `${at(metrics_url)}/metrics`, init: {} },
    ]
  }

  async function outcomes(page: BrowserPage, at: (url: string) => string): Promise<Record<string, string>> {
    try {
      return await page.run(attack, attacks(at))
    } finally {
      await page.close()
    }
  }

  it('reads nothing of any listener across origins', async () => {
    const read = await outcomes(await openPage({ host: 'evil.example' }), url => url)
    const expected = Object.fromEntries(attacks(url => url).map(({ name }) => [name, 'TypeError']))
    expect(read).toEqual(expected)
  })

  it('gets nothing from any listener after rebinding its name to this machine', async () => {
    const page = await openPage({ host: 'evil.example', rebinds: true })
    const read = await outcomes(page, url => `/${new URL(url).port}`)
    for (const [name, outcome] of Object.entries(read)) {
      expect(outcome, name).toMatch(/^421 /)
      expect(outcome, name).not.toContain('access_token')
    }
    expect(Object.keys(read)).toHaveLength(10)
  })
})
