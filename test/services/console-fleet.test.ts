/** The console on two gateways in a real browser: calls of both, revisions that differ in red, accessibility, and the gateway that does not reply. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { BROWSER } from '../fixtures/browser-page.ts'
import { type ConsoleBrowser, type ConsolePage, openConsoleBrowser } from '../fixtures/console-browser.ts'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { altered, manifestWith } from '../fixtures/policy/inputs.ts'

const missing = BROWSER === undefined && process.env.REQUIRE_SERVICES !== '1'

describe.skipIf(missing)(
  `the console of a fleet${missing ? ' (skipped: apt-get install chromium)' : ''}`,
  { timeout: 120_000 },
  () => {
    let first: Deployment
    let second: Deployment
    let browser: ConsoleBrowser
    let dir: string
    let shown: ConsolePage

    beforeAll(async () => {
      dir = mkdtempSync(join(tmpdir(), 'toolgate-fleet-'))
      const other = join(dir, 'bundle.tar.gz')
      const manifest = manifestWith(changed => {
        changed.revision = 'other'
      })
      writeFileSync(other, altered({ '.manifest': manifest }))
      ;[first, browser] = await Promise.all([deploy({ GATEWAY_NAME: 'first' }), openConsoleBrowser()])
      const { api_url, auth_url } = first.running.addresses
      second = await deploy({
        ROLE: 'gateway',
        GATEWAY_NAME: 'second',
        EXAMPLE: 'false',
        POLICY_BUNDLE: other,
        CONTROL_PLANE_URL: api_url!,
        AUTH_ISSUER: auth_url!,
        GATEWAY_CLIENT_ID: 'gateway',
        GATEWAY_CLIENT_SECRET: 'gateway-secret',
      })
      await second.running.ready
      const token = await first.token('demo-agent')
      await second.post('/mcp/tools/call', { name: 'of_the_second', arguments: {} }, token)
      await first.post('/mcp/tools/call', { name: 'of_the_first', arguments: {} }, token)
      shown = await browser.newPage(api_url!)
      await shown.signIn('demo-admin')
    }, 180_000)
    afterEach(() => {
      expect(shown.faults.splice(0)).toEqual([])
    })
    afterAll(async () => {
      await browser?.close()
      await first?.stop()
      rmSync(dir, { recursive: true, force: true })
    })

    async function screenshot(name: string): Promise<void> {
      if (process.env.SCREENSHOTS !== undefined)
        await shown.page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}.png`), fullPage: true })
    }

    it('shows threads with different policies in red', async () => {
      const { page } = shown
      await shown.open('now?gateways=all&window=300')
      await page.getByRole('alert').getByText('different configurations or policies').waitFor()
      const cells = page.getByRole('table', { name: 'Queried gateways' }).locator('.status.bad')
      await cells.nth(1).waitFor()
      expect(await cells.count()).toBe(2)
      const color: string = await page.evaluate(
        `getComputedStyle(document.querySelector('td .status.bad')).color`,
      )
      const [red = 0, green = 0, blue = 0] = color.match(/[\d.]+/g)!.map(Number)
      expect(red, color).toBeGreaterThan(Math.max(green, blue) * 1.5)
      await screenshot('fleet-now')
    })

    it('lists the calls and tools of both, and keeps the choice from page to page', async () => {
      const { page } = shown
      await page
        .getByRole('navigation', { name: 'Pages' })
        .getByRole('link', { name: /^Calls/ })
        .click()
      await page.getByRole('cell', { name: 'of_the_first' }).waitFor()
      await page.getByRole('cell', { name: 'of_the_second' }).waitFor()
      const row = page.getByRole('row').filter({ hasText: 'of_the_second' })
      await row.getByRole('button').click()
      await page.getByRole('dialog').getByText('second', { exact: true }).waitFor()
      await page.keyboard.press('Escape')
      await screenshot('fleet-calls')
      await page
        .getByRole('navigation', { name: 'Pages' })
        .getByRole('link', { name: /^Tools/ })
        .click()
      await page.getByRole('table', { name: 'Queried gateways' }).waitFor()
      expect(await page.getByRole('combobox', { name: 'Gateways' }).inputValue()).toBe('all')
    })

    it('has no serious accessibility fault in either theme', async () => {
      for (const colorScheme of ['light', 'dark'] as const) {
        await shown.page.emulateMedia({ colorScheme })
        for (const path of ['now', 'calls', 'tools']) {
          await shown.open(`${path}?gateways=all`)
          await shown.page
            .getByText(path === 'calls' ? 'of_the_second' : 'in time')
            .first()
            .waitFor()
          expect(await shown.accessibilityFaults(), `${path}, ${colorScheme}`).toEqual([])
        }
        await screenshot(`fleet-tools-${colorScheme}`)
      }
      await shown.page.emulateMedia({ colorScheme: 'light' })
    })

    it('names the gateway that does not reply', async () => {
      await second.stop()
      await shown.open('now?gateways=all')
      await shown.page.getByRole('alert').getByText('No reply from second').waitFor()
      await screenshot('fleet-no-reply')
    })
  },
)
