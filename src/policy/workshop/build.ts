/** Builds a bundle from the sources of a policy with `opa`, checks it, and signs it on request. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { pack, unpack } from '../archive.ts'
import { BUNDLE_LIMITS, type BundleRule, DEFAULT_ENTRYPOINT, readBundle } from '../bundle.ts'
import { uncovered } from '../reads.ts'
import { SIGNATURES_FILE } from '../signatures.ts'
import { inspectRules } from './annotations.ts'
import { type RunOpa, rulesThatNeverMatch } from './never.ts'
import { type Environment, OPA_VERSION, runProgram } from './opa.ts'
import { packedSources, readSources, readTests, revisionOf, SOURCES_FILE, type Source } from './sources.ts'

export interface BuildOptions {
  /** Folder of the policies. */
  readonly dir: string
  /** Address of the `opa` program. */
  readonly opa: string
  readonly env: Environment
  /** Absent: it runs without the bounds of `confineOpa`, for the author at the machine. */
  readonly run?: RunOpa
  /** Must take what was built: a bundle that no gateway could load is a fault here, not there. @throws Error saying why not */
  readonly trial: (bundle: Uint8Array) => Promise<void>
  /** File with the private key (PEM) to sign with; undefined: the bundle is not signed. */
  readonly signingKey?: string
  /** As opa names it: `RS256`, `ES256` … */
  readonly signingAlgorithm?: string
}

export interface Built {
  readonly archive: Buffer
  readonly revision: string
  readonly reads: readonly string[]
  /** False: it reads arguments or time, and each call is evaluated. */
  readonly cacheable: boolean
}

/** @throws Error with what opa says, or what the entrypoint reads without declaring it, or why no gateway could load the bundle. */
export async function buildBundle(options: BuildOptions): Promise<Built> {
  const sources = readSources(options.dir)
  if (sources.length === 0) throw new Error(`${options.dir} contains no policies`)
  const work = mkdtempSync(join(tmpdir(), 'toolgate-policy-'))
  try {
    const copy = join(work, 'sources')
    copySources(sources, copy)
    const opa = (args: readonly string[]) => runOpa(options, copy, args)
    await opa(['build', '-t', 'wasm', '-b', '.', '-o', join(work, 'bundle.tar.gz')])
    const files = unpack(readFileSync(join(work, 'bundle.tar.gz')), BUNDLE_LIMITS)
    const reads = readsFound(await opa(['deps', '-f', 'json', '-d', '.', dotted(DEFAULT_ENTRYPOINT)]))
    const rules = inspectRules(await opa(['inspect', '-a', '-f', 'json', '.']))
    const never = await rulesThatNeverMatch(sources, rules.coded, runnerOf(options))
    if (never.length > 0) throw new Error(never.join('\n'))
    const revision = revisionOf(sources)
    const coded = rules.coded.map(rule => withArguments(rule, sources))
    const contents = repackFiles(files, revision, { opa: OPA_VERSION, reads, rules: coded })
    contents.set(SOURCES_FILE, packedSources([...sources, ...readTests(options.dir)]))
    const { declared, cacheable } = checkReads(pack(contents), reads)
    await options.trial(pack(contents))
    if (options.signingKey !== undefined)
      await sign(contents, join(work, 'signed'), options.signingKey, options)
    const archive = pack(contents)
    return { archive, revision, reads: declared, cacheable }
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** Arguments are unknown while tools are listed; a rule that looks at them must not hide a tool then. */
function withArguments(rule: BundleRule, sources: readonly Source[]): BundleRule {
  const source = sources.find(({ path }) => path === rule.file)?.content.toString('utf8') ?? ''
  const looks = source
    .split('\n')
    .some(line => !line.trimStart().startsWith('#') && /\bcontext(\.arguments|\["arguments"\])/.test(line))
  return looks ? { ...rule, readsArguments: true } : rule
}

/** Adds the signature over all files, made by `opa sign`. */
async function sign(
  contents: Map<string, Uint8Array>,
  dir: string,
  key: string,
  options: BuildOptions,
): Promise<void> {
  mkdirSync(dir)
  for (const [name, content] of contents) writeFileSync(join(dir, name), content)
  const algorithm = options.signingAlgorithm ?? 'RS256'
  await runOpa(options, dir, [
    'sign',
    '--signing-key',
    resolve(key),
    '--signing-alg',
    algorithm,
    '--bundle',
    '.',
  ])
  contents.set(SIGNATURES_FILE, readFileSync(join(dir, SIGNATURES_FILE)))
}

function copySources(sources: readonly Source[], to: string): void {
  for (const { path, content } of sources) {
    mkdirSync(dirname(join(to, path)), { recursive: true })
    writeFileSync(join(to, path), content)
  }
}

async function runOpa(options: BuildOptions, cwd: string, args: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await runnerOf(options)(cwd, args)
  if (exitCode !== 0) throw new Error(`opa ${args[0]} says:\n${`${stdout}\n${stderr}`.trim()}`)
  return stdout
}

function runnerOf({ opa, env, run }: BuildOptions): RunOpa {
  return run ?? ((cwd, args) => runProgram(opa, args, { cwd, env }))
}

function dotted(entrypoint: string): string {
  return `data.${entrypoint.replaceAll('/', '.')}`
}

/** `opa deps`: base documents; those below `input` are what the rules read. */
function readsFound(output: string): string[] {
  const { base = [] } = JSON.parse(output) as {
    base?: { readonly type: string; readonly value: string }[][]
  }
  const paths = new Set<string>()
  for (const [root, ...rest] of base) {
    if (root?.value !== 'input') continue
    // a variable in a path (`input.context.arguments[name]`) means: anything below
    const fixed = rest.findIndex(part => part.type !== 'string')
    paths.add((fixed < 0 ? rest : rest.slice(0, fixed)).map(part => part.value).join('.'))
  }
  return [...paths].sort()
}

/** Decisions are cached by what is declared: an omission there would serve one caller's decision to another. */
function checkReads(
  archive: Buffer,
  found: readonly string[],
): { readonly declared: readonly string[]; readonly cacheable: boolean } {
  const { reads } = readBundle(archive)
  const missing = uncovered(found, reads.paths)
  if (missing.length > 0) {
    const lines = missing.map(path => `  - ${path === '' ? '"" # all of input' : path}`).join('\n')
    throw new Error(
      `The entrypoint "${DEFAULT_ENTRYPOINT}" reads input fields that it does not declare. Add these fields to custom.reads in the METADATA of the entrypoint:\n${lines}`,
    )
  }
  return { declared: reads.paths, cacheable: reads.cacheable }
}

/** Only what serving needs, with the revision in the manifest and what was found out in its metadata. */
function repackFiles(
  files: ReadonlyMap<string, Uint8Array>,
  revision: string,
  found: object,
): Map<string, Uint8Array> {
  const manifest = JSON.parse(Buffer.from(files.get('.manifest')!).toString('utf8')) as Record<
    string,
    unknown
  >
  const metadata = { toolgate: found }
  const text = `${JSON.stringify({ ...manifest, revision, metadata }, undefined, 1)}\n`
  return new Map([
    ['.manifest', Buffer.from(text)],
    ['data.json', files.get('data.json')!],
    ['policy.wasm', files.get('policy.wasm')!],
  ])
}
