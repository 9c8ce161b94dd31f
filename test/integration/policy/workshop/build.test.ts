/** Bundles built with the real `opa`: the committed one is what the sources compile to, and faults of a policy are refused with a message that names them. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readBundle } from '../../../../src/policy/bundle.ts'
import type { Decision } from '../../../../src/policy/engine.ts'
import { createOpaWasmEngine } from '../../../../src/policy/opa-wasm/engine.ts'
import { type Built, buildBundle } from '../../../../src/policy/workshop/build.ts'
import { checkPolicies } from '../../../../src/policy/workshop/check.ts'
import { findOpa, OPA_VERSION } from '../../../../src/policy/workshop/opa.ts'
import { readSources, revisionOf } from '../../../../src/policy/workshop/sources.ts'
import { type InputParts, inputOf, MISBEHAVING, SHIPPED } from '../../../fixtures/policy/inputs.ts'

const POLICIES = fileURLToPath(new URL('../../../../policies', import.meta.url))
const TOOLS = fileURLToPath(new URL('../../../../.tools/bin', import.meta.url))
const opa = await findOpa(TOOLS, process.env)
const missing = opa === undefined && process.env.REQUIRE_SERVICES !== '1'

describe('the committed bundle', () => {
  it('has the revision of the sources beside it (else: npm run policy:build)', () => {
    const { revision } = readBundle(readFileSync(SHIPPED))
    expect(revision).toBe(revisionOf(readSources(POLICIES)))
  })

  it('declares what it reads, and its decisions are cacheable', () => {
    const { reads, readsFound, rules } = readBundle(readFileSync(SHIPPED))
    expect(reads.cacheable).toBe(true)
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

    it('editing a rule and building it changes the decision', async () => {
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
      edit('toolgate/rules/role/role.rego', 'The request needs the role ', 'You need the role ')
      expect((await build()).revision).not.toBe(revision)
    })

    it('a built-in that WebAssembly lacks is refused by name', async () => {
      edit(
        'toolgate/rules/role/role.rego',
        'not _spared(needs)',
        'not _spared(needs)\n\thttp.send({"method": "GET", "url": "http://localhost"})',
      )
      await expect(build()).rejects.toThrow(
        'the policy calls the built-in functions http.send, which this gateway does not support in WebAssembly policies',
      )
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
      await expect(build()).rejects.toThrow(
        /Add these fields to custom\.reads in the METADATA of the entrypoint:\n {2}- context\.plan/,
      )
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
        'metadata: toolgate/rules/extra/extra.rego:8 is a deny rule without a custom.reason_code',
      )
    })

    it('a test that cannot be evaluated is named with its error', async () => {
      write(
        'toolgate/rules/role/conflict_test.rego',
        [
          'package toolgate.rules.role_test',
          '_one := 1 if count(input) > 0',
          '_one := 2 if count(input) > 0',
          'test_one if _one == 1 with input as {"a": 1}\n',
        ].join('\n\n'),
      )
      const faults = (await failed()).join('\n')
      expect(faults).toContain('test: 1 of ')
      expect(faults).toMatch(/toolgate\.rules\.role_test\.test_one: .*conflict/)
    })
  },
)
