/** `toolgate bench profile` as it is built: a short run, what it prints and writes, and its page in a real browser. */
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { CpuProfile } from '../../src/app/cli/bench/call-tree.ts'
import type { ProfileReport } from '../../src/app/cli/bench/profile-report.ts'
import { copyTemplate } from '../contract/store/pglite-template.ts'

const BUILT = join(import.meta.dirname, '../../dist/app/cli/index.js')
const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const browser = BROWSERS.find(path => existsSync(path))
const missing = browser === undefined && process.env.REQUIRE_SERVICES !== '1'

let directory: string
let stdout: string
let stderr: string
let report: ProfileReport

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'toolgate-bench-'))
  await copyTemplate(join(directory, 'data/postgres'))
  const args = ['--seconds', '1', '--warm-up', '0.3', '--data', join(directory, 'data')]
  const ran = await run(...args, '--out', join(directory, 'out'), '--set', 'DECISION_LOG_PERCENT=1', '--json')
  expect(ran.code, ran.stderr).toBe(0)
  ;({ stdout, stderr } = ran)
  report = JSON.parse(stdout) as ProfileReport
}, 180_000)
afterAll(() => rmSync(directory, { recursive: true, force: true }))

function run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise(resolve => {
    execFile(process.execPath, [BUILT, 'bench', 'profile', ...args], (error, out, err) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout: out, stderr: err }),
    )
  })
}

it('tells what was measured, on stdout and nothing else there', () => {
  expect(stdout.trim().split('\n')).toHaveLength(1)
  expect(stderr).toContain('profiling "call"')
  expect(report.requests).toBeGreaterThan(0)
  expect(report.cpuUsPerRequest).toBeGreaterThan(0)
  expect(report.functions).toHaveLength(15)
  const shares = report.functions.map(({ selfShare }) => selfShare)
  expect(shares).toEqual([...shares].sort((a, b) => b - a))
  expect(shares.reduce((sum, share) => sum + share, 0)).toBeLessThanOrEqual(1)
  for (const each of report.functions)
    expect(each.cpuUsPerRequest).toBeCloseTo(each.selfShare * report.cpuUsPerRequest, 6)
})

it('writes the profile of the gateway, and one page without any other address', () => {
  expect(readdirSync(join(directory, 'out')).sort()).toEqual(['profile.cpuprofile', 'profile.html'])
  const profile = JSON.parse(readFileSync(report.profileFile, 'utf8')) as CpuProfile
  const files = new Set(profile.nodes.map(({ callFrame }) => callFrame.url.split('/dist/')[1]))
  expect([...files]).toEqual(expect.arrayContaining(['pipeline/compose.js', 'gateway/mcp/dispatch.js']))
  const html = readFileSync(report.htmlFile, 'utf8')
  expect(html).not.toMatch(/(?:src|href)="(?!data:)|url\(|https?:|@import/)
  // nobody is to find a credential in what is passed on to others
  expect(html).not.toMatch(/eyJ[\w-]{20}|tgk_/)
})

it('says what is wrong with its options', async () => {
  for (const args of [
    ['--seconds', '0'],
    ['--work', 'nothing'],
    ['--connections', '1.5'],
    ['--set', 'x'],
    ['--no'],
  ]) {
    const { code, stdout: out, stderr: err } = await run(...args)
    expect([code, out]).toEqual([64, ''])
    expect(err).toContain(args[0])
  }
  const help = await run('--help')
  expect([help.code, help.stderr]).toEqual([0, ''])
  expect(help.stdout).toContain('--work KIND')
}, 60_000)

/** Opens the page with a script of ours at its end; gives the page afterwards and what the console said. */
async function open(script: string): Promise<{ dom: string; said: string[] }> {
  const page = join(directory, 'page.html')
  const html = readFileSync(report.htmlFile, 'utf8')
  writeFileSync(page, html.replace('</body>', `<script>{${script}}</script></body>`))
  const flags = [
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-background-networking',
    '--no-first-run',
    '--host-resolver-rules=MAP * ~NOTFOUND',
    '--window-size=1200,1000',
    '--enable-logging=stderr',
    `--user-data-dir=${join(directory, 'browser')}`,
    '--virtual-time-budget=5000',
  ]
  const { stdout: dom, stderr: log } = await promisify(execFile)(
    browser!,
    [...flags, '--dump-dom', pathToFileURL(page).href],
    { maxBuffer: 64 * 1024 * 1024, timeout: 120_000 },
  )
  return {
    dom,
    said: log.split('\n').filter(line => line.includes('CONSOLE')),
  }
}

it.skipIf(missing)(
  `the page draws, zooms and searches without a word in the console${missing ? ' (skipped: apt-get install chromium)' : ''}`,
  async () => {
    const { dom, said } = await open(`
      const canvas = document.getElementById('graph')
      const heights = [canvas.clientHeight]
      const at = canvas.getBoundingClientRect()
      canvas.dispatchEvent(new MouseEvent('mousemove', { clientX: at.left + 40, clientY: at.top + 30 }))
      const tip = document.getElementById('tip').textContent
      canvas.dispatchEvent(new MouseEvent('click', { clientX: at.left + at.width - 3, clientY: at.top + 30 }))
      heights.push(canvas.clientHeight)
      const search = document.getElementById('search')
      search.value = 'pipeline/compose'
      search.dispatchEvent(new Event('input'))
      const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data
      const rows = [...document.getElementById('functions').rows]
      document.title = JSON.stringify({
        tip, heights, found: document.getElementById('found').textContent,
        painted: new Set(new Uint32Array(pixels.buffer)).size,
        shown: rows.filter(row => !row.hidden).map(row => row.cells[4].textContent), rows: rows.length,
      })`)
    expect(said).toEqual([])
    expect(dom).toMatch(/data-drawn="\d{2,}"/)
    const seen = JSON.parse(/<title>(.*?)<\/title>/s.exec(dom)![1]!.replaceAll('&gt;', '>'))
    expect(seen.tip).toMatch(/% with what it calls/)
    expect(seen.heights[0]).toBeGreaterThan(100)
    expect(seen.found).toMatch(/^\d+ functions?, [\d.]+ %$/)
    expect(seen.painted).toBeGreaterThan(3)
    expect(seen.shown.length).toBeLessThan(seen.rows)
    for (const place of seen.shown) expect(place).toContain('pipeline/compose.js')
  },
  180_000,
)

it.skipIf(missing)(
  'a word in the console would be noticed',
  async () => {
    expect((await open(`console.error('so it is')`)).said.join()).toContain('so it is')
  },
  180_000,
)
