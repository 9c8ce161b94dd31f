/** What authors of policies read about their METADATA, which files are sources, and the files of a new rule; all without opa. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { inspectRules } from '../../../src/policy/workshop/annotations.ts'
import { writeNewRule } from '../../../src/policy/workshop/new-rule.ts'
import { readSources, revisionOf } from '../../../src/policy/workshop/sources.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'workshop-'))
})
afterEach(() => rmSync(dir, { recursive: true }))

function write(path: string, text = ''): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true })
  writeFileSync(join(dir, path), text)
}

describe('METADATA', () => {
  const annotation = (file: string, row: number, more: object, rule = 'deny') => ({
    annotations: { scope: 'rule', title: 'A title', ...more },
    location: { file, row },
    path: [{ value: 'data' }, { value: 'toolgate' }, { value: rule }],
  })
  const coded = (code: unknown) => ({ custom: { reason_code: code } })
  const inspect = (...annotations: object[]) => inspectRules(JSON.stringify({ annotations }))

  it('lists the rules that deny, by code, file and line', () => {
    const { coded: rules, faults } = inspect(
      annotation('b.rego', 9, coded('zone')),
      annotation('b.rego', 7, coded('amount')),
      annotation('b.rego', 3, coded('amount')),
      annotation('a.rego', 5, {}, 'allow'),
      annotation('c.rego', 5, { scope: 'document', ...coded('other') }),
    )
    expect(rules.map(({ code, file, line }) => `${code} ${file}:${line}`)).toEqual([
      'amount b.rego:3',
      'amount b.rego:7',
      'zone b.rego:9',
    ])
    expect(rules[0]!.title).toBe('A title')
    expect(faults).toEqual([])
  })

  it('without title, description or code is a fault at its file and line', () => {
    const { coded: rules, faults } = inspect(
      annotation('d.rego', 4, coded('amount')),
      annotation('c.rego', 3, {}),
      annotation('b.rego', 2, { scope: 'package' }),
      annotation('a.rego', 1, { scope: 'package', title: undefined, description: 'What for.' }),
    )
    expect(faults).toEqual([
      'a.rego:1 has METADATA without a title.',
      'b.rego:2 is a package whose METADATA has no description.',
      'c.rego:3 is a deny rule without a custom.reason_code in snake_case.',
    ])
    expect(rules.map(rule => rule.code)).toEqual(['amount'])
  })

  it.each([
    ['an upper-case letter', 'aMount'],
    ['a digit first', '1amount'],
    ['a character more at the end', 'amount!'],
    ['65 characters', 'a'.repeat(65)],
    ['not a text', 7],
  ])('with a code of %s is a fault', (_, code) => {
    expect(inspect(annotation('a.rego', 1, coded(code))).faults).toHaveLength(1)
    expect(inspect(annotation('a.rego', 1, coded('a'.repeat(64)))).faults).toEqual([])
  })

  it('may not share a code between files', () => {
    const rules = [
      annotation('a.rego', 1, coded('amount')),
      annotation('a.rego', 9, coded('amount')),
      annotation('b.rego', 5, coded('amount')),
    ]
    expect(inspect(...rules).faults).toEqual([
      'b.rego:5 denies with "amount", which is already the reason_code of a rule in a.rego.',
    ])
    expect(inspectRules('{}')).toEqual({ coded: [], faults: [] })
  })
})

describe('the sources of a bundle', () => {
  const FILES = ['b/data.yaml', 'b/data.json', 'a/rule.rego', 'data.yml']

  it('are rego modules and data documents by path, without tests, hidden files and others', () => {
    for (const path of FILES) write(path, path)
    for (const path of ['a/rule_test.rego', '.git/x.rego', '.hidden.rego', 'README.md', 'other.json'])
      write(path)
    expect(readSources(dir).map(({ path, content }) => [path, content.toString()])).toEqual(
      [...FILES].sort().map(path => [path, path]),
    )
  })

  it('have a revision that changes with every path and content, and with nothing else', () => {
    for (const path of FILES) write(path, path)
    const revision = () => revisionOf(readSources(dir))
    const first = revision()
    expect(first).toMatch(/^[0-9a-f]{32}$/)
    write('a/rule_test.rego', 'changed')
    expect(revision()).toBe(first)
    write('a/rule.rego', 'changed')
    const second = revision()
    write('a/rule.rego', 'a/rule.rego')
    expect(revision()).toBe(first)
    write('a/other.rego')
    expect(new Set([first, second, revision()]).size).toBe(3)
  })
})

describe('a new rule', () => {
  it('is written with its test, named as asked', () => {
    write('toolgate/main.rego')
    const files = writeNewRule(dir, 'payment_2')
    expect(files).toEqual([
      join('toolgate', 'rules', 'payment_2', 'payment_2.rego'),
      join('toolgate', 'rules', 'payment_2', 'payment_2_test.rego'),
    ])
    const [rule, test] = files.map(file => readFileSync(join(dir, file), 'utf8'))
    expect(rule).toContain('package toolgate.rules.payment_2\n')
    expect(rule).toContain('reason_code: payment_2\n')
    expect(test).toContain('import data.toolgate.rules.payment_2\n')
  })

  it.each(['', 'Payment', '2nd', 'pay-ment', '../up', 'payment!', 'a'.repeat(65)])(
    'is not named "%s"',
    name => {
      write('toolgate/main.rego')
      expect(() => writeNewRule(dir, name)).toThrow('is not a valid rule name')
    },
  )

  it('is not named as a word of Rego, or as a test', () => {
    write('toolgate/main.rego')
    for (const name of ['not', 'default', 'input', 'data', 'true'])
      expect(() => writeNewRule(dir, name)).toThrow('is a reserved word of Rego')
    expect(() => writeNewRule(dir, 'payment_test')).toThrow('ends in "_test"')
  })

  it('replaces none, and is not written outside a folder of policies', () => {
    expect(() => writeNewRule(dir, 'payment')).toThrow('it does not contain the folder "toolgate"')
    write('toolgate/rules/payment/mine.rego')
    expect(() => writeNewRule(dir, 'payment')).toThrow('the rule "payment" already exists')
  })
})
