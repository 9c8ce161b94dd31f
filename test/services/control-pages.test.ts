/** `/docs` and `/redoc` in a real browser: they draw every operation, and ask no other host for anything. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENDPOINTS } from '../../src/control-plane/api/endpoints.ts'
import { openPlane, type Plane } from '../contract/control/plane.ts'
import { type Served, serve } from '../contract/control/serve.ts'
import { BROWSER } from '../fixtures/browser-page.ts'

const missing = BROWSER === undefined && process.env.REQUIRE_SERVICES !== '1'

describe.skipIf(missing)(
  `the pages in a browser${missing ? ' (skipped: apt-get install chromium)' : ''}`,
  () => {
    let plane: Plane
    let served: Served
    let directory: string

    beforeAll(async () => {
      directory = mkdtempSync(join(tmpdir(), 'toolgate-pages-'))
      plane = await openPlane()
      served = await serve(plane.control)
    })
    afterAll(async () => {
      await served?.close()
      await plane?.close()
      rmSync(directory, { recursive: true, force: true })
    })

    /** Opens a page and gives what it drew and every address it asked for. */
    async function open(path: string, address = `${served.url}/${path}`) {
      const name = path.replaceAll('/', '-')
      const [picture, log] = [join(directory, `${name}.png`), join(directory, `${name}.json`)]
      const flags = [
        '--headless=new',
        '--no-sandbox',
        '--disable-gpu',
        '--disable-background-networking',
        '--disable-component-update',
        '--no-first-run',
        '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
        '--window-size=1200,2400',
        `--user-data-dir=${join(directory, `profile-${name}`)}`,
        '--virtual-time-budget=20000',
        `--log-net-log=${log}`,
      ]
      const run = (...more: string[]) =>
        promisify(execFile)(BROWSER!, [...flags, ...more, address], {
          maxBuffer: 64 * 1024 * 1024,
          timeout: 120_000,
        })
      const drawn = (await run('--dump-dom')).stdout
      // Addresses of requests that the page itself started; the browser's own housekeeping has no such initiator.
      const asked = readFileSync(log, 'utf8')
        .split('\n')
        .filter(line => line.includes('"initiator":"http://127.0.0.1'))
        .flatMap(line => /"url":"([^"]+)"/.exec(line)?.[1] ?? [])
      await run(`--screenshot=${picture}`)
      return { drawn, asked, pictureBytes: statSync(picture).size }
    }

    it.each(['docs', 'redoc'])(
      '/%s shows every operation and asks only this server',
      async path => {
        const { drawn, asked, pictureBytes } = await open(path)
        for (const { summary } of ENDPOINTS) expect(drawn).toContain(summary.split(';')[0]!.split(',')[0]!)
        expect(asked.length).toBeGreaterThan(1)
        expect(asked.filter(url => !url.startsWith(`${served.url}/`) && !/^(data|blob):/.test(url))).toEqual(
          [],
        )
        expect(pictureBytes).toBeGreaterThan(20_000)
      },
      240_000,
    )

    it('/docs sends its requests to the address under which it was opened', async () => {
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
          const { drawn } = await open(path, `${base}/${path}`)
          expect(drawn, `${base}/${path}`).toContain(`value="${base}/v1"`)
          expect(drawn).toContain(ENDPOINTS[0]!.summary.split(';')[0]!.split(',')[0]!)
        }
      } finally {
        proxy.closeAllConnections()
        proxy.close()
      }
    }, 240_000)
  },
)
