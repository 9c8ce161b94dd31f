/** The report of the bench in a real browser: charts of its figures, no error on the console, no request elsewhere; and its form in Markdown. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openResults } from '../../bench/record.ts'
import { BROWSER } from '../fixtures/browser-page.ts'

const missing = BROWSER === undefined && process.env.REQUIRE_SERVICES !== '1'
const run = promisify(execFile)

const directory = mkdtempSync(join(tmpdir(), 'toolgate-report-'))
const out = join(directory, 'results.ndjson')
const html = join(directory, 'report.html')
const markdown = join(directory, 'RESULTS.md')
const NINES = { 50: 0.151, 90: 0.24, 99: 0.513, 99.9: 1.66 }

/** Written as a load run and a micro run write them. */
function measure(): void {
  // figures that are made up have no other programs beside them
  const results = openResults('http', out, '', { othersShare: () => 0 })
  const rate = { suite: 'http/load', metric: 'per-core', unit: 'calls/CPU-s', better: 'higher' } as const
  const nginx = [155_000, 152_500, 157_500]
  results.write({ ...rate, case: 'nginx/post', samples: nginx })
  results.write({
    ...rate,
    case: 'toolgate/tools-call',
    samples: [46_500, 47_580, 45_990],
    reference: { case: 'http/load/nginx/post', samples: nginx },
  })
  const latency = { suite: 'http/load', metric: 'latency', unit: 'ms', better: 'lower' } as const
  results.write({ ...latency, case: 'toolgate/tools-call', samples: [0.151], percentiles: NINES })
  const time = { suite: 'stages/pipeline', metric: 'time', unit: 'ns', better: 'lower' } as const
  results.write({ ...time, case: 'warm/call', samples: [880, 890, 870] })
  results.write({ ...time, case: 'stage/identify', samples: [111] })
  results.write({ ...time, case: 'stage/<limit>', samples: [222] })
}

/** Opens a page at its own address; gives what it drew, what the console said, what was asked of the server and of others. */
async function open(page: string, name: string) {
  const asked: string[] = []
  const server: Server = createServer((request, response) => {
    asked.push(request.url!)
    response.writeHead(request.url === '/' ? 200 : 404, { 'content-type': 'text/html' }).end(page)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const log = join(directory, `${name}.json`)
  const flags = [
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-background-networking',
    '--disable-component-update',
    '--no-first-run',
    '--enable-logging=stderr',
    '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
    `--user-data-dir=${join(directory, `profile-${name}`)}`,
    '--virtual-time-budget=5000',
    `--log-net-log=${log}`,
    '--dump-dom',
  ]
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const { stdout, stderr } = await run(BROWSER!, [...flags, address], {
    maxBuffer: 64 * 1024 * 1024,
    timeout: 120_000,
  })
  await new Promise(resolve => server.close(resolve))
  // Addresses of requests that the page itself started; the browser's own housekeeping has no such initiator.
  const started = readFileSync(log, 'utf8')
    .split('\n')
    .filter(line => line.includes('"initiator":"http://127.0.0.1'))
    .flatMap(line => /"url":"([^"]+)"/.exec(line)?.[1] ?? [])
  return {
    drawn: stdout,
    console: stderr.split('\n').filter(line => line.includes('CONSOLE')),
    asked,
    started: started.filter(url => !url.startsWith('data:')),
  }
}

describe.skipIf(missing)(
  `the report in a browser${missing ? ' (skipped: apt-get install chromium)' : ''}`,
  () => {
    beforeAll(async () => {
      measure()
      const report = ['--import', 'tsx', 'bench/report/run.ts', '--markdown', markdown, '--html', html, out]
      await run(process.execPath, report)
    })
    afterAll(() => rmSync(directory, { recursive: true, force: true }))

    it('draws the figures it was given and asks for nothing', async () => {
      const { drawn, console, asked, started } = await open(readFileSync(html, 'utf8'), 'report')
      const titles = [...drawn.matchAll(/<title>([^<]*)<\/title>/g)].map(match => match[1])
      expect(titles).toContain('toolgate/tools-call: 46,500 calls/CPU-s (45,990–47,580 calls/CPU-s)')
      expect(titles).toContain('toolgate/tools-call, p99.9: 1.66 ms')
      expect(titles).toContain('identify: 111 ns')
      expect(titles).toContain('&lt;limit&gt;: 222 ns')
      expect(drawn).toContain('0.30 (0.29–0.31) × nginx/post')
      for (const chart of ['latency', 'bars', 'stacked']) expect(drawn).toContain(`<figure class="${chart}">`)
      expect(drawn).toMatch(/<tr class="missed">.*tools\/call to a loopback/s)
      expect(console).toEqual([])
      expect(asked).toEqual(['/'])
      expect(started).toEqual([])
    }, 240_000)

    it('would be caught at an error and at a request', async () => {
      const page = '<!doctype html><img src="/picture"><script>console.error("an error")</script>'
      const { console, asked, started } = await open(page, 'spoiled')
      expect(console.join()).toContain('an error')
      expect(asked).toContain('/picture')
      expect(started.some(url => url.endsWith('/picture'))).toBe(true)
    }, 240_000)

    it('has a twin in Markdown', () => {
      const text = readFileSync(markdown, 'utf8')
      expect(text).toContain('46,500 calls/CPU-s (45,990–47,580 calls/CPU-s)')
      expect(text).toContain('| 880 ns (870–890 ns) | – | ≤ 1 µs (stretch 500 ns) | met |')
      expect(text).toMatch(/- \*\*one bucket by slot.*`npm run bench:micro` measures it/)
    })
  },
)
