/** One console that is open on a page: it signs in, loads the page and its files, then sends what the page sends, over HTTP or in Chromium. */
import { chromium } from 'playwright-core'
import { BROWSER } from '../../../test/fixtures/browser-page.ts'

export interface OpenConsole {
  readonly requests: () => number
  readonly events: () => number
  close(): Promise<void>
}

interface Polled {
  readonly path: string
  readonly everyMs: number
}

/** As in console/src/pages. */
const PAGES = {
  now: [
    { path: 'gateway/admin/overview?window_s=60', everyMs: 2_000 },
    { path: 'gateway/admin/workers', everyMs: 5_000 },
  ],
  limits: [{ path: 'gateway/admin/quotas', everyMs: 5_000 }],
  fleet: [
    { path: 'control/v1/gateways?limit=100', everyMs: 5_000 },
    { path: 'control/v1/deployments', everyMs: 10_000 },
    { path: 'gateway/admin/sessions/stats', everyMs: 5_000 },
  ],
  calls: [],
} as const satisfies Readonly<Record<string, readonly Polled[]>>
export type ConsolePage = keyof typeof PAGES

const CLIENT = 'demo-admin'

/** @throws Error with the request that failed */
export async function openConsole(apiUrl: string, page: ConsolePage): Promise<OpenConsole> {
  const root = `${apiUrl}/console/`
  const closing = new AbortController()
  const { signal } = closing
  const [login] = await Promise.all([
    fetch(`${root}login/demo`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client: CLIENT }),
      signal,
    }),
    loadFiles(root, page, signal),
  ])
  if (!login.ok) throw new Error(`the console refuses ${CLIENT}: ${login.status}`)
  const cookie = login.headers
    .getSetCookie()
    .map(each => each.split(';', 1)[0])
    .join('; ')
  let [requests, events] = [0, 0]
  const ask = async (path: string): Promise<void> => {
    const response = await fetch(`${root}api/${path}`, { headers: { cookie }, signal })
    await response.arrayBuffer()
    if (!response.ok) throw new Error(`${path}: ${response.status}`)
    requests++
  }
  const ended: Promise<void>[] = []
  const failed = (error: Error): void => {
    if (!signal.aborted) process.stderr.write(`a console: ${error.message}\n`)
  }
  async function poll({ path, everyMs }: Polled): Promise<void> {
    while (!signal.aborted) {
      await ask(path).catch(failed)
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, everyMs)
        signal.addEventListener('abort', () => {
          clearTimeout(timer)
          resolve()
        })
      })
    }
  }
  async function follow(): Promise<void> {
    await ask('gateway/admin/calls?limit=200')
    const response = await fetch(`${root}api/gateway/admin/calls/stream`, {
      headers: { cookie, accept: 'text/event-stream' },
      signal,
    })
    if (!response.ok || response.body === null) throw new Error(`the stream of calls: ${response.status}`)
    for await (const _ of response.body) events++
  }
  await ask('permissions')
  for (const polled of PAGES[page]) ended.push(poll(polled))
  if (page === 'calls') ended.push(follow().catch(failed))
  return {
    requests: () => requests,
    events: () => events,
    async close() {
      closing.abort()
      await Promise.all(ended)
    },
  }
}

/** The page, its session, and the scripts and styles that it names. */
async function loadFiles(root: string, page: string, signal: AbortSignal): Promise<void> {
  const html = await (await fetch(`${root}${page}`, { signal })).text()
  const files = [...html.matchAll(/(?:src|href)="(?:\.\/)?(assets\/[^"]+)"/g)].map(([, path]) => path!)
  if (files.length === 0) throw new Error('the page names no files: run `npm run build:console`')
  for (const path of [...files, 'session']) await (await fetch(`${root}${path}`, { signal })).arrayBuffer()
}

/** The page Calls in Chromium; undefined where it is not installed. */
export async function openBrowser(apiUrl: string): Promise<OpenConsole | undefined> {
  if (BROWSER === undefined) return undefined
  const browser = await chromium.launch({
    executablePath: BROWSER,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking'],
  })
  const page = await browser.newPage()
  let requests = 0
  page.on('requestfinished', () => requests++)
  await page.goto(`${apiUrl}/console/`)
  await page.getByRole('button', { name: `Continue as ${CLIENT}` }).click()
  await page.locator('nav[aria-label=Pages]').waitFor({ state: 'attached' })
  await page.goto(`${apiUrl}/console/calls`)
  await page.getByRole('heading', { name: 'Calls' }).waitFor()
  return { requests: () => requests, events: () => 0, close: () => browser.close() }
}
