/** The page of connections in headless Chromium, with the headers that a browser adds to its forms: a user signs in, connects, disconnects, signs out. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BROWSER } from '../fixtures/browser-page.ts'
import { type ConsoleBrowser, openConsoleBrowser } from '../fixtures/console-browser.ts'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { type OAuthServer, startOAuthServer } from '../fixtures/oauth-server.ts'

const missing = BROWSER === undefined && process.env.REQUIRE_SERVICES !== '1'

describe.skipIf(missing)(`connections${missing ? ' (skipped: apt-get install chromium)' : ''}`, () => {
  const toolsets = mkdtempSync(join(tmpdir(), 'connections-browser-'))
  let oauth: OAuthServer
  let gateway: Deployment
  let browser: ConsoleBrowser

  beforeAll(async () => {
    oauth = await startOAuthServer()
    mkdirSync(join(toolsets, 'secrets', 'client'), { recursive: true })
    writeFileSync(join(toolsets, 'secrets', 'client', 'secret'), 'secret-of-the-client')
    const get = { operationId: 'mail_read', responses: { 200: { description: 'ok' } } }
    const document = {
      openapi: '3.1.0',
      info: { title: 'mail', version: '1' },
      paths: { '/mail': { get } },
    }
    const authentication = {
      type: 'authorization_code',
      tokenUrl: `${oauth.url}/token`,
      authorizationUrl: `${oauth.url}/authorize`,
      revocationUrl: `${oauth.url}/revoke`,
      clientId: 'gateway',
      scope: 'mail',
      secretRef: { name: 'client', key: 'secret' },
    }
    const toolSet = {
      apiVersion: 'toolgate.dev/v1alpha1',
      kind: 'ToolSet',
      metadata: { name: 'mail', namespace: 'platform' },
      spec: {
        displayName: 'mail',
        baseURL: oauth.url,
        openAPISpec: { inline: JSON.stringify(document) },
        toolDefaults: { authentication },
      },
    }
    writeFileSync(join(toolsets, 'mail.json'), JSON.stringify(toolSet))
    gateway = await deploy({ TOOLSETS: toolsets })
    browser = await openConsoleBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await gateway?.stop()
    await oauth?.close()
    rmSync(toolsets, { recursive: true, force: true })
  })

  it('sends every form of the page as its own', async () => {
    const { page, close } = await browser.newPage(gateway.url)
    // the gateway leads to the address of its pages
    await page.goto(`${gateway.url}/connections/`)
    expect(page.url()).toBe(`${gateway.url.replace('//', '//pages.')}/connections/`)
    await page.getByRole('link', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: /developer ·/ }).click()
    await page.getByRole('button', { name: 'Connect', exact: true }).click()
    await page.getByText('connected since').waitFor()
    await page.getByRole('button', { name: 'Disconnect' }).click()
    await page.getByText('not connected').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('link', { name: 'Sign in' }).waitFor()
    expect(oauth.revoked).not.toEqual([])
    await close()
  })
})
