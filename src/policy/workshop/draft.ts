/** Compiles and tests a draft of a policy in a temporary folder with a confined `opa`, and reports errors, tests and the bundle. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { isObject } from '../../base/json/is-object.ts'
import { parseJson } from '../../base/json/parse-json.ts'
import { ownSchemas } from './annotations.ts'
import { type Built, buildBundle } from './build.ts'
import { confineOpa } from './confined-opa.ts'
import type { RunOpa } from './never.ts'

/** Path → text of the rego modules, tests and data documents. */
export type DraftFiles = Readonly<Record<string, string>>

/** What is wrong with a draft, and where. */
export interface DraftError {
  readonly file: string | null
  /** From 1. */
  readonly row: number | null
  readonly column: number | null
  readonly message: string
}

export interface DraftTest {
  readonly package: string
  readonly name: string
  readonly file: string
  readonly row: number
  readonly passed: boolean
  /** Why it could not be evaluated; null when it passed or failed. */
  readonly error: string | null
}

export interface CompiledDraft {
  readonly errors: readonly DraftError[]
  readonly tests: readonly DraftTest[]
  /** undefined when there are errors. */
  readonly built: Built | undefined
}

export interface DraftOptions {
  /** Address of the `opa` program. */
  readonly opa: string
  /** JSON schema of the input. */
  readonly schema: string
  readonly trial: (bundle: Uint8Array) => Promise<void>
}

const MAX_ERRORS = 50
const MAX_TESTS = 500
const MAX_MESSAGE = 2000
const SCHEMA_FILE = 'schemas/input.json'
const OWN_SCHEMA = 'METADATA contains its own schema. Remove it, or refer to schema.input.'

/** @throws Error when opa cannot be run */
export async function compileDraft(files: DraftFiles, options: DraftOptions): Promise<CompiledDraft> {
  const work = mkdtempSync(join(tmpdir(), 'toolgate-draft-'))
  try {
    const dir = join(work, 'sources')
    for (const [path, text] of Object.entries({ ...files, [SCHEMA_FILE]: options.schema })) {
      mkdirSync(dirname(join(dir, path)), { recursive: true })
      writeFileSync(join(dir, path), text)
    }
    const run = await confineOpa(options.opa, work)
    const errors = await checkDraft(run, dir)
    if (errors.length > 0) return { errors, tests: [], built: undefined }
    const tests = await testDraft(run, dir)
    try {
      const built = await buildBundle({ dir, opa: options.opa, env: {}, run, trial: options.trial })
      return { errors: [], tests, built }
    } catch (error) {
      return { errors: placeErrors((error as Error).message), tests, built: undefined }
    }
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

interface OpaError {
  readonly message?: string
  readonly location?: { readonly file?: string; readonly row?: number; readonly col?: number }
}

async function checkDraft(run: RunOpa, dir: string): Promise<readonly DraftError[]> {
  const inspected = await run(dir, ['inspect', '-a', '-f', 'json', '.'])
  // modules that cannot be parsed are not compiled by `opa check` either, which reports all of them
  const isParsed = !inspected.stderr.includes('rego_parse_error')
  if (isParsed && inspected.exitCode !== 0) return placeErrors(inspected.stderr.trim())
  const own = isParsed ? ownSchemas(inspected.stdout) : []
  if (own.length > 0) return placeErrors(own.map(at => `${at}: ${OWN_SCHEMA}`).join('\n'))
  const args = ['check', '--strict', '-b', '.', '-s', SCHEMA_FILE, '-f', 'json', '-m', String(MAX_ERRORS)]
  const { exitCode, stdout, stderr } = await run(dir, args)
  if (exitCode === 0) return []
  const text = `${stdout}\n${stderr}`.trim()
  const listed = parseJson(text)
  const errors = isObject(listed) && Array.isArray(listed.errors) ? (listed.errors as OpaError[]) : undefined
  if (errors === undefined) return placeErrors(text === '' ? `opa ended with exit code ${exitCode}.` : text)
  return errors.slice(0, MAX_ERRORS).map(({ message = 'error', location }) => ({
    file: location?.file ?? null,
    row: location?.row ?? null,
    column: location?.col ?? null,
    message: message.slice(0, MAX_MESSAGE),
  }))
}

interface OpaTest {
  readonly package?: string
  readonly name?: string
  readonly location?: { readonly file?: string; readonly row?: number }
  readonly fail?: boolean
  readonly error?: { readonly message?: string }
}

async function testDraft(run: RunOpa, dir: string): Promise<readonly DraftTest[]> {
  const { exitCode, stdout, stderr } = await run(dir, ['test', '--timeout', '5s', '-b', '.', '-f', 'json'])
  const results = parseJson(stdout)
  if (!Array.isArray(results)) {
    // an empty document: there are no tests
    if (exitCode === 0) return []
    const error = (stderr.trim() || `opa ended with exit code ${exitCode}.`).slice(0, MAX_MESSAGE)
    return [{ package: '', name: 'opa test', file: '', row: 0, passed: false, error }]
  }
  return (results as OpaTest[]).slice(0, MAX_TESTS).map(({ name = '', location, fail, error, ...test }) => ({
    package: (test.package ?? '').replace(/^data\./, ''),
    name,
    file: location?.file ?? '',
    row: location?.row ?? 0,
    passed: fail !== true && error === undefined,
    error: error?.message?.slice(0, MAX_MESSAGE) ?? null,
  }))
}

/** Messages of the build, each of which may begin with a file and a line. */
function placeErrors(message: string): readonly DraftError[] {
  const lines = message.split('\n')
  const found = lines.map(line =>
    /^(?:\d+ error occurred: )?([\w./-]+\.rego):(\d+)(?::(\d+))?:? (.*)$/.exec(line),
  )
  if (!found.every(match => match !== null))
    return [{ file: null, row: null, column: null, message: message.slice(0, MAX_MESSAGE) }]
  return found.slice(0, MAX_ERRORS).map(match => ({
    file: match![1]!,
    row: Number(match![2]),
    column: match![3] === undefined ? null : Number(match![3]),
    message: match![4]!.slice(0, MAX_MESSAGE),
  }))
}
