/** The portal in a real browser, on a whole deployment: visitor, subscriber and owner, with the keyboard, and what each may not see. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { BROWSER } from '../fixtures/browser-page.ts'
import { type ConsoleBrowser, type ConsolePage, openConsoleBrowser } from '../fixtures/console-browser.ts'
import { type Deployment, deploy } from '../fixtures/deployment.ts'

/** A folder for screenshots of every page, in both themes and on a phone. */
const SHOTS = process.env.PORTAL_SHOTS

const DOCUMENT = {
  openapi: '3.1.0',
  info: { title: 'Parcels', version: '2.1.0' },
  paths: {
    '/parcels/{parcelId}': {
      get: {
        operationId: 'getParcel',
        summary: 'Where a parcel is',
        parameters: [
          { name: 'parcelId', in: 'path', required: true, schema: { type: 'string', example: 'P-7' } },
          { name: 'locale', in: 'query', schema: { type: 'string', enum: ['en', 'de'] } },
          { name: 'X-Format', in: 'header', required: true, schema: { type: 'string', example: 'long' } },
        ],
        responses: {
          200: {
            description: 'The parcel',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Parcel' } } },
          },
        },
      },
    },
    '/parcels': {
      post: {
        operationId: 'sendParcel',
        summary: 'Send a parcel',
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Parcel' } } },
        },
        responses: { 201: { description: 'Sent' } },
      },
    },
  },
  components: {
    schemas: {
      Parcel: {
        type: 'object',
        required: ['weight'],
        properties: {
          weight: { type: 'integer', minimum: 1, description: 'In grams.' },
          address: { type: 'object', properties: { city: { type: 'string' } } },
          // refers to itself
          returnOf: { $ref: '#/components/schemas/Parcel' },
        },
      },
    },
  },
}
const THEME = {
  title: 'Parcels & more',
  lead: 'Everything about parcels.',
  logo: 'logo.svg',
  colors: { light: { accent: '#8a1c5a', button: '#8a1c5a' }, dark: { accent: '#f0a3cf' } },
}

const missing = BROWSER === undefined && process.env.REQUIRE_SERVICES !== '1'

