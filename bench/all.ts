/**
 * `npm run bench`: all suites, the load runs, then the report, one after the other; a part that fails does not keep the next from running.
 */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

interface Part {
  readonly name: string
  readonly file: string
  readonly args: readonly string[]
}

const HELP = `Usage: npm run bench -- [options]

Measures stages and gateway, and writes bench/RESULTS.md.

  --full  the load runs in full length; each run announces how long it takes
  --help  prints this help

Exit code 1: a part failed.
`
const { values: options } = parseArgs({
  options: { full: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
})
const PARTS: readonly Part[] = [
  { name: 'stages and kernel, in process', file: 'run.ts', args: [] },
  { name: 'the gateway under load', file: 'http/load/run.ts', args: options.full ? [] : ['--quick'] },
  { name: 'report', file: 'report/run.ts', args: [] },
]

/** A part that is stopped keeps what it has measured; the next ones do not begin. */
let stopped = false

if (options.help) console.log(HELP)
else process.exitCode = await main()

async function main(): Promise<number> {
  const startedAt = performance.now()
  const failed: string[] = []
  for (const [at, part] of PARTS.entries()) {
    console.log(`\n═══ ${at + 1} of ${PARTS.length}: ${part.name} (${minutesSince(startedAt)})`)
    if ((await run(part)) !== 0) failed.push(part.name)
    if (stopped) break
  }
  console.log(`\n${minutesSince(startedAt)}${failed.length === 0 ? '' : `; failed: ${failed.join(', ')}`}`)
  return failed.length === 0 ? 0 : 1
}

function run({ file, args }: Part): Promise<number> {
  const path = fileURLToPath(new URL(file, import.meta.url))
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--import', 'tsx', path, ...args], { stdio: 'inherit' })
    const stop = (signal: NodeJS.Signals): void => {
      stopped = true
      child.kill(signal)
    }
    process.on('SIGINT', stop).on('SIGTERM', stop)
    child.once('error', reject)
    child.once('close', code => {
      process.off('SIGINT', stop).off('SIGTERM', stop)
      resolve(code ?? 1)
    })
  })
}

function minutesSince(startedAt: number): string {
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')} min`
}
