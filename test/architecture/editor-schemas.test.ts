/** The JSON schemas of editors: those of resources accept the examples, that of plans is as strict as the gateway. */
import { readdirSync, readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { parsePlans } from '../../src/data-plane/quota/plans.ts'

const schemaOf = (name: string) => JSON.parse(readFileSync(`deploy/schemas/${name}.schema.json`, 'utf8'))
const ajv = new Ajv({ strict: false, validateFormats: false })
const check = {
  ToolSet: ajv.compile(schemaOf('toolset')),
  Tool: ajv.compile(schemaOf('tool')),
  ToolView: ajv.compile(schemaOf('toolview')),
  plans: ajv.compile(schemaOf('plans')),
}

/** Documents of a kind in the files and pages of the repository. */
function resources(kind: string): [string, unknown][] {
  const files = ['toolsets', 'test/fixtures', 'docs']
    .flatMap(folder =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(file => `${folder}/${file}`),
    )
    .filter(
      file => /\.(?:yaml|md)$/.test(file) && !file.includes('node_modules') && !file.includes('configmaps'),
    )
  return files.flatMap(file => {
    // the conformance tests fill in this address
    const text = readFileSync(file, 'utf8').replaceAll('BACKEND_URL', 'http://localhost:9000')
    const blocks = file.endsWith('.md')
      ? [...text.matchAll(/```yaml\n(.*?)```/gs)].map(([, block]) => block ?? '')
      : [text]
    return blocks
      .flatMap(block => parseAllDocuments(block).map(document => document.toJS() as unknown))
      .filter(value => (value as { kind?: unknown } | null)?.kind === kind)
      .map((value): [string, unknown] => [file, value])
  })
}

describe.each(['ToolSet', 'Tool', 'ToolView'] as const)('a %s', kind => {
  it('of the examples and the pages is accepted', () => {
    const found = resources(kind)
    expect(found.length).toBeGreaterThan(0)
    for (const [file, value] of found)
      expect(check[kind](value), `${file}: ${JSON.stringify(check[kind].errors)}`).toBe(true)
  })

  it('with a misspelled field is rejected', () => {
    const [, value] = resources(kind)[0] as [string, { spec: object }]
    expect(check[kind]({ ...value, spec: { ...value.spec, displayname: 'x' } })).toBe(false)
  })
})

describe('plans', () => {
  it('of the repository are accepted', () => {
    expect(check.plans(parse(readFileSync('plans.yaml', 'utf8')))).toBe(true)
  })

  it.each([
    [true, 'plans: { a: }'],
    [true, 'plans: { a: { perMinute: 0, burst: 2147483647 } }\nrules: [{ plan: a, role: b, per: user }]'],
    [false, 'plans: { A: {} }'],
    [false, 'plans: { a: { perMinute: -1 } }'],
    [false, 'plans: { a: { perMinute: 1.5 } }'],
    [false, 'plans: { a: { perHour: 1 } }'],
    [false, 'plans: { a: { name: "" } }'],
    [false, 'consumers: { a: 1 }'],
    [false, 'rules: [{ role: b }]'],
    [false, 'rules: [{ plan: gold, per: role }]'],
    [false, 'other: 1'],
  ])('are accepted (%s) by the editor as by the gateway: %s', (accepted, text) => {
    expect(check.plans(parse(text))).toBe(accepted)
    if (accepted) expect(() => parsePlans(text)).not.toThrow()
    else expect(() => parsePlans(text)).toThrow()
  })
})
