/** `npm run upgrade`: builds the older version if it is a commit, and runs the upgrade of `run.ts`; the exit code says whether something was found. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runUpgrade } from './run.ts'

const HELP = `Usage: npm run upgrade -- --from REF|DIR [options]

  --from REF|DIR     the older version: a commit or tag, which is built in a temporary directory, or a directory that holds its build
  --json             the result as JSON on standard output; progress is on standard error in any case
  --help

Needs Redis and PostgreSQL (bash scripts/services.sh), and a build (npm run build).

Exit code 0: every call was served and every change arrived at every step. 1: something was found. 64: the options are not valid. 70: the run failed.
`
const EXIT = { found: 1, usage: 64, failed: 70 } as const
const say = (line: string): void => void process.stderr.write(`${line}\n`)

function parse() {
  return parseArgs({
    options: {
      from: { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  }).values
}

/** Clones and builds a commit in `dir`. @returns `dir` */
function build(ref: string, dir: string): string {
  say(`building ${ref} in ${dir}`)
  execFileSync('git', ['clone', '--quiet', '.', dir])
  const run = (command: string, args: readonly string[]) =>
    execFileSync(command, args, { cwd: dir, stdio: ['ignore', 'ignore', 'inherit'] })
  run('git', ['checkout', '--quiet', ref])
  run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'])
  run('npm', ['run', '--silent', 'build'])
  return dir
}

async function main(): Promise<number> {
  let options: ReturnType<typeof parse>
  try {
    options = parse()
  } catch (error) {
    say(`${(error as Error).message}\n\n${HELP}`)
    return EXIT.usage
  }
  if (options.help) {
    process.stdout.write(HELP)
    return 0
  }
  if (options.from === undefined) {
    say(`--from is missing: name the older version.\n\n${HELP}`)
    return EXIT.usage
  }
  const dir = mkdtempSync(join(tmpdir(), 'toolgate-from-'))
  try {
    const from = existsSync(options.from) ? options.from : build(options.from, dir)
    const result = await runUpgrade(from, say)
    process.stdout.write(
      options.json
        ? `${JSON.stringify(result)}\n`
        : `${result.calls} calls; ${result.findings.length === 0 ? 'nothing was found' : result.findings.join('\n')}\n`,
    )
    return result.findings.length === 0 ? 0 : EXIT.found
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

try {
  process.exitCode = await main()
} catch (error) {
  say(`the run failed: ${(error as Error).stack}`)
  process.exitCode = EXIT.failed
}
