/** The console in a real browser where requests fail or come late: actions that are refused, calls between list and stream, a file that a draft has removed. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Locator, Page, Route } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { BROWSER } from '../fixtures/browser-page.ts'
import { type ConsoleBrowser, type ConsolePage, openConsoleBrowser } from '../fixtures/console-browser.ts'
import { type Deployment, deploy } from '../fixtures/deployment.ts'

const missing = BROWSER === undefined && process.env.REQUIRE_SERVICES !== '1'
const hint = missing ? ' (skipped: apt-get install chromium)' : ''
const LIMITS = {
  rate_limit_per_second: 0,
  rate_limit_per_minute: 100,
  daily_request_limit: 0,
  monthly_request_limit: 1000,
  burst_limit: 0,
}
const REFUSED = 'The control plane cannot save this at the moment.'

describe.skipIf(missing)(`failures in the console${hint}`, { timeout: 120_000 }, () => {
  let deployment: Deployment
  let browser: ConsoleBrowser
  let backend: Server
  let origin: string
  let admin: string
  let agent: string
  let shown: ConsolePage
  let page: Page

  async function send(path: string, body: object): Promise<{ id: string }> {
    const response = await fetch(`${origin}/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect([path, response.status]).toEqual([path, 201])
    return (await response.json()) as { id: string }
  }

  beforeAll(async () => {
    backend = createServer((_, response) => response.writeHead(500).end())
    await new Promise<void>(resolve => backend.listen(0, '127.0.0.1', resolve))
    ;[deployment, browser] = await Promise.all([deploy(), openConsoleBrowser()])
    origin = deployment.running.addresses.api_url!
    admin = await deployment.token('demo-admin')
    agent = await deployment.token('demo-agent')
    shown = await browser.newPage(origin)
    page = shown.page
    await shown.signIn('demo-admin')
  }, 180_000)
  afterEach(async () => {
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    expect(shown.faults.splice(0)).toEqual([])
  })
  afterAll(async () => {
    await browser?.close()
    await deployment?.stop()
    backend?.close()
  })

  const rowOf = (text: string) => page.getByRole('row').filter({ hasText: text })

  /** Clicks while every change is refused: the reason is shown; then again: it is no longer shown. */
  async function fails(row: string, button: string, after: Locator): Promise<void> {
    let refused = 0
    const refuse = async (route: Route): Promise<void> => {
      if (route.request().method() === 'GET') return route.fallback()
      refused++
      return route.fulfill({ status: 503, json: { error: { code: 'unavailable', message: REFUSED } } })
    }
    await page.route('**/api/control/**', refuse)
    await rowOf(row).getByRole('button', { name: button, exact: true }).click()
    await page.getByRole('alert').getByText(REFUSED).waitFor()
    expect(refused).toBe(1)
    await page.unroute('**/api/control/**', refuse)
    await rowOf(row).getByRole('button', { name: button, exact: true }).click()
    await page.getByRole('alert').getByText(REFUSED).waitFor({ state: 'detached' })
    await after.waitFor()
  }

  it('are shown when an action of a subscription, a webhook, a delivery or a deployment is refused', async () => {
    await send('plans', { slug: 'reviewed', name: 'Reviewed', ...LIMITS, requires_approval: true })
    const api = await send('tenants/acme/apis', {
      name: 'refused',
      path: '/refused',
      version: '1.0.0',
      upstream_url: `http://127.0.0.1:${(backend.address() as AddressInfo).port}`,
      auth_required: true,
    })
    await send('tenants/acme/subscriptions', { api_id: api.id, application: 'waiter', plan: 'reviewed' })
    await shown.open(`catalogue/subscriptions?api=${api.id}`)
    await fails('waiter', 'Approve', rowOf('waiter').getByText('approved', { exact: true }))

    const url = `http://127.0.0.1:${(backend.address() as AddressInfo).port}/hook`
    const hook = await send('tenants/acme/webhooks', { url, events: ['subscription.created'], enabled: true })
    await shown.open('catalogue/webhooks?tenant=acme')
    await fails(url, 'Send test', page.getByText('A test event was queued'))
    await fails(url, 'Turn off', page.getByRole('button', { name: 'Turn on' }))
    await fails(url, 'Turn on', page.getByRole('button', { name: 'Turn off' }))

    await page.route('**/deliveries*', async (route: Route) => {
      const response = await route.fetch()
      const list = (await response.json()) as { items: { status: string }[] }
      // it is retried for hours before it has failed
      for (const each of list.items) each.status = 'failed'
      await route.fulfill({ response, json: list })
    })
    await shown.open(`catalogue/webhooks/${hook.id}?tenant=acme`)
    await fails('subscription.created', 'Retry', rowOf('subscription.created'))

    await shown.open('fleet')
    await fails(api.id, 'Synchronize', rowOf(api.id))
  })

  const call = async (id: string): Promise<void> => {
    const response = await fetch(`${deployment.url}/mcp/tools/call`, {
      method: 'POST',
      headers: { authorization: `Bearer ${agent}`, 'content-type': 'application/json', 'x-request-id': id },
      body: JSON.stringify({ name: id, arguments: {} }),
    })
    await response.arrayBuffer()
  }

  /** Id of the newest call: the position of a stream that begins now. */
  async function position(): Promise<string> {
    const headers = { authorization: `Bearer ${admin}` }
    const response = await fetch(`${deployment.url}/admin/calls/stream`, { headers })
    let text = ''
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk
      const id = /^id: (\S+)$/m.exec(text)?.[1]
      if (id !== undefined) return id
    }
    throw new Error('the stream has ended without an event')
  }

  it('do not lose a call that is recorded while the list of calls is loaded', async () => {
    await page.route(/\/admin\/calls\?/, async (route: Route) => {
      const response = await route.fetch()
      await call('while_the_list_is_loaded')
      await route.fulfill({ response })
    })
    await shown.open('calls')
    await page.getByRole('cell', { name: 'while_the_list_is_loaded' }).waitFor()
  })

  it('do not lose calls that are recorded until the page has opened a new stream', async () => {
    const id = await position()
    let streams = 0
    await page.route(/\/admin\/calls\/stream/, async (route: Route) => {
      streams++
      // the browser closes a stream for good after a response with an error
      if (streams === 2) return route.fulfill({ status: 503 })
      if (streams > 2) {
        await call('without_a_stream')
        return route.continue()
      }
      const body = `retry: 100\n\nid: ${id}\nevent: calls\ndata: {"calls":[],"missed":0}\n\n`
      return route.fulfill({ contentType: 'text/event-stream', body })
    })
    await shown.open('calls')
    await page.getByRole('cell', { name: 'without_a_stream' }).waitFor()
    await page.getByText('live', { exact: true }).waitFor()
    expect(streams).toBe(3)
  })

  it('of the list of calls are shown with their reason', async () => {
    const denied = { error: 'forbidden', message: 'Calls are for administrators.' }
    await page.route(/\/admin\/calls/, route => route.fulfill({ status: 403, json: denied }))
    await shown.open('calls')
    await page.getByRole('alert').getByText('Calls are for administrators.').waitFor()
  })

  it('of a removed file: a kept draft opens with another one, and the removed one stays removed', async () => {
    await shown.open('policy/editor')
    const file = page.getByLabel('File', { exact: true })
    await page.getByRole('textbox', { name: /^Text of / }).waitFor()
    const removed = await file.inputValue()
    await page.getByRole('button', { name: 'Remove' }).click()
    await page.getByText('1 file changed.').waitFor()
    await page.reload()
    await page.getByRole('textbox', { name: /^Text of .+\.rego$/ }).waitFor()
    const kept = await file.inputValue()
    expect(kept).not.toBe(removed)
    await page.getByRole('textbox', { name: `Text of ${kept}` }).focus()
    await page.keyboard.type('# ')
    await page.getByText('2 files changed.').waitFor()
    const paths = await file.locator('option').evaluateAll(all => all.map(each => each.textContent))
    expect(paths).not.toContain(`${removed} (changed)`)
    expect(paths).not.toContain(removed)
    await page.getByRole('button', { name: 'Begin again' }).click()
    await page.getByText('No file is changed.').waitFor()
  })
})
