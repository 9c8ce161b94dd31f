/** The loop of an author: a new rule to start from, and what each save does. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { followChanges } from '../../../../../src/app/cli/policy/watch.ts'
import { runCommand } from '../../../../../src/app/cli/program.ts'
import { readBundle } from '../../../../../src/policy/bundle.ts'
import { createDecisionLog } from '../../../../../src/policy/log/writer.ts'
import { OPA_VERSION } from '../../../../../src/policy/workshop/opa.ts'
import { Author, opa, regal, TOOLS } from '../../../../fixtures/policy/author.ts'
import { inputOf } from '../../../../fixtures/policy/inputs.ts'

const missing = (opa === undefined || regal === undefined) && process.env.REQUIRE_SERVICES !== '1'

describe.skipIf(missing)(
  `with opa ${OPA_VERSION} and regal (npm run policy:test installs them)`,
  { timeout: 120_000 },
  () => {
    let author: Author
    let out = ''
    beforeEach(() => {
      if (opa === undefined || regal === undefined) throw new Error('opa or regal is not in .tools/bin')
      author = new Author()
      out = ''
      vi.spyOn(process.stdout, 'write').mockImplementation(text => {
        out += String(text)
        return true
      })
    })
    afterEach(() => {
      vi.restoreAllMocks()
      author?.leave()
    })

    it('a new rule passes every check, and is refused a second time', async () => {
      expect(await runCommand(['policy', 'new', 'payments', '--dir', author.dir])).toBe(0)
      expect(out).toContain('toolgate/rules/payments/payments_test.rego')
      expect(await author.faults()).toEqual([])
      expect((await author.build()).cacheable).toBe(true)
      vi.spyOn(process.stderr, 'write').mockImplementation(() => true)
      expect(await runCommand(['policy', 'new', 'payments', '--dir', author.dir])).toBe(1)
      expect(await runCommand(['policy', 'new', '../evil', '--dir', author.dir])).toBe(1)
    })

    it('each save is tested, built and compared with the last decisions; what fails is not built', async () => {
      const log = join(author.dir, 'decisions')
      const decisions = createDecisionLog({ dir: log })
      const viewer = inputOf({ caller: { roles: ['viewer'], scopes: [], consumer: 'demo-viewer' } })
      for (let n = 0; n < 3; n++)
        decisions.record(`d-${n}`, n, viewer, {
          allow: false,
          reasons: [{ code: 'insufficient_scope', message: 'x' }],
          revision: 'r',
        })
      await decisions.close()

      const bundle = join(author.dir, 'bundle.tar.gz')
      const stop = new AbortController()
      const options = {
        dir: author.dir,
        bundle,
        tools: TOOLS,
        input: '-',
        log,
        maxFlips: 0,
        json: false,
      }
      const following = followChanges(options, stop.signal)
      const { revision } = readBundle(readFileSync(bundle))
      await vi.waitFor(() => expect(out).toContain(`ok, revision ${revision} is unchanged`), 60_000)

      author.edit('toolgate/roles/data.yaml', 'viewer: [read]', 'viewer: [read, execute]')
      await vi.waitFor(() => expect(out).toContain('toolgate.granted_test.test_both_together'), 60_000)
      await vi.waitFor(
        () => expect(out).toContain('the bundle was not built; the bundle file is unchanged'),
        60_000,
      )
      expect(readBundle(readFileSync(bundle)).revision).toBe(revision)

      const test = join(author.dir, 'toolgate/granted/granted_test.rego')
      writeFileSync(
        test,
        readFileSync(test, 'utf8').replace(
          '{"read", "audit"} with input as _caller(["viewer"]',
          '{"read", "execute", "audit"} with input as _caller(["viewer"]',
        ),
      )
      await vi.waitFor(
        () => expect(out).toContain('the new bundle changes 3 of the last 3 logged decisions'),
        60_000,
      )
      expect(out).toMatch(/deny→allow +3 × insufficient_scope tools\.call get_order by demo-viewer/)
      expect(readBundle(readFileSync(bundle)).revision).not.toBe(revision)
      stop.abort()
      await following
    })
  },
)
