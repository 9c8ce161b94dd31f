/** Checks and drafts of policies, and the confined `opa`: shell scripts replace opa and regal, so that they can fail in every way. build.test.ts runs opa. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CheckStep, checkPolicies } from '../../../src/policy/workshop/check.ts'
import { confineOpa } from '../../../src/policy/workshop/confined-opa.ts'
import { type CompiledDraft, compileDraft } from '../../../src/policy/workshop/draft.ts'
import { SHIPPED } from '../../fixtures/policy/inputs.ts'

let dir: string
let policies: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'steps-'))
  policies = join(dir, 'policies')
  mkdirSync(policies)
})
afterEach(() => rmSync(dir, { recursive: true }))

interface Response {
  readonly out?: unknown
  readonly err?: string
  readonly exitCode?: number
}
const ENV = { PATH: '/usr/bin:/bin' }

/** A program that responds by the first listed command with which its arguments begin, and records what it was called with. */
function program(name: string, responses: Readonly<Record<string, Response>>): string {
  const parts = Object.entries(responses).map(([command, { out = '', err = '', exitCode = 0 }], at) => {
    const file = join(dir, `${name}-${at}`)
    writeFileSync(file, typeof out === 'string' ? out : JSON.stringify(out))
    writeFileSync(`${file}.err`, err)
    return `"${command}"*) cat "${file}"; cat "${file}.err" >&2; exit ${exitCode};;`
  })
  const script = `#!/bin/sh\necho "$(basename "$PWD")|$*" >> "${join(dir, `${name}.log`)}"\ncase "$*" in\n${parts.join('\n')}\nesac\nexit 9\n`
  const file = join(dir, name)
  writeFileSync(file, script, { mode: 0o755 })
  return file
}
const calls = (name = 'opa') =>
  readFileSync(join(dir, `${name}.log`), 'utf8')
    .trimEnd()
    .split('\n')

function write(path: string, text: string): void {
  mkdirSync(dirname(join(policies, path)), { recursive: true })
  writeFileSync(join(policies, path), text)
}

const annotation = (scope: string, more: object) => ({
  annotations: { scope, ...more },
  location: { file: 'a.rego', row: 5 },
  path: [{ value: 'data' }, { value: 'deny' }],
})
const CODED = annotation('rule', { title: 'A', custom: { reason_code: 'a' } })
const WELL: Readonly<Record<string, Response>> = {
  fmt: {},
  check: {},
  'test -b . --coverage': { out: { coverage: 100, files: {} } },
  test: {
    out: [
      { package: 'data.a_test', name: 'test_a' },
      { package: 'data.a_test', name: 'test_b' },
    ],
  },
  inspect: { out: { annotations: [CODED] } },
  'eval --partial': { out: { partial: { queries: [['a_5', 'a']] } } },
  eval: { out: { result: [] } },
}

