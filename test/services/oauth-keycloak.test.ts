/** OAuth end to end in front of a real Keycloak: the flow of the official client, the login of the console, the doctor, and errors of the provider. */
import { auth, type OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CLIENTS } from '../../src/app/cli/doctor/clients.ts'
import { examine } from '../../src/app/cli/doctor/examine.ts'
import { OAuthClient } from '../../src/console/oauth-client.ts'
import { createEgress } from '../../src/net/egress/client.ts'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { Browser } from '../unit/identity/browser.ts'
import { hasKeycloak, Keycloak } from './keycloak/keycloak-server.ts'

const REDIRECT = 'http://localhost:39999/callback'

/** A desktop client: keeps what it is given, and counts how often it registers and asks its user. */
class DesktopClient implements OAuthClientProvider {
  readonly redirectUrl = REDIRECT
  readonly clientMetadata = {
    client_name: 'Desktop client',
    redirect_uris: [REDIRECT],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'client_secret_post',
  }
  registrations = 0
  redirects: URL[] = []
  information: OAuthClientInformationMixed | undefined
  held: OAuthTokens | undefined
  #verifier = ''

  state = () => 'state-1'
  clientInformation = () => this.information
  saveClientInformation(information: OAuthClientInformationMixed): void {
    this.registrations++
    this.information = information
  }
  tokens = () => this.held
  saveTokens(tokens: OAuthTokens): void {
    this.held = tokens
  }
  redirectToAuthorization(url: URL): void {
    this.redirects.push(url)
  }
  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier
  }
  codeVerifier = () => this.#verifier
}

/** Signs in on Keycloak's own page, as a person would. */
async function signIn(url: URL): Promise<URL> {
  const browser = new Browser()
  const page = await browser.follow(url.href, REDIRECT)
  const html = (await page.response?.text()) ?? ''
  const action = /<form[^>]+action="([^"]+)"/.exec(html)?.[1]?.replaceAll('&amp;', '&')
  if (action === undefined) throw new Error(`there is no login form:\n${html.slice(0, 2000)}`)
  const done = await browser.follow(action, REDIRECT, {
    username: 'developer',
    password: 'developer',
    credentialId: '',
  })
  return new URL(done.url)
}

