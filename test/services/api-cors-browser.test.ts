/** The cross-origin rule of one API in headless Chromium: pages that it names read responses, others do not. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BROWSER, type BrowserPage, openPage } from '../fixtures/browser-page.ts'
import { publishRuled, type RuledApi } from '../fixtures/ruled-apis.ts'
import { type ScriptedBackend, sends, startScriptedBackend } from '../fixtures/scripted-backend.ts'
import { type TwoTenants, twoTenants } from '../fixtures/two-tenants.ts'

const missing = BROWSER === undefined && process.env.REQUIRE_SERVICES !== '1'

describe.skipIf(missing)(`pages${missing ? ' (skipped: apt-get install chromium)' : ''}`, () => {
  let world: TwoTenants
  let backend: ScriptedBackend
  let named: BrowserPage
  let other: BrowserPage
  let ruled: RuledApi

  beforeAll(async () => {
    named = await openPage()
    other = await openPage()
    world = await twoTenants({ CORS_ORIGINS: other.origin })
    backend = await startScriptedBackend()
    backend.script(sends(200, 'read', { etag: '"1"' }))
    const cors = {
      origins: [named.origin],
      methods: ['GET', 'PUT'],
      expose_headers: ['etag'],
      allow_headers: ['authorization', 'x-team'],
      credentials: true,
    }
    ruled = await publishRuled(world, 'ruled', backend.url, { cors })
  })
  afterAll(async () => {
    await named?.close()
    await other?.close()
    await world?.stop()
    await backend?.close()
  })

  interface Asked {
    readonly url: string
    readonly method: string
    readonly headers: Record<string, string>
  }
  /** Runs in the page. */
  async function ask({ url, method, headers }: Asked): Promise<readonly (number | string | null)[]> {
    try {
      const response = await fetch(url, { method, headers, credentials: 'include' })
      return [response.status, await response.text(), response.headers.get('etag')]
    } catch {
      return ['blocked']
    }
  }
  const asked = (method: string, headers: Record<string, string> = {}): Asked => ({
    url: ruled.url,
    method,
    headers: { authorization: `Bearer ${world.root}`, ...headers },
  })

  it('a page that the rule names reads responses, with preflight and credentials', async () => {
    expect(await named.run(ask, asked('GET'))).toEqual([200, 'read', '"1"'])
    expect(await named.run(ask, asked('PUT', { 'x-team': 'a' }))).toEqual([200, 'read', '"1"'])
  })

  it('what the rule does not name is blocked', async () => {
    backend.seen.length = 0
    expect(await named.run(ask, asked('DELETE'))).toEqual(['blocked'])
    expect(await named.run(ask, asked('GET', { 'x-other': 'a' }))).toEqual(['blocked'])
    expect(await other.run(ask, asked('GET'))).toEqual(['blocked'])
    expect(backend.seen).toEqual([])
  })
})