describe('the checks of a folder of policies', () => {
  async function steps(changed: Readonly<Record<string, Response>> = {}, regal?: string) {
    const found = await checkPolicies({
      dir: policies,
      opa: program('opa', { ...WELL, ...changed }),
      env: ENV,
      ...(regal === undefined ? {} : { regal }),
    })
    return Object.fromEntries(found.map(step => [step.name, step])) as Record<CheckStep['name'], CheckStep>
  }
  const ok = (name: string, detail: string) => ({ name, ok: true, detail })
  const fault = (name: string, detail: string) => ({ name, ok: false, detail })

  it('are all well', async () => {
    write('a.rego', 'package a\n\n# METADATA\n# reason_code: a\ndeny contains "a" if true\n')
    expect(Object.values(await steps())).toEqual([
      ok('format', 'every file is formatted'),
      ok('check', 'opa check --strict finds no errors'),
      ok('test', 'all tests passed (2)'),
      ok('coverage', '100 % of the lines are covered'),
      ok('metadata', 'every deny rule has a reason_code (rules: 1)'),
      ok('reach', 'every deny rule can deny a request'),
    ])
    expect(calls().slice(0, 5)).toEqual([
      'policies|fmt --diff --fail .',
      'policies|check --strict -b .',
      'policies|test -b . -f json',
      'policies|test -b . --coverage -f json',
      'policies|inspect -a -f json .',
    ])
  })

  it('use the schema of the input where there is one', async () => {
    write('schemas/input.json', '{}')
    await steps()
    expect(calls()[1]).toBe('policies|check --strict -b . -s schemas/input.json')
  })

  it('report what opa and regal print', async () => {
    const regal = program('regal', { lint: { out: 'a.rego:1 lint\n', exitCode: 3 } })
    const found = await steps(
      { fmt: { out: 'diff\n', err: 'a.rego\n', exitCode: 2 }, check: { err: 'unsafe', exitCode: 1 } },
      regal,
    )
    expect(found.format).toEqual(fault('format', 'diff\n\na.rego'))
    expect(found.check).toEqual(fault('check', 'unsafe'))
    expect(found.lint).toEqual(fault('lint', 'a.rego:1 lint'))
    expect(calls('regal')).toEqual(['policies|lint --format compact .'])
    expect((await steps({}, program('regal', { lint: {} }))).lint).toEqual(
      ok('lint', 'regal reports no findings'),
    )
  })

  it('name the tests that fail, and say when there are none or opa does not list them', async () => {
    const tests = [
      { package: 'data.a_test', name: 'test_a', fail: true },
      { package: 'data.b_test', name: 'test_b' },
    ]
    expect((await steps({ test: { out: tests, exitCode: 2 } })).test).toEqual(
      fault('test', '1 of 2 tests failed:\n  data.a_test.test_a'),
    )
    const error = {
      code: 'eval_type_error',
      message: 'a.rego:3: eval_type_error: abs: operand 1 must be number',
    }
    const broken = [...tests, { package: 'data.b_test', name: 'test_c', error }]
    expect((await steps({ test: { out: broken, exitCode: 2 } })).test).toEqual(
      fault('test', `2 of 3 tests failed:\n  data.a_test.test_a\n  data.b_test.test_c: ${error.message}`),
    )
    expect((await steps({ test: { out: broken.slice(1), exitCode: 2 } })).test.detail).toContain(
      error.message,
    )
    expect((await steps({ test: { out: tests } })).test.ok).toBe(false)
    expect((await steps({ test: { out: [] } })).test).toEqual(fault('test', 'the policies have no tests'))
    expect((await steps({ test: { out: tests.slice(1), err: 'no memory', exitCode: 2 } })).test).toEqual(
      fault('test', expect.stringContaining('no memory')),
    )
    expect((await steps({ test: { out: '{}', err: 'no', exitCode: 1 } })).test).toEqual(
      fault('test', '{}\nno'),
    )
  })

  it('name the lines that no test reaches', async () => {
    const files = {
      'a.rego': { not_covered: [{ start: { row: 3 } }, { start: { row: 9 } }] },
      'b.rego': {},
    }
    const coverage = async (out: unknown) => (await steps({ 'test -b . --coverage': { out } })).coverage
    expect(await coverage({ coverage: 99.9, files })).toEqual(
      fault(
        'coverage',
        '99.9 % of the lines are covered, 100 % are required; no test reaches these lines:\n  a.rego:3\n  a.rego:9',
      ),
    )
    expect(await coverage({ coverage: 80 })).toEqual(
      fault('coverage', '80 % of the lines are covered, 100 % are required; no test reaches these lines:\n'),
    )
    for (const unknown of ['', '{}', '[]', 'null'])
      expect(await coverage(unknown)).toEqual(
        fault('coverage', 'not measured, because opa test --coverage failed'),
      )
  })

  it('name what METADATA lacks, and what can never deny', async () => {
    const annotations = [CODED, annotation('package', { title: 'P' })]
    const found = await steps({
      inspect: { out: { annotations } },
      'eval --partial': { out: { partial: {} } },
    })
    expect(found.metadata).toEqual(
      fault('metadata', 'a.rego:5 is a package whose METADATA has no description.'),
    )
    expect(found.reach.ok, 'no source has the rule').toBe(true)
    write('a.rego', 'package a\n\n# METADATA\n# reason_code: a\ndeny contains "a" if true\n')
    expect((await steps({ 'eval --partial': { out: { partial: {} } } })).reach).toEqual(
      fault(
        'reach',
        'a.rego:5 can never deny: with the current data, the conditions of the rule do not hold for any input.',
      ),
    )
    const broken = await steps({ inspect: { out: 'out', err: 'no parse', exitCode: 1 } })
    expect(broken.metadata).toEqual(fault('metadata', 'out\nno parse'))
    expect(broken.reach).toEqual(fault('reach', 'not checked, because METADATA cannot be read'))
  })
})

