/** Finds rules that cannot deny, as far as partial evaluation of a copy of the sources shows. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseJson } from '../../base/json/parse-json.ts'
import type { BundleRule } from '../bundle.ts'
import type { Ran } from './opa.ts'
import type { Source } from './sources.ts'

/** Runs opa in a folder. */
export type RunOpa = (cwd: string, args: readonly string[]) => Promise<Ran>

interface Term {
  readonly type: string
  readonly value: unknown
}
interface Expression {
  readonly negated?: boolean
  readonly terms: Term | readonly Term[]
}
interface Residue {
  readonly queries?: readonly unknown[]
  readonly modules?: readonly { readonly rules?: readonly ResidualRule[] }[]
}
interface ResidualRule {
  readonly body: readonly Expression[]
  readonly head: unknown
}

/** Each run of opa reads all sources again. */
const PACKAGES_AT_ONCE = 100

/**
 * @param coded the rules that deny, as `inspectRules` finds them.
 * @returns a sentence for each that never does, beginning with file and line.
 */
export async function rulesThatNeverMatch(
  sources: readonly Source[],
  coded: readonly BundleRule[],
  opa: RunOpa,
): Promise<string[]> {
  const dir = mkdtempSync(join(tmpdir(), 'toolgate-never-'))
  try {
    const named = write(dir, sources, coded)
    const operations = await operationsOf(dir, opa)
    const faults: string[] = []
    const packages = [...new Set(named.map(rule => rule.package))]
    for (let at = 0; at < packages.length; at += PACKAGES_AT_ONCE) {
      const some = packages.slice(at, at + PACKAGES_AT_ONCE)
      const rules = named.filter(rule => some.includes(rule.package))
      const residue = await residueOf(dir, some, opa)
      // what opa cannot evaluate is the business of `check`
      if (residue === undefined) continue
      for (const { rule, code } of rules) {
        const why = whyNever(residue, code, operations)
        if (why !== undefined) faults.push(`${rule.file}:${rule.line} can never deny: ${why}.`)
      }
    }
    return faults
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

interface NamedRule {
  readonly rule: BundleRule
  readonly package: string
  /** Unique in the copy, so that rules that share a code can be distinguished. */
  readonly code: string
}

/** Copies the sources, and gives each rule a unique code. */
function write(dir: string, sources: readonly Source[], coded: readonly BundleRule[]): NamedRule[] {
  const named: NamedRule[] = []
  for (const { path, content } of sources) {
    const lines = content.toString('utf8').split('\n')
    const own = /^package\s+(\S+)/m.exec(content.toString('utf8'))?.[1] ?? ''
    for (const rule of coded.filter(one => one.file === path)) {
      let at = rule.line - 1
      while (at >= 0 && !/^#\s+reason_code:/.test(lines[at]!)) at--
      const code = at < 0 ? rule.code : `${rule.code}_${rule.line}`
      if (at >= 0) lines[at] = lines[at]!.replace(/reason_code:.*/, `reason_code: ${code}`)
      // or written out in the rule itself
      for (let line = rule.line - 1; at >= 0 && line < lines.length && !lines[line]!.startsWith('#'); line++)
        lines[line] = lines[line]!.replaceAll(`"${rule.code}"`, `"${code}"`)
      named.push({ rule, package: own, code })
    }
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), lines.join('\n'))
  }
  return named
}

async function operationsOf(dir: string, opa: RunOpa): Promise<readonly string[]> {
  const ran = await opa(dir, ['eval', '-b', '.', '-f', 'json', 'object.keys(data.toolgate.operations)'])
  const response = parseOutput(ran) as { result?: { expressions?: { value?: string[] }[] }[] } | undefined
  return response?.result?.[0]?.expressions?.[0]?.value ?? []
}

async function residueOf(
  dir: string,
  packages: readonly string[],
  opa: RunOpa,
): Promise<Residue | undefined> {
  const query = `[${packages.map(name => `data.${name}.deny`).join(', ')}]`
  const ran = await opa(dir, ['eval', '--partial', '-b', '.', '-f', 'json', query])
  return (parseOutput(ran) as { partial?: Residue } | undefined)?.partial
}

function parseOutput({ exitCode, stdout }: Ran): unknown {
  return exitCode === 0 ? parseJson(stdout) : undefined
}

/** undefined: some input makes it deny, as far as can be seen. */
function whyNever(residue: Residue, code: string, operations: readonly string[]): string | undefined {
  const encoded = JSON.stringify(code)
  const rules = (residue.modules ?? []).flatMap(module => module.rules ?? [])
  const own = rules.filter(rule => JSON.stringify(rule.head).includes(encoded))
  if (own.length === 0) {
    // a code that is computed stands nowhere; a rule without conditions stands in the query itself
    const elsewhere =
      JSON.stringify(residue.queries ?? []).includes(encoded) || JSON.stringify(rules).includes(encoded)
    return elsewhere
      ? undefined
      : 'with the current data, the conditions of the rule do not hold for any input'
  }
  let why: string | undefined
  for (const { body } of own) {
    why = contradiction(body, operations)
    if (why === undefined) return undefined
  }
  return why
}

/** What is wrong with a list of conditions that must all hold. The names of operations are in the policies' own list, not in the schema. */
function contradiction(body: readonly Expression[], operations: readonly string[]): string | undefined {
  const wanted = new Map<string, string>()
  for (const expression of body) {
    const [path, value] = equality(expression) ?? []
    if (path === undefined || value === undefined) continue
    const known = path === 'action.name' && operations.length > 0 ? operations : knownValues().get(path)
    if (known !== undefined && !known.includes(value)) return `input.${path} is never "${value}"`
    const other = wanted.get(path)
    if (other !== undefined && other !== value)
      return `input.${path} would have to be "${other}" and "${value}" at once`
    wanted.set(path, value)
  }
  return undefined
}

/** `input.a.b = "text"`, either way round. */
function equality({ negated, terms }: Expression): readonly [path: string, value: string] | undefined {
  if (negated === true || !Array.isArray(terms) || terms.length !== 3) return undefined
  const [operator, a, b] = terms as unknown as readonly [Term, Term, Term]
  if (!['eq', 'equal'].includes(pathOf(operator) ?? '')) return undefined
  const [left, right] = b.type === 'string' ? [a, b] : [b, a]
  const path = pathOf(left)
  if (right.type !== 'string' || path === undefined || !path.startsWith('input.')) return undefined
  return [path.slice('input.'.length), right.value as string]
}

function pathOf({ type, value }: Term): string | undefined {
  if (type !== 'ref') return undefined
  const [root, ...rest] = value as readonly Term[]
  if (root === undefined || rest.some(part => part.type !== 'string')) return undefined
  return [root, ...rest].map(part => part.value as string).join('.')
}

interface Schema {
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Schema>>
}

const SCHEMA = new URL('../../../policies/schemas/input.json', import.meta.url)

let known: ReadonlyMap<string, readonly string[]> | undefined

/** Path → its texts; a path that can have any text is absent. */
function knownValues(): ReadonlyMap<string, readonly string[]> {
  known ??= new Map(listValues(JSON.parse(readFileSync(SCHEMA, 'utf8')) as Schema, []))
  return known
}

function listValues(
  { enum: values, properties = {} }: Schema,
  path: readonly string[],
): (readonly [path: string, values: readonly string[]])[] {
  const texts = values?.filter(value => typeof value === 'string')
  const below = Object.entries(properties).flatMap(([name, part]) => listValues(part, [...path, name]))
  return texts === undefined ? below : [[path.join('.'), texts], ...below]
}
