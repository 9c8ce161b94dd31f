/** `/docs` and `/redoc` in a real browser: they draw every operation and ask no other host; `/docs` names the address under which it was opened. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENDPOINTS } from '../../src/control-plane/api/endpoints.ts'
import { openPlane, type Plane } from '../contract/control/plane.ts'
import { type Served, serve } from '../contract/control/serve.ts'
import { BROWSER, HEADLESS_BROWSER } from '../fixtures/browser-page.ts'
import { FLAGS } from '../fixtures/console-browser.ts'

const missing = BROWSER === undefined && process.env.REQUIRE_SERVICES !== '1'

/** As far as no page breaks them. */
const SUMMARIES = ENDPOINTS.map(({ summary }) => summary.split(';')[0]!.split(',')[0]!)
const DRAWN = { timeout: 60_000, interval: 1_000 }

describe.skipIf(missing)(
  `the pages in a browser${missing ? ' (skipped: apt-get install chromium)' : ''}`,
  () => {
    let plane: Plane
    let served: Served
    let browser: Browser

    beforeAll(async () => {
      plane = await openPlane()
      served = await serve(plane.control)
      browser = await chromium.launch({
        executablePath: HEADLESS_BROWSER!,
        args: [...FLAGS, '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'],
      })
    })
    afterAll(async () => {
      await browser?.close()
      await served?.close()
      await plane?.close()
    })

    /** Opens a page until it has drawn every text; gives a picture of it and every address it asked for, but those that its policy blocks. */
    async function open(address: string, texts: readonly string[]) {
      const page = await browser.newPage({ viewport: { width: 1_200, height: 2_400 } })
      const asked: string[] = []
      page.on('requestfinished', request => asked.push(request.url()))
      page.on('requestfailed', request => {
        // the policy of the page keeps the request in the browser
        if (request.failure()?.errorText !== 'csp') asked.push(request.url())
      })
      try {
        await page.goto(address)
        await expect
          .poll(async () => {
            const drawn = await page.content()
            return texts.filter(text => !drawn.includes(text))
          }, DRAWN)
          .toEqual([])
        // what a page asks for once it is drawn
        await page.waitForLoadState('networkidle')
        return { asked, picture: await page.screenshot() }
      } finally {
        await page.close()
      }
    }

    it.each(['docs', 'redoc'])(
      '/%s shows every operation and asks only this server',
      async path => {
        const { asked, picture } = await open(`${served.url}/${path}`, SUMMARIES)
        expect(asked.length).toBeGreaterThan(1)
        expect(asked.filter(url => !url.startsWith(`${served.url}/`) && !/^(data|blob):/.test(url))).toEqual(
          [],
        )
        expect(picture.length).toBeGreaterThan(20_000)
      },
      240_000,
    )

    it('/docs offers the address under which it was opened as its server', async () => {
      const proxy = createServer((request, response) => {
        const path = request.url!.replace(/^\/gw\/api/, '')
        fetch(served.url + path).then(async page => {
          response.writeHead(page.status, { 'content-type': page.headers.get('content-type') ?? '' })
          response.end(Buffer.from(await page.arrayBuffer()))
        })
      })
      await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve))
      const prefixed = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/gw/api`
      try {
        for (const [path, base] of [
          ['docs/', served.url],
          ['v1/docs', served.url],
          ['docs', prefixed],
        ] as const) {
          await open(`${base}/${path}`, [`value="${base}/v1"`, SUMMARIES[0]!])
        }
      } finally {
        proxy.closeAllConnections()
        proxy.close()
      }
    }, 240_000)
  },
)