const CAPABILITIES = {
  builtins: [
    { name: 'plus' },
    { name: 'http.send' },
    { name: 'opa.runtime' },
    { name: 'net.lookup_ip_addr' },
    { name: 'eq' },
  ],
  allow_net: ['example.test'],
  features: ['rego_v1'],
}

describe('a confined opa', () => {
  it('may not reach the network or the machine, and gets the list of functions where it evaluates', async () => {
    const opa = program('opa', {
      capabilities: { out: CAPABILITIES },
      check: {},
      inspect: {},
      eval: {},
      build: {},
      test: {},
    })
    const run = await confineOpa(opa, policies)
    const file = join(policies, 'capabilities.json')
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      builtins: [{ name: 'plus' }, { name: 'eq' }],
      allow_net: [],
      features: ['rego_v1'],
    })
    for (const command of ['build', 'check', 'eval', 'test', 'inspect']) await run(dir, [command, '-b', '.'])
    expect(calls().map(line => line.split('|')[1])).toEqual([
      'capabilities --current',
      ...['build', 'check', 'eval', 'test'].map(command => `${command} --capabilities ${file} -b .`),
      'inspect -b .',
    ])
  })

  it('has neither the environment of this process nor endless time, memory or files', async () => {
    const opa = join(dir, 'opa')
    const report =
      '#!/bin/sh\n[ "$1" = capabilities ] && echo \'{"builtins":[]}\' && exit\nenv | sort; ulimit -v; ulimit -t; ulimit -f\n'
    writeFileSync(opa, report, { mode: 0o755 })
    process.env.CANARY = 'secret'
    const { stdout } = await (await confineOpa(opa, policies))(dir, ['inspect'])
    delete process.env.CANARY
    expect(stdout).not.toContain('CANARY')
    for (const line of [
      `HOME=${policies}`,
      `TMPDIR=${policies}`,
      'GOMEMLIMIT=512MiB',
      'GOMAXPROCS=2',
      '3145728',
      '20',
      '131072',
    ])
      expect(stdout.split('\n')).toContain(line)
  })

  it('is an error when it does not list its functions', async () => {
    const opa = program('opa', { capabilities: { err: `  ${'x'.repeat(600)}`, exitCode: 1 } })
    await expect(confineOpa(opa, policies)).rejects.toThrow(/^opa capabilities --current failed: x{500}$/)
  })
})

