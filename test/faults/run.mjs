/**
 * Runs the tests of this folder with the whole matrix, or the named files; prints each row as it ends and a table at the end.
 * Usage: npm run faults -- [FILE…]   FILE: start of a file name such as `postgres`. Exit code 0: every test passed or was skipped.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const dir = mkdtempSync(join(tmpdir(), 'faults-'))
const report = join(dir, 'report.jsonl')
writeFileSync(report, '')
const files = process.argv.slice(2).map(name => `test/faults/${name}`)
const options = ['--no-install', 'vitest', 'run', ...(files.length > 0 ? files : ['test/faults'])]
const tests = spawn('npx', [...options, '--reporter=dot', '--silent=true'], {
  env: { ...process.env, CI: 'true', NO_COLOR: '1', CHECK: 'long', FAULTS_REPORT: report },
  stdio: ['ignore', 'pipe', 'pipe'],
})
let output = ''
for (const stream of [tests.stdout, tests.stderr])
  stream.on('data', chunk => {
    output = (output + chunk).slice(-20_000)
  })

const rows = []
let printed = 0
function readRows() {
  const lines = readFileSync(report, 'utf8').split('\n').slice(0, -1)
  for (const line of lines.slice(printed)) {
    const row = JSON.parse(line)
    rows.push(row)
    console.log(`${verdict(row).padEnd(5)} ${row.dependency}: ${row.fault} @ ${row.moment}${details(row)}`)
  }
  printed = lines.length
}
const watcher = watch(report, readRows)

/** A row that waits for something is expected to fail. */
function verdict({ result, open }) {
  if (open === undefined) return result === 'pass' ? 'ok' : 'FAIL'
  return result === 'pass' ? 'FAIL' : 'open'
}

function details({ result, open, recoveryMs, tookMs }) {
  const took = ` (${(tookMs / 1000).toFixed(1)} s`
  if (result === 'pass' && open === undefined)
    return recoveryMs === undefined ? `${took})` : `${took}, recovered in ${Math.round(recoveryMs)} ms)`
  if (open !== undefined)
    return result === 'pass' ? ': passes now; remove it from `open`' : `: waits for ${open}`
  return `: ${result.slice(0, 300)}`
}

tests.once('exit', code => {
  watcher.close()
  readRows()
  rmSync(dir, { recursive: true, force: true })
  console.log('\ndependency          ok  open  failed  slowest recovery')
  for (const name of [...new Set(rows.map(({ dependency }) => dependency))].sort()) {
    const own = rows.filter(({ dependency }) => dependency === name)
    const count = wanted => String(own.filter(row => verdict(row) === wanted).length)
    const slowest = Math.max(0, ...own.map(({ recoveryMs }) => recoveryMs ?? 0))
    console.log(
      `${name.padEnd(18)}${count('ok').padStart(4)}${count('open').padStart(6)}${count('FAIL').padStart(8)}${`${Math.round(slowest)} ms`.padStart(18)}`,
    )
  }
  if (code !== 0) console.log(`\n${output}`)
  process.exit(code ?? 1)
})