describe.skipIf(!hasKeycloak())(
  'OAuth in front of Keycloak (needs it: node scripts/keycloak.mjs fetch)',
  () => {
    let keycloak: Keycloak
    let gateway: Deployment
    let serverUrl: string
    const desktop = new DesktopClient()

    beforeAll(async () => {
      keycloak = await Keycloak.start()
      gateway = await deploy({
        AUTH_ISSUER: keycloak.issuer,
        AUTH_ADMIN_CLIENT_ID: 'toolgate-admin',
        AUTH_ADMIN_CLIENT_SECRET: 'toolgate-admin-secret',
        ALLOWED_AUDIENCES: 'platform-mcp-gateway',
      })
      serverUrl = `${gateway.url}/mcp/sse`
    }, 330_000)
    afterAll(async () => {
      await gateway?.stop()
      await keycloak?.stop()
    }, 60_000)

    async function listTools(): Promise<string[]> {
      const client = new Client({ name: 'desktop', version: '1' })
      await client.connect(new StreamableHTTPClientTransport(new URL(serverUrl), { authProvider: desktop }))
      const { tools } = await client.listTools()
      await client.close()
      return tools.map(tool => tool.name)
    }

    it('leads a new client through discovery and registration to the login page of the provider', async () => {
      expect(await auth(desktop, { serverUrl, scope: 'openid platform:read platform:execute' })).toBe(
        'REDIRECT',
      )
      expect(desktop.information).toMatchObject({ redirect_uris: [REDIRECT] })
      expect(desktop.information).not.toHaveProperty('client_secret')
      const [redirect] = desktop.redirects
      expect(redirect?.origin).toBe(keycloak.url)
      expect(redirect?.searchParams.get('code_challenge_method')).toBe('S256')
      expect(redirect?.searchParams.get('resource')).toBe(serverUrl)
    })

    it('leaves a public client with S256 behind in Keycloak, and the response without iss', async () => {
      const [client, ...others] = await keycloak.clientsNamed('Desktop client')
      expect(others).toEqual([])
      expect(client).toMatchObject({
        clientId: desktop.information?.client_id,
        publicClient: true,
        consentRequired: false,
        attributes: { 'pkce.code.challenge.method': 'S256', 'exclude.issuer.from.auth.response': 'true' },
      })
    })

    it('exchanges the code, and the token opens the list of tools', async () => {
      const landed = await signIn(desktop.redirects[0]!)
      expect(landed.searchParams.has('iss')).toBe(false)
      expect(landed.searchParams.get('state')).toBe('state-1')
      const code = landed.searchParams.get('code')!
      expect(await auth(desktop, { serverUrl, authorizationCode: code })).toBe('AUTHORIZED')
      const claims = decodeJwt(desktop.held!.access_token)
      expect([claims.aud].flat()).toContain('platform-mcp-gateway')
      expect(claims).toMatchObject({ azp: desktop.information!.client_id, tenant_id: 'acme' })
      expect(await listTools()).not.toEqual([])
    })

    it('refreshes without asking anyone', async () => {
      const before = desktop.held!
      expect(await auth(desktop, { serverUrl })).toBe('AUTHORIZED')
      expect(desktop.held!.access_token).not.toBe(before.access_token)
      expect(await listTools()).not.toEqual([])
    })

    it('signs the console in, whose tokens the gateway accepts and the provider refreshes', async () => {
      const egress = createEgress({ allow: ['localhost', '127.0.0.1'], allowLoopback: true })
      try {
        const { url: gatewayUrl } = gateway
        const options = { gatewayAddress: gatewayUrl, gatewayUrl, clientId: undefined, now: Date.now }
        const page = new OAuthClient({ egress, ...options })
        const client = await page.client(REDIRECT)
        const { url, verifier, state } = await page.authorization(client, REDIRECT)
        const landed = await signIn(new URL(url))
        const expected = { client, redirectUri: REDIRECT, state, verifier }
        const { accessToken, refreshToken } = await page.exchange(expected, landed.searchParams)
        const renewed = await page.refresh(client, refreshToken!)
        expect(renewed.accessToken).not.toBe(accessToken)
        for (const token of [accessToken, renewed.accessToken])
          expect((await gateway.post('/mcp/v1/tools', {}, token)).status).toBe(200)
        await page.revoke(client, renewed.refreshToken!)
        await expect(page.refresh(client, renewed.refreshToken!)).rejects.toThrow()
        // a code is used once; the message names neither code nor token
        const again = page.exchange(expected, landed.searchParams)
        await expect(again).rejects.toThrow(/^Code not valid$/)
      } finally {
        await egress.close()
      }
    })

    it('has registered once and redirected once, all in all', async () => {
      expect(desktop.registrations).toBe(1)
      expect(desktop.redirects).toHaveLength(1)
      expect(await keycloak.clientsNamed('Desktop client')).toHaveLength(1)
    })

    it('gives tokens for client credentials, and 400 and 401 as specified', async () => {
      const token = async (form: Record<string, string>, headers: Record<string, string> = {}) =>
        (
          await fetch(`${gateway.url}/oauth/token`, {
            method: 'POST',
            headers,
            body: new URLSearchParams(form),
          })
        ).status
      const agent = {
        grant_type: 'client_credentials',
        client_id: 'demo-agent',
        client_secret: 'demo-agent-secret',
      }
      expect(await token(agent)).toBe(200)
      const basic = `Basic ${Buffer.from('demo-agent:demo-agent-secret').toString('base64')}`
      expect(await token({ grant_type: 'client_credentials' }, { authorization: basic })).toBe(200)
      expect(await token({ ...agent, client_secret: 'wrong' })).toBe(401)
      expect(
        await token({ ...agent, grant_type: 'authorization_code', code: 'none', redirect_uri: REDIRECT }),
      ).toBe(400)
    })

    it('says 403 when the provider does not let a client register', async () => {
      const response = await gateway.post('/oauth/register', {
        redirect_uris: ['https://untrusted.example/callback'],
      })
      expect(response.status).toBe(403)
      expect(response.json).toMatchObject({ error: 'access_denied' })
    })

    it('lets the doctor through as Claude, Cursor and ChatGPT, and it leaves no client behind', async () => {
      for (const name of ['claude', 'cursor', 'chatgpt'] as const) {
        const report = await examine(
          { url: serverUrl, token: desktop.held!.access_token, serverName: 'toolgate' },
          CLIENTS[name],
          () => {},
        )
        expect(report, JSON.stringify(report.steps)).toMatchObject({
          header: { ok: true },
          login: { ok: true },
        })
        const skipped = report.steps.filter(step => step.status === 'skipped')
        expect(skipped.map(step => step.step)).toEqual(['tls', 'cors', 'prefix'])
        expect(await keycloak.clientsNamed(CLIENTS[name].title)).toEqual([])
      }
    })

    it('makes the doctor say what Keycloak lacks for VS Code', async () => {
      const visit = { url: serverUrl, token: undefined, serverName: 'toolgate' }
      const report = await examine(visit, CLIENTS.vscode, () => {})
      expect(report.failed).toBe('registration')
      expect(report.steps.at(-1)?.fix).toContain('vscode.dev')
      expect(report.steps.at(-1)?.fix).toContain('Trusted hosts')
    })

    it('says 502 when the provider is stopped, while the own documents and the tokens at hand go on', async () => {
      await keycloak.stop()
      expect((await fetch(`${gateway.url}/.well-known/openid-configuration`)).status).toBe(502)
      expect((await gateway.post('/oauth/register', desktop.clientMetadata)).status).toBe(502)
      const form = new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: 'demo-agent',
        client_secret: 'demo-agent-secret',
      })
      expect((await fetch(`${gateway.url}/oauth/token`, { method: 'POST', body: form })).status).toBe(502)
      expect((await fetch(`${gateway.url}/.well-known/oauth-authorization-server`)).status).toBe(200)
      expect((await fetch(`${gateway.url}/.well-known/oauth-protected-resource/mcp/sse`)).status).toBe(200)
      expect(await listTools()).not.toEqual([])
    })
  },
)