describe.skipIf(missing)(`the portal${missing ? ' (skipped: apt-get install chromium)' : ''}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-portal-'))
  const received: { readonly url: string; readonly headers: Readonly<Record<string, unknown>> }[] = []
  let deployment: Deployment
  let browser: ConsoleBrowser
  let backend: Server
  let origin: string
  let adminToken: string
  let parcels: string
  let opened: ConsolePage[] = []

  const open = async (options?: object): Promise<ConsolePage> => {
    const page = await browser.newPage(origin, options, 'portal')
    opened.push(page)
    return page
  }
  const manage = async (path: string, body: object, method = 'POST') => {
    const response = await fetch(`${origin}/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect([path, response.status < 300]).toEqual([path, true])
    return (await response.json()) as { id: string }
  }
  const register = (name: string, fields: object = {}, tenant = 'acme') =>
    manage(`tenants/${tenant}/apis`, {
      name,
      path: `/${name.toLowerCase()}`,
      version: '1.0.0',
      upstream_url: `http://127.0.0.1:${(backend.address() as AddressInfo).port}`,
      auth_required: true,
      portal_visibility: true,
      ...fields,
    })
  const approve = ({ page }: ConsolePage, name: RegExp): Promise<void> =>
    page.getByRole('row', { name }).getByRole('button', { name: 'Approve' }).click()
  /** Through the login page of the provider, back to the page that was left. */
  const signInAs = async ({ page }: ConsolePage, account: string): Promise<void> => {
    await page
      .getByRole('link', { name: /^Sign in/ })
      .first()
      .click()
    await page.getByRole('link', { name: 'Sign in', exact: true }).last().click()
    await page.getByRole('button', { name: account }).click()
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
  }

  beforeAll(async () => {
    backend = createServer((request, response) => {
      received.push({ url: request.url!, headers: request.headers })
      response.setHeader('content-type', 'application/json').end('{"city":"Bern"}')
    })
    await new Promise<void>(resolve => backend.listen(0, '127.0.0.1', resolve))
    writeFileSync(join(folder, 'theme.json'), JSON.stringify(THEME))
    writeFileSync(
      join(folder, 'logo.svg'),
      '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><rect width="8" height="8" fill="#8a1c5a"/></svg>',
    )
    ;[deployment, browser] = await Promise.all([
      deploy({ PORTAL_THEME: join(folder, 'theme.json') }),
      openConsoleBrowser(),
    ])
    origin = deployment.running.addresses.api_url!
    adminToken = await deployment.token('demo-admin')
    const limits = { rate_limit_per_second: 0, rate_limit_per_minute: 100, daily_request_limit: 10 }
    const more = { monthly_request_limit: 1000, burst_limit: 0, requires_approval: true }
    await manage('plans', { slug: 'reviewed', name: 'Reviewed', ...limits, ...more })
    await manage('tenants', { name: 'globex', tier: 'enterprise' })
    const description = 'Where parcels are.\nSends parcels, too.'
    parcels = (await register('Parcels', { visibility: 'public', description, spec: DOCUMENT })).id
    await manage(`tenants/acme/apis/${parcels}`, { version: '1.1.0' }, 'PATCH')
    await register('Internal')
    await register('Foreign', { visibility: 'public' }, 'globex')
    await register('Secret', {}, 'globex')
    // the catalog shows tools once they are published
    const published = async () => {
      const response = await fetch(`${origin}/v1/public/apis/${parcels}`)
      return (((await response.json()) as { tools?: readonly object[] }).tools?.length ?? 0) > 0
    }
    await vi.waitUntil(published, { timeout: 30_000, interval: 200 })
  })
  afterEach(async () => {
    const faults = opened.flatMap(page => page.faults)
    for (const page of opened) await page.close()
    opened = []
    expect(faults).toEqual([])
  })
  afterAll(async () => {
    await browser?.close()
    await deployment?.stop()
    backend?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('shows a visitor the public APIs with reference, tools and changes, and nothing else', async () => {
    const { page, open: show } = await open()
    await show('')
    await page.getByRole('heading', { name: 'Parcels & more' }).waitFor()
    await page.getByRole('link', { name: 'Foreign' }).waitFor()
    for (const name of ['Internal', 'Secret']) expect(await page.getByRole('link', { name }).count()).toBe(0)
    await page.getByLabel('Search').fill('where parcels')
    await page.getByRole('link', { name: 'Foreign' }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Parcels', exact: true }).click()
    await page.getByText('Version 1.1.0 by acme').waitFor()
    await page.getByRole('link', { name: 'Reference' }).click()
    await page.getByText('Where a parcel is').click()
    await page.getByRole('cell', { name: 'parcelId' }).waitFor()
    await page.getByText('one of en, de').waitFor()
    await page.getByRole('link', { name: 'Tools for agents' }).click()
    await page.getByText('parcels_getParcel').waitFor()
    await page.getByLabel('Client').selectOption('vscode')
    await page
      .getByText(`${deployment.url.replace('127.0.0.1', 'localhost')}/mcp`)
      .first()
      .waitFor()
    await page.getByRole('link', { name: 'Changes' }).click()
    await page.getByText('Version 1.0.0 became 1.1.0').waitFor()
    await page.getByText('Published as version 1.0.0').waitFor()
    await show('apis/nothing')
    await page.getByText('The API does not exist, or you may not see it').waitFor()
  })

  it('has its look from the theme, with its policy for content', async () => {
    const { page, open: show } = await open({ colorScheme: 'light' })
    await show('')
    await page.getByRole('link', { name: 'Parcels', exact: true }).waitFor()
    await expect.poll(() => page.title()).toBe('Parcels & more')
    const style = (of: string, name: string) =>
      page.evaluate(`getComputedStyle(document.querySelector('${of}')).getPropertyValue('${name}')`)
    expect(await style('.button.primary', 'background-color')).toBe('rgb(138, 28, 90)')
    await expect.poll(() => page.evaluate(`document.querySelector('.brand img').naturalWidth > 0`)).toBe(true)
    const response = await fetch(`${origin}/portal/`)
    expect(response.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self';/)
    expect(await response.text()).toContain('<title>Parcels &amp; more</title>')
  })

  it('leads a subscriber from the request over the approval of the owner to a key, a trial and its usage', async () => {
    const subscriber = await open()
    const { page } = subscriber
    await subscriber.open(`apis/${parcels}`)
    await signInAs(subscriber, 'Dana Developer')
    // back on the page that was left
    await page.getByRole('heading', { name: 'Parcels' }).waitFor()
    await page.getByRole('button', { name: 'Subscribe' }).click()
    await page.getByLabel('Reviewed').check()
    await page.getByRole('button', { name: 'Request' }).click()
    await page.getByText('The owner has to approve the subscription.').waitFor()
    expect(await page.getByRole('link', { name: 'Requests' }).count()).toBe(0)

    const owner = await open()
    await owner.signIn('demo-admin')
    await owner.page.getByRole('link', { name: 'Requests' }).click()
    await owner.page.getByRole('cell', { name: 'Parcels' }).waitFor()
    await owner.page.getByRole('button', { name: 'Approve' }).click()
    await owner.page.getByText('No request is pending').waitFor()
    expect(await owner.page.locator('.secret code').textContent()).toMatch(/^tgk_/)

    await page.getByRole('link', { name: 'Subscriptions' }).click()
    await page.getByText('The subscription is in force.').waitFor()
    await page.getByRole('meter', { name: 'Today' }).waitFor()
    await page.getByRole('button', { name: 'Keys' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name of the new key').fill('laptop')
    await dialog.getByRole('button', { name: 'Issue a key' }).click()
    const key = (await dialog.locator('.secret code').textContent())!
    await dialog
      .getByRole('row', { name: /laptop/ })
      .getByRole('button', { name: 'Rotate' })
      .click()
    await dialog.getByLabel(/Hours for which/).fill('2')
    await dialog.getByRole('button', { name: 'Create the new key' }).click()
    await expect.poll(() => dialog.locator('.secret code').textContent()).not.toBe(key)
    await dialog.getByText('previous key expires').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).click()

    await page.getByRole('link', { name: 'Parcels', exact: true }).first().click()
    await page.getByRole('link', { name: 'Try it' }).click()
    await page.getByLabel('Operation').selectOption('get /parcels/{parcelId}')
    await expect.poll(() => page.getByLabel('parcelId (path, required)').inputValue()).toBe('P-7')
    await page.getByLabel('locale (query)').fill('de')
    // the rotated key: both are valid
    await page.getByLabel('Your key').fill(key)
    await expect
      .poll(
        async () => {
          await page.getByRole('button', { name: 'Send GET' }).click()
          await page.getByText(/^\d{3} in /).waitFor()
          return page.getByText(/^\d{3} in /).textContent()
        },
        { timeout: 10_000 },
      )
      .toMatch(/^200 in /)
    await page.getByText('"city": "Bern"').waitFor()
    const last = received.at(-1)!
    expect([last.url, last.headers['x-format']]).toEqual(['/parcels/P-7?locale=de', 'long'])
    expect(JSON.stringify(last.headers)).not.toMatch(/tgk_|eyJhbGci|cookie|x-portal-key|x-csrf/)
    // the key is in no storage and not in the page after it was left
    const stored =
      'document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + location.href'
    expect(await page.evaluate(stored)).not.toContain(key)
    await page.getByLabel('Your key').fill('tgk_wrong')
    await page.getByRole('button', { name: 'Send GET' }).click()
    await page.getByText(/^401 in /).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await page.getByRole('link', { name: 'Subscriptions' }).click()
    await expect
      .poll(async () => {
        await page.reload()
        return page.getByRole('meter', { name: 'Today' }).getAttribute('aria-valuenow')
      })
      .not.toBe('0')

    await owner.page.getByRole('button', { name: 'Sign out' }).click()
    await owner.page.getByRole('link', { name: 'Sign in' }).first().waitFor()
  })

  it('keeps the subscriptions of two users of its client apart', async () => {
    const api = (await register('Returns')).id
    const dana = await open()
    await dana.open(`apis/${api}`)
    await signInAs(dana, 'Dana Developer')
    await dana.page.getByRole('button', { name: 'Subscribe' }).click()
    await dana.page.getByText('The subscription and its keys are yours').waitFor()
    await dana.page.getByLabel('Reviewed').check()
    await dana.page.getByRole('button', { name: 'Request' }).click()
    await dana.page.getByText('developer: ').waitFor()
    const vic = await open()
    await vic.open(`apis/${api}`)
    await signInAs(vic, 'Vic Viewer')
    const owner = await open()
    await owner.signIn('demo-admin')
    await owner.open('requests')
    await owner.page
      .getByRole('row', { name: /Returns/ })
      .getByText('user:developer')
      .waitFor()
    await approve(owner, /Returns/)
    await dana.open('subscriptions')
    await dana.page.getByRole('region', { name: 'Subscription to Returns' }).waitFor()
    await vic.open('subscriptions')
    // a viewer reads the subscriptions of the tenant; this one is not theirs, though both came with one client
    const card = vic.page.getByRole('region', { name: 'Subscription to Returns' })
    await card.getByText('developer: ').waitFor()
    for (const name of ['Revoke', 'Change plan'])
      expect(await card.getByRole('button', { name }).count()).toBe(0)
    await dana.page.getByRole('region', { name: 'Subscription to Returns' }).getByText('Revoke').waitFor()
  })

  it('leads to a product: its APIs, one subscription, one key for all of them', async () => {
    const invoices = (await register('Invoices')).id
    const names = { slug: 'shipping', name: 'Shipping bundle', description: 'Parcels and what they cost.' }
    const offer = { plan: 'reviewed', api_ids: [parcels, invoices], portal_visibility: true }
    await manage('tenants/acme/products', { ...names, ...offer })
    const visitor = await open()
    await visitor.open('')
    await visitor.page.getByRole('link', { name: 'Shipping bundle' }).click()
    await visitor.page.getByRole('link', { name: 'Parcels', exact: true }).waitFor()
    await visitor.page.getByRole('link', { name: 'Sign in to subscribe' }).waitFor()
    expect(await visitor.page.getByText('Invoices').count()).toBe(0)
    const subscriber = await open()
    const { page } = subscriber
    await subscriber.open(`apis/${invoices}`)
    await signInAs(subscriber, 'Dana Developer')
    await page.getByRole('link', { name: 'Shipping bundle' }).click()
    await page.getByText('calls: 100 a minute, 10 a day, 1,000 a month; shared by all APIs').waitFor()
    await page.getByRole('link', { name: 'Invoices' }).waitFor()
    await page.getByRole('button', { name: 'Subscribe' }).click()
    await page.getByRole('button', { name: 'Request' }).click()
    await page.getByText('The owner has to approve the subscription.').waitFor()
    const owner = await open()
    await owner.signIn('demo-admin')
    await owner.open('requests')
    await approve(owner, /Shipping bundle/)
    const key = (await owner.page.locator('.secret code').textContent())!
    await subscriber.open('subscriptions')
    await page.getByRole('link', { name: 'Shipping bundle' }).click()
    await page.getByText('The subscription is in force.').waitFor()
    const headers = { 'x-api-key': key }
    for (const name of ['parcels', 'invoices']) {
      const call = async () => (await fetch(`${deployment.url}/t/acme/${name}`, { headers })).status
      await expect.poll(call, { timeout: 10_000 }).toBe(200)
    }
  })

  it('shows a rejection with its reason', async () => {
    const api = await register('Rejected')
    const subscriber = await open()
    await subscriber.open(`apis/${api.id}`)
    await signInAs(subscriber, 'Dana Developer')
    const { page } = subscriber
    await page.getByRole('button', { name: 'Subscribe' }).click()
    await page.getByLabel('Reviewed').check()
    await page.getByRole('button', { name: 'Request' }).click()
    await page.getByText('The owner has to approve the subscription.').waitFor()
    const owner = await open()
    await owner.signIn('demo-admin')
    await owner.open('requests')
    const row = owner.page.getByRole('row', { name: /Rejected/ })
    await row.getByRole('button', { name: 'Reject' }).click()
    await owner.page.getByLabel('Reason').fill('The project has ended.')
    await owner.page.getByRole('dialog').getByRole('button', { name: 'Reject' }).click()
    await row.waitFor({ state: 'detached' })
    await page.reload()
    await page.getByText('Reason: The project has ended.').waitFor()
    await page.getByRole('button', { name: 'Subscribe' }).waitFor()
  })

  it('shows a user nothing of another tenant but its public APIs, and visitors nothing of a suspended one', async () => {
    const viewer = await open()
    await viewer.signIn('demo-viewer')
    const { page } = viewer
    await page.getByRole('link', { name: 'Internal' }).waitFor()
    expect(await page.getByRole('link', { name: 'Secret' }).count()).toBe(0)
    await page.getByRole('link', { name: 'Foreign' }).click()
    await page.getByText('Users of that tenant, and of tenants with which the API is shared').waitFor()
    await viewer.open('apis')
    await page.getByRole('link', { name: 'Parcels', exact: true }).click()
    await page.getByText('Subscribe', { exact: true }).first().waitFor()
    // the policy gives a viewer no right to subscribe
    expect(await page.getByRole('button', { name: 'Subscribe' }).count()).toBe(0)
    await manage('tenants/globex', { status: 'suspended' }, 'PATCH')
    const visitor = await open()
    await visitor.open('')
    await visitor.page.getByRole('link', { name: 'Parcels', exact: true }).waitFor()
    expect(await visitor.page.getByRole('link', { name: 'Foreign' }).count()).toBe(0)
    await manage('tenants/globex', { status: 'active' }, 'PATCH')
  })

  it('is used with the keyboard, once the link of the API has the focus', async () => {
    const { page, open: show } = await open()
    await show('')
    await page.getByRole('link', { name: 'Parcels', exact: true }).waitFor()
    const pressUntil = async (name: RegExp) => {
      for (let presses = 0; presses < 60; presses++) {
        await page.keyboard.press('Tab')
        const focused: string = await page.evaluate(
          `(document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent).trim()`,
        )
        if (name.test(focused)) return
      }
      throw new Error(`Tab does not reach ${name}`)
    }
    // the brand begins with the same word
    await pressUntil(/^Parcels$/)
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Reference' }).waitFor()
    expect(new URL(page.url()).pathname).toMatch(new RegExp(`/apis/${parcels}$`))
    await pressUntil(/^Reference/)
    await page.keyboard.press('Enter')
    await page.getByText('Where a parcel is').waitFor()
    await pressUntil(/^GET/)
    await page.keyboard.press('Enter')
    await page.getByRole('cell', { name: 'parcelId' }).waitFor()
    await pressUntil(/^Try it/)
    await page.keyboard.press('Enter')
    await page.getByText('Sign in to call the API from this page').waitFor()
  })

  it('shows the catalog although its first requests fail for a moment', async () => {
    const { page, signIn } = await open()
    const failed = new Set<string>()
    await page.route(/api\/(?:control|permissions)/, (route, request) => {
      const path = new URL(request.url()).pathname
      if (request.method() !== 'GET' || failed.has(path)) return route.continue()
      failed.add(path)
      const error = { code: 'unavailable', message: 'The database is unavailable.', details: [] }
      return route.fulfill({ status: 503, json: { error } })
    })
    await signIn('demo-admin')
    await page.getByRole('link', { name: 'Internal' }).waitFor()
    expect(failed.size).toBeGreaterThan(0)
  })

  it('has pages without serious findings of axe and without overflow on a phone, in both themes', async () => {
    const { page, signIn, open: show, accessibilityFaults } = await open()
    const check = async (name: string, path: string, text: string) => {
      await show(path)
      await page.getByText(text).first().waitFor()
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        expect([path, colorScheme, await accessibilityFaults()]).toEqual([path, colorScheme, []])
        if (SHOTS !== undefined)
          await page.screenshot({ path: join(SHOTS, `${name}-${colorScheme}.png`), fullPage: true })
      }
      await page.setViewportSize({ width: 375, height: 700 })
      expect([path, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([path, 375])
      if (SHOTS !== undefined)
        await page.screenshot({ path: join(SHOTS, `${name}-phone.png`), fullPage: true })
      await page.setViewportSize({ width: 1280, height: 800 })
    }
    await check('visitor', '', 'Public APIs')
    await check('sign-in', 'sign-in', 'Development')
    await signIn('demo-admin')
    await check('catalog', '', 'Internal')
    await check('api', `apis/${parcels}`, 'Where parcels are.')
    await check('reference', `apis/${parcels}/reference`, 'Where a parcel is')
    await check('try', `apis/${parcels}/try`, 'Your key')
    await check('tools', `apis/${parcels}/tools`, 'parcels_getParcel')
    await check('changes', `apis/${parcels}/changes`, 'Published as')
    const headers = { authorization: `Bearer ${adminToken}` }
    const products = await fetch(`${origin}/v1/portal/products`, { headers })
    const { items } = (await products.json()) as { items: readonly { id: string }[] }
    await check('product', `products/${items[0]!.id}`, 'APIs of the product')
    await check('subscriptions', 'subscriptions', 'The subscriptions of applications to APIs and products.')
    await check('requests', 'requests', 'Subscriptions that are pending approval.')
  }, 120_000)

  it('loads at most 100 KB for its first page', async () => {
    const { page, open: show } = await open()
    const sizes: Promise<number>[] = []
    page.on(
      'response',
      response =>
        void sizes.push(
          response.body().then(
            body => gzipSync(body).byteLength,
            () => 0,
          ),
        ),
    )
    await show('')
    await page.getByRole('link', { name: 'Parcels', exact: true }).waitFor()
    expect((await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)).toBeLessThan(100_000)
  })
})
