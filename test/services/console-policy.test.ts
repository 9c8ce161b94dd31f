/** A denial from the console to the fix: explanation, comparison of a candidate, promotion without a failed call; and a draft up to its rollback. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { unpack } from '../../src/policy/archive.ts'
import { BUNDLE_LIMITS } from '../../src/policy/bundle.ts'
import { BROWSER } from '../fixtures/browser-page.ts'
import { type ConsoleBrowser, openConsoleBrowser } from '../fixtures/console-browser.ts'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { opa } from '../fixtures/policy/author.ts'
import { altered, manifestWith, SHIPPED } from '../fixtures/policy/inputs.ts'

const missing = BROWSER === undefined && process.env.REQUIRE_SERVICES !== '1'
const CALL = { name: 'shop_getProduct', arguments: { productId: 'P-1001' } }

describe.skipIf(missing)(
  `a policy in the console${missing ? ' (skipped: apt-get install chromium)' : ''}`,
  () => {
    const dir = mkdtempSync(join(tmpdir(), 'console-policy-'))
    const candidate = join(dir, 'candidate.tar.gz')
    let deployment: Deployment
    let browser: ConsoleBrowser

    beforeAll(async () => {
      cpSync(fileURLToPath(SHIPPED), join(dir, 'bundle.tar.gz'))
      const data = JSON.parse(
        Buffer.from(unpack(readFileSync(SHIPPED), BUNDLE_LIMITS).get('data.json')!).toString(),
      )
      // callers that may read may call: the scope that the denial names is no longer required
      data.toolgate.operations['tools.call'] = { all: ['read'] }
      const manifest = manifestWith(content => {
        content.revision = 'readers-call'
      })
      writeFileSync(candidate, altered({ '.manifest': manifest, 'data.json': JSON.stringify(data) }))
      ;[deployment, browser] = await Promise.all([
        deploy({
          POLICY_BUNDLE: join(dir, 'bundle.tar.gz'),
          POLICY_SHADOW: candidate,
          POLICY_MAX_FLIPS: '100',
          POLICY_POLL: '50ms',
        }),
        openConsoleBrowser(),
      ])
    })
    afterAll(async () => {
      await browser?.close()
      await deployment?.stop()
      rmSync(dir, { recursive: true, force: true })
    })

    it('goes from a denial to its explanation, the candidate, and the promotion, without a failed request', async () => {
      const viewer = await deployment.token('demo-viewer')
      const call = async () => (await deployment.post('/mcp/tools/call', CALL, viewer)).status
      const { page, faults, signIn, open } = await browser.newPage(deployment.running.addresses.api_url!)
      await signIn('demo-admin')
      await open('policy')
      await page.getByText('readers-call').first().waitFor()
      expect(await call()).toBe(403)

      await open('calls?consumer=demo-viewer')
      await page.locator('section.live tbody tr').first().getByRole('button').click()
      await page.getByRole('link', { name: 'Explain the decision' }).click()
      await page.getByText('The request needs the scope execute.').first().waitFor()

      const row = page.getByRole('row', { name: /would be allowed.*shop_getProduct.*demo-viewer/ })
      await row.waitFor()

      const statuses: number[] = []
      let isRunning = true
      const traffic = (async () => {
        while (isRunning) statuses.push(await call())
      })()
      await page.getByRole('button', { name: 'Promote' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Promote' }).click()
      await expect.poll(() => statuses.at(-1) === 200 || statuses.at(-1) === 429).toBe(true)
      isRunning = false
      await traffic
      // denied by the old policy, then served or limited by the plan
      expect(statuses.filter(status => ![403, 200, 429].includes(status))).toEqual([])
      await page.getByText('readers-call').first().waitFor()
      await expect.poll(() => page.locator('dl.facts').first().textContent()).toContain('readers-call')
      expect(faults).toEqual([])
    })

    it.skipIf(opa === undefined)(
      'edits the rules: completion, an error at its line, the difference, the candidate, and the return',
      { timeout: 600_000 },
      async () => {
        const shown = await browser.newPage(deployment.running.addresses.api_url!)
        const { page, faults, signIn, open, accessibilityFaults } = shown
        const shot = async (name: string): Promise<void> => {
          if (process.env.SCREENSHOTS !== undefined)
            await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}.png`), fullPage: true })
        }
        await signIn('demo-admin')
        await open('policy')
        await page.getByRole('link', { name: 'Edit the rules' }).click()
        await page.getByRole('textbox', { name: /^Text of toolgate/ }).waitFor()

        // keyboard only: a new file, completion from the schema, an error
        await page.getByLabel('New file').fill('toolgate/rules/night/night.rego')
        await page.keyboard.press('Enter')
        await page.getByRole('textbox', { name: 'Text of toolgate/rules/night/night.rego' }).focus()
        await page.keyboard.press('Control+End')
        await page.keyboard.type('\ndeny if input.')
        await page.getByRole('option', { name: /^subject/ }).waitFor()
        await page.keyboard.press('Escape')
        await page.keyboard.type('subject = ')
        await page.getByRole('button', { name: 'Check and compare' }).click()
        const alert = page.getByRole('alert')
        await alert.getByText('The draft does not compile.').waitFor()
        await alert
          .getByRole('button', { name: /^toolgate\/rules\/night\/night\.rego:\d+$/ })
          .first()
          .click()
        await shot('policy-editor-error')
        await page.getByRole('button', { name: 'Begin again' }).click()

        // what the promotion before allows is not in these sources: the draft would deny it again
        await page.getByLabel('File', { exact: true }).selectOption('toolgate/operations/data.yaml')
        await page.getByRole('textbox', { name: 'Text of toolgate/operations/data.yaml' }).focus()
        await page.keyboard.press('Control+End')
        await page.keyboard.type('\nreports.read: {all: [read]}')
        await page.getByText('1 file changed.').waitFor()
        await page.getByRole('button', { name: 'Check and compare' }).click()
        await page.getByRole('row', { name: /would be denied.*shop_getProduct.*demo-viewer/ }).waitFor()
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme })
          expect(await accessibilityFaults(), colorScheme).toEqual([])
          await shot(`policy-editor-${colorScheme}`)
        }
        await page.setViewportSize({ width: 390, height: 844 })
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
        await shot('policy-editor-phone')
        await page.setViewportSize({ width: 1280, height: 800 })

        await page.getByRole('button', { name: 'Make the draft the candidate' }).click()
        await page.getByText('they compare the candidate with the policy in force').waitFor()
        const agent = await deployment.token('demo-agent')
        expect((await deployment.post('/mcp/tools/call', CALL, agent)).status).toBeLessThan(500)
        await page.getByRole('button', { name: 'Promote' }).waitFor()
        await expect
          .poll(() => page.locator('dl.facts').filter({ hasText: 'Decisions compared' }).textContent())
          .toMatch(/Decisions compared[1-9]/)
        await page.getByRole('button', { name: 'Promote' }).click()
        await page.getByRole('dialog').getByRole('button', { name: 'Promote' }).click()
        const kept = page.getByRole('row').filter({ hasText: 'readers-call' })
        await kept.getByRole('button', { name: 'Roll back' }).click()
        await page.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click()
        await kept.getByText('in force').waitFor()
        expect(faults).toEqual([])
      },
    )
  },
)
