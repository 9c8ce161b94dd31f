/** The console in a real browser where states change: decisions about subscriptions, filters, slow and late responses, a logout that fails. */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page, Route } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { WEBHOOK_EVENT_KINDS } from '../../src/model/event.ts'
import { SUBSCRIPTION_STATUSES } from '../../src/model/subscription.ts'
import { copyTemplate } from '../contract/store/pglite-template.ts'
import { BROWSER } from '../fixtures/browser-page.ts'
import { type ConsoleBrowser, type ConsolePage, openConsoleBrowser } from '../fixtures/console-browser.ts'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { signedToken } from '../fixtures/tokens.ts'

const missing = BROWSER === undefined && process.env.REQUIRE_SERVICES !== '1'
const hint = missing ? ' (skipped: apt-get install chromium)' : ''
const LIMITS = {
  rate_limit_per_second: 0,
  rate_limit_per_minute: 100,
  daily_request_limit: 0,
  monthly_request_limit: 1000,
  burst_limit: 0,
}

describe.skipIf(missing)(`states in the console${hint}`, () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'toolgate-states-'))
  let deployment: Deployment
  let browser: ConsoleBrowser
  let backend: Server
  let origin: string
  let admin: string
  let shown: ConsolePage
  let page: Page

  async function send<T = { id: string }>(
    method: string,
    path: string,
    body?: object,
    token = admin,
  ): Promise<T> {
    const response = await fetch(`${origin}/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    expect([path, response.status < 300]).toEqual([path, true])
    return (response.status === 204 ? undefined : await response.json()) as T
  }
  const register = (name: string) =>
    send('POST', 'tenants/acme/apis', {
      name,
      path: `/${name}`,
      version: '1.0.0',
      upstream_url: `http://127.0.0.1:${(backend.address() as AddressInfo).port}`,
      auth_required: true,
    })

  beforeAll(async () => {
    await copyTemplate(join(dataDir, 'postgres'))
    backend = createServer((_, response) => response.end('{}'))
    await new Promise<void>(resolve => backend.listen(0, '127.0.0.1', resolve))
    ;[deployment, browser] = await Promise.all([deploy({ DATA_DIR: dataDir }), openConsoleBrowser()])
    origin = deployment.running.addresses.api_url!
    admin = await deployment.token('demo-admin')
    await send('POST', 'plans', { slug: 'open', name: 'Open', ...LIMITS })
    await send('POST', 'plans', { slug: 'reviewed', name: 'Reviewed', ...LIMITS, requires_approval: true })
    const agent = await deployment.token('demo-agent')
    const call = { name: 'shop_getProduct', arguments: { productId: 'P-1001' } }
    await deployment.post('/mcp/tools/call', call, agent)
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
    rmSync(dataDir, { recursive: true, force: true })
  })

  const options = (label: string): Promise<string[]> =>
    page
      .getByLabel(label, { exact: true })
      .locator('option')
      .evaluateAll(all => all.map(each => (each as unknown as { value: string }).value))

  it('approves and rejects the plan that a subscription in use requests', async () => {
    const one = await register('replanned')
    const application = 'replanner'
    const client = { id: application, tenant: 'acme', scope: 'platform:read platform:write' }
    const own = await signedToken(dataDir, deployment.running.addresses.auth_url, client)
    const made = await send('POST', 'tenants/acme/subscriptions', {
      api_id: one.id,
      application,
      plan: 'open',
    })
    const at = `tenants/acme/subscriptions/${made.id}`
    await send('POST', `${at}/approve`)
    const state = async () => {
      const { status, plan, requested_plan } = await send<Record<string, unknown>>('GET', at)
      return [status, plan, requested_plan]
    }
    const requested = async (): Promise<void> => {
      await send('PATCH', at, { plan: 'reviewed' }, own)
      expect(await state()).toEqual(['approved', 'open', 'reviewed'])
      await shown.open(`catalogue/subscriptions?api=${one.id}`)
      await page.getByText('reviewed is requested').waitFor()
    }
    await requested()
    await page.getByRole('button', { name: 'Reject plan' }).click()
    const dialog = page.getByRole('dialog', { name: 'Reject the plan reviewed of replanner' })
    await dialog.getByLabel('Reason').fill('too many calls')
    await dialog.getByRole('button', { name: 'Reject' }).click()
    await page.getByText('reviewed is requested').waitFor({ state: 'detached' })
    expect(await state()).toEqual(['approved', 'open', null])
    await requested()
    await page.getByRole('button', { name: 'Approve plan' }).click()
    await page.getByRole('cell', { name: 'reviewed', exact: true }).waitFor()
    expect(await state()).toEqual(['approved', 'reviewed', null])
    expect(
      await page
        .getByRole('row', { name: /replanner/ })
        .getByRole('button')
        .allTextContents(),
    ).toEqual(['Keys', 'Revoke'])
  })

  it('offers a filter for every state of subscriptions, and what the state allows', async () => {
    const one = await register('decided')
    const made: Record<string, { id: string }> = {}
    for (const status of SUBSCRIPTION_STATUSES) {
      const plan = status === 'pending_approval' || status === 'rejected' ? 'reviewed' : 'open'
      const body = { api_id: one.id, application: `is-${status}`, plan }
      made[status] = await send('POST', 'tenants/acme/subscriptions', body)
      if (plan === 'open' && ((made[status] as { status?: string }).status ?? '') === 'pending_approval')
        await send('POST', `tenants/acme/subscriptions/${made[status].id}/approve`)
    }
    const at = (status: string): string => `tenants/acme/subscriptions/${made[status]!.id}`
    await send('POST', `${at('suspended')}/suspend`, {})
    await send('POST', `${at('rejected')}/reject`, { reason: 'no' })
    await send('DELETE', at('revoked'))
    await shown.open(`catalogue/subscriptions?api=${one.id}`)
    await page.getByRole('row', { name: /is-approved/ }).waitFor()
    expect((await options('Status')).filter(value => value !== '').sort()).toEqual(
      [...SUBSCRIPTION_STATUSES].sort(),
    )
    const buttonsOf = async (status: string): Promise<readonly (string | null)[]> =>
      page
        .getByRole('row', { name: new RegExp(`is-${status}`) })
        .getByRole('button')
        .allTextContents()
    expect(await buttonsOf('pending_approval')).toEqual(['Approve', 'Reject'])
    expect(await buttonsOf('approved')).toEqual(['Keys', 'Revoke'])
    expect(await buttonsOf('suspended')).toEqual(['Keys', 'Revoke'])
    for (const ended of ['rejected', 'revoked']) expect([ended, await buttonsOf(ended)]).toEqual([ended, []])

    await page
      .getByRole('row', { name: /is-pending_approval/ })
      .getByRole('button', { name: 'Reject' })
      .click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel(/^Reason/).fill('The contract has ended.')
    await dialog.getByRole('button', { name: 'Reject' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await send<object>('GET', at('pending_approval'))).toMatchObject({
      status: 'rejected',
      reason: 'The contract has ended.',
    })
  })

  it('shows no rejected subscription where a plan can be changed', async () => {
    const api = await register('limited')
    const body = { api_id: api.id, application: 'demo-agent', plan: 'reviewed' }
    const { id } = await send('POST', 'tenants/acme/subscriptions', body)
    await send('POST', `tenants/acme/subscriptions/${id}/reject`, { reason: 'no' })
    await shown.open('limits')
    const row = page.getByRole('row').filter({ hasText: 'demo-agent' })
    await row.getByRole('button', { name: 'Details' }).click()
    await page.getByRole('dialog').getByText('No subscription', { exact: true }).waitFor()
  })

  it('offers every kind of event for a webhook', async () => {
    await shown.open('catalogue/webhooks?tenant=acme')
    await page.getByRole('button', { name: 'Add webhook' }).click()
    const names = await page
      .getByRole('dialog')
      .getByRole('checkbox')
      .evaluateAll(all => all.map(each => each.id))
    expect([...names].sort()).toEqual([...WEBHOOK_EVENT_KINDS].sort())
  })

  it('filters the audit by products, and offers other types of resources', async () => {
    await send('POST', 'tenants/acme/products', {
      slug: 'audited',
      name: 'Audited',
      plan: 'open',
      api_ids: [(await register('audited')).id],
    })
    await shown.open('audit')
    await page.getByLabel('Resource', { exact: true }).selectOption('product')
    await page.getByText('products.create').first().waitFor()
    expect(await options('Resource')).toEqual(
      expect.arrayContaining([
        'product',
        'gateway',
        'deployment',
        'configuration',
        'policy',
        'quota',
        'cache',
      ]),
    )
  })

  it('shows what loads more slowly than it is polled', async () => {
    await page.route('**/api/gateway/admin/overview*', async (route: Route) => {
      await sleep(3_000)
      await route.continue()
    })
    await shown.open('now')
    await page.getByText('Slowest tools').first().waitFor({ timeout: 15_000 })
  })

  it('keeps the permissions of the tenant that is shown when those of the one before come later', async () => {
    const { id } = await send('POST', 'tenants', { name: 'globex', tier: 'enterprise' })
    let release = (): void => {}
    const held = new Promise<void>(resolve => {
      release = resolve
    })
    let isAsked = false
    await page.route('**/api/permissions', async (route: Route) => {
      if ((await route.request().headerValue('x-tenant-id')) !== id) return route.continue()
      isAsked = true
      await held
      return route.fulfill({ json: { tenant: id, crosses_tenants: false, actions: {} } })
    })
    const create = page.getByRole('button', { name: 'Request subscription' })
    await shown.open(`catalogue/subscriptions?tenant=${id}`)
    await expect.poll(() => isAsked).toBe(true)
    await page.evaluate(
      `history.pushState(null, '', location.pathname + '?tenant=acme'); dispatchEvent(new PopStateEvent('popstate'))`,
    )
    await create.waitFor()
    const late = page.waitForResponse('**/api/permissions')
    release()
    await (await late).finished()
    await sleep(300)
    expect(await create.count()).toBe(1)
  })

  it('says that an input was evaluated, and not that a draft compiled, without a compiler', async () => {
    await page.route('**/api/control/v1/policy', async (route: Route) => {
      const response = await route.fetch()
      const policy = (await response.json()) as { compiler: object }
      policy.compiler = { ...policy.compiler, available: false, hint: 'Install it.' }
      await route.fulfill({ response, json: policy })
    })
    await shown.open('policy/editor')
    await page.getByRole('button', { name: 'Evaluate with the policy in force' }).click()
    await page.getByText('Decision for the input').waitFor()
    expect(await page.getByText('as revision').count()).toBe(0)
    expect(await page.getByText('tests passed').count()).toBe(0)
  })

  it('says that the user is still signed in when the logout fails', async () => {
    await page.route('**/console/logout', (route: Route) => route.abort())
    await shown.open('fleet')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('alert').getByText('You are still signed in').waitFor()
    await page.unroute('**/console/logout')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Continue as demo-admin' }).waitFor()
  })
})
