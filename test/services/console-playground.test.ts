/** The playground in a real browser: a confirmation that the policy requires is shown as a question, and only an accepted one leads to the backend. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import { join, resolve } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { findOpa, OPA_VERSION } from '../../src/policy/workshop/opa.ts'
import { BROWSER } from '../fixtures/browser-page.ts'
import { deployConformance } from '../fixtures/conformance/deploy.ts'
import { type ConsoleBrowser, type ConsolePage, openConsoleBrowser } from '../fixtures/console-browser.ts'
import type { Deployment } from '../fixtures/deployment.ts'

const opa = await findOpa(resolve('.tools/bin'), process.env)
const missing = (BROWSER === undefined || opa === undefined) && process.env.REQUIRE_SERVICES !== '1'
const HINT = missing
  ? ` (skipped: apt-get install chromium, and opa ${OPA_VERSION} by npm run policy:test)`
  : ''

describe.skipIf(missing)(`the playground${HINT}`, { timeout: 120_000 }, () => {
  let gateway: Deployment
  let browser: ConsoleBrowser
  let shown: ConsolePage
  /** Requests that destroy, as the backend received them. */
  const destroyed: string[] = []
  const watch = (message: unknown): void => {
    const { request } = message as { request: IncomingMessage }
    if (request.method === 'DELETE') destroyed.push(request.url!)
  }

  beforeAll(async () => {
    if (opa === undefined) throw new Error(`needs opa ${OPA_VERSION}: npm run policy:test`)
    subscribe('http.server.request.start', watch)
    ;[gateway, browser] = await Promise.all([deployConformance(opa), openConsoleBrowser()])
    shown = await browser.newPage(gateway.running.addresses.api_url!)
    await shown.signIn('demo-admin')
  }, 180_000)
  afterEach(() => {
    expect(shown.faults.splice(0)).toEqual([])
    destroyed.length = 0
  })
  afterAll(async () => {
    unsubscribe('http.server.request.start', watch)
    await browser?.close()
    await gateway?.stop()
  })

  async function callUntilAsked() {
    const { page } = shown
    await shown.open('playground?tool=test_elicitation')
    await page.getByLabel('message (required)').fill('row 7')
    await page.getByRole('combobox', { name: 'Protocol' }).selectOption('MCP')
    await page.getByRole('button', { name: 'Call', exact: true }).click()
    const questions = page.getByRole('form', { name: 'Questions' })
    await questions.waitFor()
    await expect.poll(() => questions.getByRole('alert').textContent()).not.toBe('')
    expect(destroyed).toEqual([])
    return questions
  }

  it('asks for the confirmation that the policy requires, and calls the backend once it is given', async () => {
    const questions = await callUntilAsked()
    expect(await shown.accessibilityFaults()).toEqual([])
    const folder = process.env.SCREENSHOTS
    if (folder !== undefined)
      await shown.page.screenshot({ path: join(folder, 'playground-question.png'), fullPage: true })
    await questions.getByLabel(/^confirm/).selectOption('true')
    await questions.getByRole('button', { name: 'Accept' }).click()
    await shown.page.getByLabel('Body').getByText('"resultType": "complete"').waitFor()
    await questions.waitFor({ state: 'detached' })
    expect(destroyed).toHaveLength(1)
  })

  it('does not call the backend when the user declines', async () => {
    const questions = await callUntilAsked()
    await questions.getByRole('button', { name: 'Decline' }).click()
    await shown.page.getByLabel('Body').getByText('"isError": true').waitFor()
    await questions.waitFor({ state: 'detached' })
    expect(destroyed).toEqual([])
  })
})
