/**
 * `npm run bench`: all suites, the load runs, then the report, one after the other; a part that fails does not keep the next from running.
 * Options: `--full` (the load runs in full length: twenty minutes in place of eight). Exit code 1: a part failed.
 */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

interface Part {
  readonly name: string
  readonly file: string
  readonly args: readonly string[]
}

const { values: options } = parseArgs({ options: { full: { type: 'boolean', default: false } } })
const PARTS: readonly Part[] = [
  { name: 'stages and kernel, in process', file: 'run.ts', args: [] },
  { name: 'the gateway under load', file: 'http/load/run.ts', args: options.full ? [] : ['--quick'] },
  { name: 'report', file: 'report/run.ts', args: [] },
]

const startedAt = performance.now()
const failed: string[] = []
for (const [at, part] of PARTS.entries()) {
  console.log(`\n═══ ${at + 1} of ${PARTS.length}: ${part.name} (${minutes()})`)
  if ((await run(part)) !== 0) failed.push(part.name)
}
console.log(`\n${minutes()}${failed.length === 0 ? '' : `; failed: ${failed.join(', ')}`}`)
process.exitCode = failed.length === 0 ? 0 : 1

function run({ file, args }: Part): Promise<number> {
  const path = fileURLToPath(new URL(file, import.meta.url))
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--import', 'tsx', path, ...args], { stdio: 'inherit' })
    child.once('error', reject)
    child.once('close', code => resolve(code ?? 1))
  })
}

function minutes(): string {
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')} min`
}