describe('a draft', () => {
  const FILES = { 'rules/a.rego': 'package a\n', 'rules/a_test.rego': 'package a_test\n' }
  const DECISION: Readonly<Record<string, Response>> = {
    capabilities: { out: CAPABILITIES },
    check: {},
    test: { out: '' },
    deps: { out: {} },
    inspect: { out: {} },
    eval: { out: {} },
  }
  async function compile(
    changed: Readonly<Record<string, Response>> = {},
    trial: (bundle: Uint8Array) => Promise<void> = async () => undefined,
  ): Promise<CompiledDraft> {
    const opa = program('opa', { ...DECISION, ...changed })
    // `opa build` writes a bundle
    const script = readFileSync(opa, 'utf8').replace(
      'case "$*" in',
      `if [ "$1" = build ]; then for last; do :; done; exec cp "${SHIPPED.pathname ?? SHIPPED}" "$last"; fi\ncase "$*" in`,
    )
    if (changed.build === undefined) writeFileSync(opa, script)
    return compileDraft(FILES, { opa, schema: '{"title":"input"}', trial })
  }
  const at = (file: string | null, row: number | null, column: number | null, message: string) => ({
    file,
    row,
    column,
    message,
  })

  it('is compiled with the schema of the input, and leaves no folder', async () => {
    const { errors, tests, built } = await compile()
    expect([errors, tests]).toEqual([[], []])
    expect(built!.revision).toMatch(/^[0-9a-f]{32}$/)
    const check = calls().find(line => line.includes('|check'))!
    expect(check).toMatch(
      /^sources\|check --capabilities \S+ --strict -b \. -s schemas\/input\.json -f json -m 50$/,
    )
    const folder = /--capabilities (\S+)\/capabilities\.json/.exec(check)![1]!
    expect(existsSync(folder)).toBe(false)
    expect(calls().some(line => line.includes('--timeout 5s -b . -f json'))).toBe(true)
  })

  it('has the errors that opa lists, each at its place, and a bounded number of them', async () => {
    const location = { file: 'rules/a.rego', row: 3, col: 7 }
    const listed = (errors: object[]) => compile({ check: { err: JSON.stringify({ errors }), exitCode: 1 } })
    const { errors, tests, built } = await listed([{ message: 'unsafe', location }, {}])
    expect(errors).toEqual([at('rules/a.rego', 3, 7, 'unsafe'), at(null, null, null, 'error')])
    expect([tests, built]).toEqual([[], undefined])
    const many = await listed(Array.from({ length: 60 }, () => ({ message: 'x'.repeat(3000) })))
    expect(many.errors).toHaveLength(50)
    expect(many.errors[0]!.message).toHaveLength(2000)
  })

  it.each([
    ['other output', { out: 'odd', exitCode: 1 }, at(null, null, null, 'odd')],
    ['a list that is not one', { out: { errors: 'x' }, exitCode: 1 }, at(null, null, null, '{"errors":"x"}')],
    ['nothing', { exitCode: 4 }, at(null, null, null, 'opa ended with exit code 4.')],
    ['a line with a place', { err: 'rules/a.rego:4: odd', exitCode: 1 }, at('rules/a.rego', 4, null, 'odd')],
    [
      'a line with a column',
      { err: '1 error occurred: rules/a.rego:4:9: odd', exitCode: 1 },
      at('rules/a.rego', 4, 9, 'odd'),
    ],
    [
      'a line more',
      { err: 'rules/a.rego:4: odd\nmore', exitCode: 1 },
      at(null, null, null, 'rules/a.rego:4: odd\nmore'),
    ],
  ])('has %s of opa as its error', async (_, check, error) => {
    expect((await compile({ check })).errors).toEqual([error])
  })

  it('has the results of its tests', async () => {
    const location = { file: 'rules/a_test.rego', row: 2 }
    const out = [
      { package: 'data.a_test', name: 'test_a', location },
      { package: 'data.a_test', name: 'test_b', location, fail: true },
      { name: 'test_c', error: { message: 'y'.repeat(3000) } },
      { error: {} },
    ]
    const { tests, built } = await compile({ test: { out, exitCode: 2 } })
    const place = { package: 'a_test', file: 'rules/a_test.rego', row: 2, error: null }
    const none = { package: '', file: '', row: 0, passed: false }
    expect(tests).toEqual([
      { ...place, name: 'test_a', passed: true },
      { ...place, name: 'test_b', passed: false },
      { ...none, name: 'test_c', error: 'y'.repeat(2000) },
      { ...none, name: '', error: null },
    ])
    expect(built).toBeDefined()
    const many = Array.from({ length: 600 }, (_, number) => ({ name: `test_${number}` }))
    expect((await compile({ test: { out: many } })).tests).toHaveLength(500)
  })

  it.each([
    ['what opa says', { err: ' no memory\n', exitCode: 2 }, 'no memory'],
    ['its exit code', { exitCode: 2 }, 'opa ended with exit code 2.'],
    ['a bounded text', { err: 'z'.repeat(3000), exitCode: 2 }, 'z'.repeat(2000)],
  ])('has a failed test with %s when opa does not run its tests', async (_, test, error) => {
    expect((await compile({ test })).tests).toEqual([
      { package: '', name: 'opa test', file: '', row: 0, passed: false, error },
    ])
  })

  it('has what the build says as its errors, and keeps the results of its tests', async () => {
    const out = [{ name: 'test_a' }]
    const refused = await compile({ test: { out } }, () =>
      Promise.reject(new Error('rules/a.rego:4 can never deny: no.\nrules/b.rego:5: no')),
    )
    expect(refused.errors).toEqual([
      at('rules/a.rego', 4, null, 'can never deny: no.'),
      at('rules/b.rego', 5, null, 'no'),
    ])
    expect(refused.tests).toHaveLength(1)
    expect(refused.built).toBeUndefined()
    const lines = Array.from({ length: 60 }, (_, number) => `a.rego:${number}: no`).join('\n')
    expect((await compile({}, () => Promise.reject(new Error(lines)))).errors).toHaveLength(50)
  })
})
