/** Checks the sources of a policy with `opa` and, where given, `regal`, and reports the steps. */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseJson } from '../../base/json/parse-json.ts'
import { inspectRules } from './annotations.ts'
import { type RunOpa, rulesThatNeverMatch } from './never.ts'
import { type Environment, type Ran, runProgram } from './opa.ts'
import { readSources } from './sources.ts'

export interface CheckOptions {
  /** Folder of the policies. */
  readonly dir: string
  /** Address of the `opa` program. */
  readonly opa: string
  readonly env: Environment
  /** Address of the `regal` program; undefined: nothing is linted. */
  readonly regal?: string
}

export interface CheckStep {
  readonly name: 'format' | 'lint' | 'check' | 'test' | 'coverage' | 'metadata' | 'reach'
  readonly ok: boolean
  /** One line when all is well, else what to fix. */
  readonly detail: string
}

/** Percent of the lines that tests must reach. */
const COVERAGE = 100

/** Runs every step, also after one has failed: an author wants the whole list. */
export async function checkPolicies(options: CheckOptions): Promise<readonly CheckStep[]> {
  const opa = (...args: string[]) => runProgram(options.opa, args, { cwd: options.dir, env: options.env })
  const schema = existsSync(join(options.dir, 'schemas/input.json')) ? ['-s', 'schemas/input.json'] : []
  const format = await opa('fmt', '--diff', '--fail', '.')
  const check = await opa('check', '--strict', '-b', '.', ...schema)
  const test = await opa('test', '-b', '.', '-f', 'json')
  const coverage = await opa('test', '-b', '.', '--coverage', '-f', 'json')
  const inspected = await opa('inspect', '-a', '-f', 'json', '.')
  return [
    step('format', format.exitCode === 0, 'every file is formatted', output(format)),
    ...(options.regal === undefined ? [] : [await runLinter(options.regal, options)]),
    step('check', check.exitCode === 0, 'opa check --strict finds no errors', output(check)),
    judgeTests(test),
    judgeCoverage(coverage),
    judgeAnnotations(inspected),
    await reached(inspected, options),
  ]
}

async function runLinter(regal: string, { dir, env }: CheckOptions): Promise<CheckStep> {
  const ran = await runProgram(regal, ['lint', '--format', 'compact', '.'], { cwd: dir, env })
  return step('lint', ran.exitCode === 0, 'regal reports no findings', output(ran))
}

async function reached(inspected: Ran, { dir, opa, env }: CheckOptions): Promise<CheckStep> {
  if (inspected.exitCode !== 0)
    return step('reach', false, '', 'not checked, because METADATA cannot be read')
  const { coded } = inspectRules(inspected.stdout)
  const runOpa: RunOpa = (cwd, args) => runProgram(opa, args, { cwd, env })
  const faults = await rulesThatNeverMatch(readSources(dir), coded, runOpa)
  return step('reach', faults.length === 0, 'every deny rule can deny a request', faults.join('\n'))
}

function step(name: CheckStep['name'], ok: boolean, well: string, wrong: string): CheckStep {
  return { name, ok, detail: ok ? well : wrong }
}

function output({ stdout, stderr }: Ran): string {
  return `${stdout}\n${stderr}`.trim()
}

interface OpaTest {
  readonly package: string
  readonly name: string
  readonly fail?: boolean
  /** Why it could not be evaluated. */
  readonly error?: { readonly message?: string }
}

function judgeTests(ran: Ran): CheckStep {
  const results = parseJson(ran.stdout)
  if (!Array.isArray(results)) return step('test', false, '', output(ran))
  const tests = results as OpaTest[]
  const failed = tests.filter(one => one.fail === true || one.error !== undefined)
  const listed = failed.map(
    ({ package: path, name, error }) =>
      `  ${path}.${name}${error === undefined ? '' : `: ${error.message ?? 'error'}`}`,
  )
  return step(
    'test',
    ran.exitCode === 0 && failed.length === 0 && tests.length > 0,
    `all tests passed (${tests.length})`,
    failed.length > 0
      ? `${failed.length} of ${tests.length} tests failed:\n${listed.join('\n')}`
      : tests.length === 0
        ? 'the policies have no tests'
        : output(ran),
  )
}

function judgeCoverage(ran: Ran): CheckStep {
  const report = parseJson(ran.stdout) as
    | {
        readonly coverage?: number
        readonly files?: Record<string, { not_covered?: { start: { row: number } }[] }>
      }
    | undefined
  if (typeof report?.coverage !== 'number')
    return step('coverage', false, '', 'not measured, because opa test --coverage failed')
  const missed = Object.entries(report.files ?? {}).flatMap(([file, { not_covered = [] }]) =>
    not_covered.map(range => `  ${file}:${range.start.row}`),
  )
  return step(
    'coverage',
    report.coverage >= COVERAGE,
    `${report.coverage} % of the lines are covered`,
    `${report.coverage} % of the lines are covered, ${COVERAGE} % are required; no test reaches these lines:\n${missed.join('\n')}`,
  )
}

function judgeAnnotations(ran: Ran): CheckStep {
  if (ran.exitCode !== 0) return step('metadata', false, '', output(ran))
  const { coded, faults } = inspectRules(ran.stdout)
  return step(
    'metadata',
    faults.length === 0,
    `every deny rule has a reason_code (rules: ${coded.length})`,
    faults.join('\n'),
  )
}
