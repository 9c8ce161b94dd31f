/** Bundles built with the real `opa`: the committed one is what the sources compile to, and what authors are told holds. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readBundle } from '../../../src/policy/bundle.ts'
import type { Decision } from '../../../src/policy/engine.ts'
import { createOpaWasmEngine } from '../../../src/policy/opa-wasm/engine.ts'
import { type Built, buildBundle } from '../../../src/policy/workshop/build.ts'
import { checkPolicies } from '../../../src/policy/workshop/check.ts'
import { findOpa, OPA_VERSION } from '../../../src/policy/workshop/opa.ts'
import { readSources, revisionOf } from '../../../src/policy/workshop/sources.ts'
import { type InputParts, inputOf, MISBEHAVING, SHIPPED } from '../../fixtures/policy/inputs.ts'

const POLICIES = fileURLToPath(new URL('../../../policies', import.meta.url))
const TOOLS = fileURLToPath(new URL('../../../.tools/bin', import.meta.url))
const opa = await findOpa(TOOLS, process.env)
const missing = opa === undefined && process.env.REQUIRE_SERVICES !== '1'

describe('the committed bundle', () => {
  it('has the revision of the sources beside it (else: npm run policy:build)', () => {
    const { revision } = readBundle(readFileSync(SHIPPED))
    expect(revision).toBe(revisionOf(readSources(POLICIES)))
  })

  it('declares what it reads, and its decisions are remembered', () => {
    const { reads, readsFound, rules } = readBundle(readFileSync(SHIPPED))
    expect(reads.rememberable).toBe(true)
    expect(readsFound?.paths).toEqual(reads.paths)
    expect(rules.map(rule => rule.code)).toContain('insufficient_scope')
  })
})

describe.skipIf(missing)(
  `with opa ${OPA_VERSION} (npm run policy:test installs it)`,
  { timeout: 60_000 },
  () => {
    let dir = ''
    beforeEach(() => {
      if (opa === undefined) throw new Error(`opa ${OPA_VERSION} is neither on the PATH nor in .tools/bin`)
      dir = mkdtempSync(join(tmpdir(), 'policies-'))
      cpSync(POLICIES, dir, { recursive: true })
    })
    afterEach(() => rmSync(dir, { recursive: true, force: true }))

    function build(from = dir): Promise<Built> {
      return buildBundle({
        dir: from,
        opa: opa!,
        env: process.env,
        trial: async bundle => (await createOpaWasmEngine().prepare(bundle)).close(),
      })
    }

    function write(path: string, text: string): void {
      mkdirSync(dirname(join(dir, path)), { recursive: true })
      writeFileSync(join(dir, path), text)
    }

    function edit(path: string, from: string, to: string): void {
      const before = readFileSync(join(dir, path), 'utf8')
      expect(before).toContain(from)
      writeFileSync(join(dir, path), before.replace(from, to))
    }

    async function decide(built: Built, parts: InputParts): Promise<Decision> {
      const policy = await createOpaWasmEngine({ maxEvaluationMs: 200 }).prepare(built.archive)
      try {
        return await policy.decide(inputOf(parts), 'caller', 1)
      } finally {
        policy.close()
      }
    }

    async function failed(): Promise<readonly string[]> {
      const steps = await checkPolicies({ dir, opa: opa!, env: process.env })
      return steps.filter(step => !step.ok).map(step => `${step.name}: ${step.detail}`)
    }

    it('the sources compile to the bytes that are committed', async () => {
      const built = await build(POLICIES)
      expect(built.archive.equals(readFileSync(SHIPPED))).toBe(true)
    })

    it('the fixture of a misbehaving policy is what its sources compile to', async () => {
      const built = await build(fileURLToPath(new URL('.', MISBEHAVING)))
      expect(built.archive.equals(readFileSync(MISBEHAVING))).toBe(true)
    })

    it('the shipped policies pass every check', async () => {
      expect(await failed()).toEqual([])
    })

    it('editing a rule and building it changes the answer', async () => {
      const viewer = { caller: { roles: ['viewer'], scopes: [] } }
      const before = await build()
      expect(await decide(before, viewer)).toMatchObject({
        allow: false,
        reasons: [{ code: 'insufficient_scope' }],
      })
      edit('toolgate/roles/data.yaml', 'viewer: [read]', 'viewer: [read, execute]')
      const after = await build()
      expect(await decide(after, viewer)).toMatchObject({ allow: true })
      expect(after.revision).not.toBe(before.revision)
    })

    it('tests and comments beside the policies do not change the revision, rules do', async () => {
      const { revision } = await build()
      write('toolgate/rules/role/more_test.rego', 'package toolgate.rules.role_test\n\ntest_more := true\n')
      write('NOTES.md', 'notes')
      expect((await build()).revision).toBe(revision)
      edit('toolgate/rules/role/role.rego', 'This needs the role ', 'You need the role ')
      expect((await build()).revision).not.toBe(revision)
    })

    it('a built-in that WebAssembly lacks is refused by name', async () => {
      edit(
        'toolgate/rules/role/role.rego',
        'not _spared(needs)',
        'not _spared(needs)\n\thttp.send({"method": "GET", "url": "http://localhost"})',
      )
      await expect(build()).rejects.toThrow('it uses http.send, which WebAssembly policies do not have')
    })

    it('a clock within the rules is refused: time is in the input', async () => {
      edit('toolgate/rules/role/role.rego', 'not _spared(needs)', 'not _spared(needs)\n\ttime.now_ns() > 0')
      await expect(build()).rejects.toThrow('time.now_ns')
    })

    it('what is read without being declared is refused, with the line to add', async () => {
      edit(
        'toolgate/rules/role/role.rego',
        'not _spared(needs)',
        'not _spared(needs)\n\tinput.context.plan != "enterprise"',
      )
      await expect(build()).rejects.toThrow(/Add to custom\.reads in its METADATA:\n {2}- context\.plan/)
    })

    it('a field the input does not have is refused by the check', async () => {
      edit(
        'toolgate/rules/role/role.rego',
        'not _spared(needs)',
        'not _spared(needs)\n\tinput.context.weather == "rain"',
      )
      expect((await failed()).join('\n')).toMatch(/check: .*weather/s)
    })

    it('rego that does not compile is refused with what opa says', async () => {
      write('toolgate/rules/broken/broken.rego', 'package toolgate.rules.broken\n\ndeny contains x if {\n')
      await expect(build()).rejects.toThrow(/opa build says:[\s\S]*broken\.rego/)
    })

    it('a failing test, an unreached line, bad format and a missing code are each named', async () => {
      edit('toolgate/roles/data.yaml', 'viewer: [read]', 'viewer: [read, execute, audit]')
      edit(
        'toolgate/granted/granted_test.rego',
        '_all == {"read", "audit"} with input as _caller(["viewer"]',
        '_all == {"read"} with input as _caller(["viewer"]',
      )
      expect((await failed()).join('\n')).toContain('toolgate.granted_test.test_both_together')
      cpSync(POLICIES, dir, { recursive: true })
      write(
        'toolgate/rules/extra/extra.rego',
        '# METADATA\n# title: Extra\n# description: x\npackage toolgate.rules.extra\n\n# METADATA\n# title: Extra\ndeny contains   "x" if input.action.name == "never"\n',
      )
      const faults = (await failed()).join('\n')
      expect(faults).toMatch(/format: .*extra\.rego/s)
      expect(faults).toMatch(/coverage: .*toolgate\/rules\/extra\/extra\.rego:8/s)
      expect(faults).toContain(
        'metadata: toolgate/rules/extra/extra.rego:8 denies without a custom.reason_code',
      )
    })

    describe('the README’s', () => {
      const readme = readFileSync(join(POLICIES, 'README.md'), 'utf8')

      /** Writes the files that a chapter shows, and declares what it says they read. */
      function follow(chapter: string): void {
        const text = readme.split(/^## /m).find(one => one.startsWith(chapter))!
        const files = [...text.matchAll(/^`(toolgate\/[^`]+)`\n\n```rego\n([\s\S]*?)```$/gm)]
        expect(files.length).toBe(2)
        for (const [, path, content] of files) write(path!, content!)
        const reads = /```yaml\n([\s\S]*?)```/.exec(text)![1]!.trim().split('\n')
        edit(
          'toolgate/toolgate.rego',
          '#   reads:\n',
          `#   reads:\n${reads.map(path => `#     - ${path}\n`).join('')}`,
        )
      }

      it('restricted tool is restricted, and remembered', async () => {
        follow('Restrict a tool')
        expect(await failed()).toEqual([])
        const built = await build()
        expect(built.rememberable).toBe(true)
        const payroll = { resource: { tags: ['payroll'] } }
        expect(await decide(built, payroll)).toMatchObject({
          allow: false,
          reasons: [{ code: 'payroll_only' }],
        })
        expect(await decide(built, { ...payroll, caller: { roles: ['hr'] } })).toMatchObject({ allow: true })
        expect(await decide(built, {})).toMatchObject({ allow: true })
      })

      it('limited argument is limited when called, and the tool still listed', async () => {
        follow('Limit by argument')
        expect(await failed()).toEqual([])
        const built = await build()
        expect(built.rememberable).toBe(false)
        const refund = (amount?: number) =>
          decide(built, {
            id: 'refund_order',
            context: amount === undefined ? {} : { arguments: { amount } },
          })
        expect(await refund(501)).toMatchObject({ allow: false, reasons: [{ code: 'refund_too_large' }] })
        expect(await refund(500)).toMatchObject({ allow: true })
        expect(await refund()).toMatchObject({ allow: true })
      })

      it('added role brings its scopes', async () => {
        const line = /```yaml\n(support: .*)\n```/.exec(readme)![1]!
        writeFileSync(
          join(dir, 'toolgate/roles/data.yaml'),
          `${readFileSync(join(dir, 'toolgate/roles/data.yaml'), 'utf8')}${line}\n`,
        )
        expect(await failed()).toEqual([])
        const built = await build()
        const asked = { action: 'control.metrics.read', caller: { roles: ['support'], scopes: [] } }
        expect(await decide(built, asked)).toMatchObject({ allow: true })
      })
    })
  },
)
