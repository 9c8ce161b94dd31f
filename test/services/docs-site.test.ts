/** The static site of the pages, built and served from its files: links within it lead to a page and a heading, search finds text, nothing is requested elsewhere. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, normalize } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BROWSER, HEADLESS_BROWSER } from '../fixtures/browser-page.ts'

const ROOT = join(import.meta.dirname, '../..')
const SITE = join(ROOT, 'site')
const isMissing =
  (BROWSER === undefined || !existsSync(join(ROOT, 'docs/node_modules/vitepress'))) &&
  process.env.REQUIRE_SERVICES !== '1'
const HINT = 'apt-get install chromium; npm --prefix docs ci'
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
}

describe.skipIf(isMissing)(`the site of the pages${isMissing ? ` (skipped: ${HINT})` : ''}`, () => {
  let server: Server
  let browser: Browser
  let origin: string

  beforeAll(async () => {
    execFileSync('npm', ['--prefix', 'docs', 'run', '--silent', 'build'], { cwd: ROOT, stdio: 'pipe' })
    server = createServer((request, response) => {
      const path = normalize(decodeURIComponent(new URL(request.url!, 'http://site').pathname))
      const file = join(SITE, path.endsWith('/') ? `${path}index.html` : path)
      if (!existsSync(file)) return void response.writeHead(404).end()
      response.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream')
      response.end(readFileSync(file))
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    browser = await chromium.launch({ executablePath: HEADLESS_BROWSER!, args: ['--no-sandbox'] })
  }, 300_000)
  afterAll(async () => {
    await browser?.close()
    server?.close()
  })

  it('has links that lead to a page and a heading of it', () => {
    const pages = readdirSync(SITE, { recursive: true, encoding: 'utf8' }).filter(path =>
      path.endsWith('.html'),
    )
    expect(pages.length).toBeGreaterThan(30)
    const broken = pages.flatMap(page => {
      const html = readFileSync(join(SITE, page), 'utf8')
      return [...html.matchAll(/<a [^>]*href="([^"]+)"/g)].flatMap(([, href]) => {
        const url = new URL(href!.replaceAll('&amp;', '&'), `http://site/${page}`)
        if (url.host !== 'site') return []
        const file = join(SITE, url.pathname.endsWith('/') ? `${url.pathname}index.html` : url.pathname)
        if (!existsSync(file)) return [`${page}: ${href}`]
        const id = decodeURIComponent(url.hash.slice(1))
        return id === '' || readFileSync(file, 'utf8').includes(`id="${id}"`) ? [] : [`${page}: ${href}`]
      })
    })
    expect(broken).toEqual([])
  })

  it('finds a setting by search, without an error or a request to another origin', async () => {
    const page = await browser.newPage()
    const faults: string[] = []
    page.on('pageerror', error => faults.push(String(error)))
    page.on('console', message => {
      if (message.type() === 'error') faults.push(message.text())
    })
    page.on('request', request => {
      if (!request.url().startsWith(origin) && !request.url().startsWith('data:')) faults.push(request.url())
    })
    await page.goto(`${origin}/index.html`)
    const search = page.locator('.VPLocalSearchBox input')
    // the page listens to its keys some time after it is shown
    const isOpen = async () => {
      await page.keyboard.press('Control+k')
      return search.isVisible()
    }
    await expect.poll(isOpen).toBe(true)
    await search.fill('API_CLIENT_CA')
    const found = page.locator('.VPLocalSearchBox .result').first()
    await found.waitFor()
    await found.click()
    await page.waitForURL(/\/docs\//)
    // the address changes before the page is drawn
    await page.locator('main', { hasText: 'API_CLIENT_CA' }).waitFor()
    expect(faults).toEqual([])
  })
})
