/** How the residue of `opa eval --partial` is read: which rules it makes impossible. The residues are given; the real opa runs in test/integration. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { BundleRule } from '../../../src/policy/bundle.ts'
import { type RunOpa, rulesThatNeverMatch } from '../../../src/policy/workshop/never.ts'

interface Schema {
  readonly enum?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
}

const SCHEMA = new URL('../../../policies/schemas/input.json', import.meta.url)

function valuesIn(schema: Schema, path = ''): (readonly [path: string, value: string])[] {
  const below = Object.entries(schema.properties ?? {}).flatMap(([name, part]) =>
    valuesIn(part, path === '' ? name : `${path}.${name}`),
  )
  return [...(schema.enum ?? []).map(value => [path, value] as const), ...below]
}

const text = (value: string) => ({ type: 'string', value })
const ref = (...path: string[]) => ({
  type: 'ref',
  value: path.map((part, at) => (at === 0 ? { type: 'var', value: part } : text(part))),
})
const EQ = ref('eq')
const input = (path: string) => ref('input', ...path.split('.'))
const is = (path: string, value: string) => ({ terms: [EQ, input(path), text(value)] })

const SOURCE = `package toolgate.rules.mine

# METADATA
# custom:
#   reason_code: mine
deny contains {"code": "mine"} if {
	input.x
}

# METADATA
other := "mine"
`
const RULE: BundleRule = { code: 'mine', title: '', file: 'rules/mine.rego', line: 6 }
const CODE = 'mine_6'
const ran = (value: unknown, exitCode = 0) => ({ exitCode, stdout: JSON.stringify(value), stderr: '' })

interface Script {
  readonly residue?: unknown
  readonly exitCode?: number
  readonly operations?: readonly string[]
  readonly sources?: readonly { readonly path: string; readonly content: Buffer }[]
  readonly rules?: readonly BundleRule[]
  readonly see?: (cwd: string, args: readonly string[]) => void
}

async function faults({
  residue,
  exitCode = 0,
  operations = ['tools.call', 'tools.list'],
  sources = [{ path: RULE.file, content: Buffer.from(SOURCE) }],
  rules = [RULE],
  see,
}: Script): Promise<string[]> {
  const opa: RunOpa = async (cwd, args) => {
    see?.(cwd, args)
    if (args.includes('--partial')) return ran({ partial: residue }, exitCode)
    return ran({ result: [{ expressions: [{ value: operations }] }] }, operations.length > 0 ? 0 : 1)
  }
  return rulesThatNeverMatch(sources, rules, opa)
}

const bodies = (...all: (readonly object[])[]) => ({
  modules: [{ rules: all.map(body => ({ body, head: { key: text(CODE) } })) }],
})
const says = (why: string) => [`rules/mine.rego:6 can never deny: ${why}.`]
const UNHELD = says('with the current data, the conditions of the rule do not hold for any input')

describe('a rule', () => {
  it.each([
    ['an unknown operation', [is('action.name', 'tools.cal')], 'input.action.name is never "tools.cal"'],
    ['an unknown type', [is('subject.type', 'robot')], 'input.subject.type is never "robot"'],
    [
      'an unknown value of a path that may be absent',
      [is('subject.properties.rights', 'union')],
      'input.subject.properties.rights is never "union"',
    ],
    [
      'a literal on the left',
      [{ terms: [EQ, text('gopher'), input('context.access')] }],
      'input.context.access is never "gopher"',
    ],
    [
      'the operator equal',
      [{ terms: [ref('equal'), input('resource.properties.source'), text('soap')] }],
      'input.resource.properties.source is never "soap"',
    ],
    [
      'two values of a path without known ones',
      [is('subject.id', 'a'), { terms: text('x') }, is('subject.id', 'b')],
      'input.subject.id would have to be "a" and "b" at once',
    ],
  ])('never denies with %s', async (_, body, why) => {
    expect(await faults({ residue: bodies(body) })).toEqual(says(why))
  })

  it.each([
    [
      'known values',
      [is('action.name', 'tools.list'), is('subject.type', 'api_key'), is('resource.type', 'admin')],
    ],
    ['each source and access', [is('resource.properties.source', 'mcp'), is('context.access', 'jsonrpc')]],
    ['a value twice', [is('subject.id', 'a'), is('subject.id', 'a')]],
    ['a negation', [{ ...is('action.name', 'tools.cal'), negated: true }]],
    ['one term', [{ terms: input('action.name') }]],
    ['two terms', [{ terms: [EQ, input('action.name')] }]],
    ['another operator', [{ terms: [ref('neq'), input('action.name'), text('tools.cal')] }]],
    [
      'an operator that is not a reference',
      [{ terms: [text('eq'), input('action.name'), text('tools.cal')] }],
    ],
    ['a number', [{ terms: [EQ, input('action.name'), { type: 'number', value: 7 }] }]],
    ['a path of the data', [{ terms: [EQ, ref('data', 'action', 'name'), text('tools.cal')] }]],
    [
      'a variable in the path',
      [
        {
          terms: [
            EQ,
            { type: 'ref', value: [...input('action').value, { type: 'var', value: 'name' }] },
            text('x'),
          ],
        },
      ],
    ],
    ['an empty reference', [{ terms: [EQ, { type: 'ref', value: [] }, text('x')] }]],
    ['no condition', []],
  ])('is left alone with %s', async (_, body) => {
    expect(await faults({ residue: bodies(body) })).toEqual([])
  })

  it('is left alone with every value that the schema of the input lists', async () => {
    const listed = valuesIn(JSON.parse(readFileSync(SCHEMA, 'utf8')) as Schema)
    expect(listed.length).toBeGreaterThan(15)
    for (const [path, value] of listed)
      expect(await faults({ residue: bodies([is(path, value)]) }), `${path} ${value}`).toEqual([])
  })

  it('is left alone when one of its bodies can hold, and named with the last reason otherwise', async () => {
    const [never, other] = [[is('action.name', 'x')], [is('action.name', 'y')]]
    expect(await faults({ residue: bodies(never, [is('action.name', 'tools.call')]) })).toEqual([])
    expect(await faults({ residue: bodies(never, other) })).toEqual(says('input.action.name is never "y"'))
  })

  it('is left alone where its code stands outside of a head, and named where it stands nowhere', async () => {
    const head = { key: text('another') }
    expect(await faults({ residue: { queries: [[{ terms: text(CODE) }]] } })).toEqual([])
    const elsewhere = { modules: [{ rules: [{ body: [{ terms: text(CODE) }], head }] }] }
    expect(await faults({ residue: elsewhere })).toEqual([])
    expect(await faults({ residue: { modules: [{ rules: [{ body: [], head }] }, {}] } })).toEqual(UNHELD)
    expect(await faults({ residue: {} })).toEqual(UNHELD)
  })

  it('is left alone when opa does not evaluate it, and any operation is when they are unknown', async () => {
    const never = bodies([is('action.name', 'tools.cal')])
    expect(await faults({ residue: never, exitCode: 1 })).toEqual([])
    expect(await faults({ residue: undefined })).toEqual([])
    expect(await faults({ residue: never, operations: [] })).toEqual([])
  })
})

describe('the copy that opa evaluates', () => {
  it('has a code for each rule, in its METADATA and where the rule writes it out, and is removed', async () => {
    const plain = { path: 'lib/plain.rego', content: Buffer.from('package lib\nx := "mine"\n') }
    let folder = ''
    const calls: string[][] = []
    await faults({
      residue: {},
      sources: [{ path: RULE.file, content: Buffer.from(SOURCE) }, plain],
      see(cwd, args) {
        folder = cwd
        calls.push([...args])
        const copy = readFileSync(join(cwd, RULE.file), 'utf8')
        expect(copy).toBe(
          SOURCE.replace('reason_code: mine', `reason_code: ${CODE}`).replace(
            '"code": "mine"',
            `"code": "${CODE}"`,
          ),
        )
        expect(readFileSync(join(cwd, plain.path))).toEqual(plain.content)
      },
    })
    expect(calls).toEqual([
      ['eval', '-b', '.', '-f', 'json', 'object.keys(data.toolgate.operations)'],
      ['eval', '--partial', '-b', '.', '-f', 'json', '[data.toolgate.rules.mine.deny]'],
    ])
    expect(existsSync(folder)).toBe(false)
  })

  it('keeps the code of a rule that has it in another way than METADATA', async () => {
    const source = 'package mine\n\ndeny contains {"code": "mine"} if input.x\n'
    const sources = [{ path: RULE.file, content: Buffer.from(source) }]
    const rules = [{ ...RULE, line: 3 }]
    const residue = { queries: [[{ terms: text('mine') }]] }
    const see = (cwd: string) => expect(readFileSync(join(cwd, RULE.file), 'utf8')).toBe(source)
    expect(await faults({ sources, rules, residue, see })).toEqual([])
  })

  it('is evaluated for a hundred packages at a time, each once', async () => {
    const names = Array.from({ length: 101 }, (_, at) => `r${at}`)
    const sources = names.map(name => ({
      path: `${name}.rego`,
      content: Buffer.from(
        `package ${name}\n\n# METADATA\n# custom:\n#  reason_code: ${name}\ndeny contains "x" if true\n`,
      ),
    }))
    const rules = names.flatMap(name => [
      { code: name, title: '', file: `${name}.rego`, line: 6 },
      { code: name, title: '', file: `${name}.rego`, line: 6 },
    ])
    const queries: string[] = []
    const found = await faults({
      sources,
      rules,
      residue: {},
      see: (_, args) => args.includes('--partial') && queries.push(args.at(-1)!),
    })
    expect(queries.map(query => query.split(', ').length)).toEqual([100, 1])
    expect(queries[1]).toBe('[data.r100.deny]')
    expect(found).toHaveLength(202)
  })

  it('is removed when opa cannot be started', async () => {
    let folder = ''
    const opa: RunOpa = cwd => {
      folder = cwd
      return Promise.reject(new Error('no such program'))
    }
    await expect(rulesThatNeverMatch([], [], opa)).rejects.toThrow('no such program')
    expect(existsSync(folder)).toBe(false)
  })
})
