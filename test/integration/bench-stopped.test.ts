/**
 * `npm run bench:http` stopped in its part `ladder`, by a signal or a kill: the file holds what was measured, says so, and no process is left.
 * `npm run bench` stopped in its first part begins no other.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readLines } from '../../bench/report/read-results.ts'

const REPOSITORY = join(import.meta.dirname, '../..')
let folder: string
let out: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolgate-stopped-'))
  out = join(folder, 'results.ndjson')
})
afterEach(() => {
  for (const pid of processes()) process.kill(Number(pid), 'SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

/** One rung, more rounds than a test waits for. */
const ARGS = ['--parts', 'ladder', '--filter', 'floor', '--rounds', '1000', '--seconds', '1']

const cpuLines = () => (existsSync(out) ? readLines([out]).filter(({ metric }) => metric === 'cpu') : [])

/** Processes of this run: all have its folder in their environment. */
const processes = (): string[] =>
  readdirSync('/proc').filter(name => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/environ`, 'utf8').includes(`RUN_OF=${folder}`)
    } catch {
      return false
    }
  })

it.each(['SIGTERM', 'SIGKILL'] as const)(
  'keeps its lines at %s',
  async signal => {
    const run = spawn(
      process.execPath,
      ['--import', 'tsx', 'bench/http/load/run.ts', ...ARGS, '--out', out],
      { cwd: REPOSITORY, env: { ...process.env, RUN_OF: folder }, stdio: ['ignore', 'ignore', 'pipe'] },
    )
    let said = ''
    run.stderr.setEncoding('utf8').on('data', text => {
      said += text
    })
    const [ended, closed] = [once(run, 'exit'), once(run, 'close')]
    await expect.poll(() => cpuLines().length, { timeout: 120_000, interval: 200 }).toBeGreaterThan(1)
    run.kill(signal)
    await ended
    await expect.poll(processes, { timeout: 20_000 }).toEqual([])
    await closed

    const lines = readLines([out])
    expect(lines.every(({ partial }) => partial === true)).toBe(true)
    expect(lines.map(({ metric }) => metric)).toContain('allocated')
    const last = cpuLines().at(-1)!
    expect(last.samples.length).toBeGreaterThan(1)
    expect(typeof last.warm).toBe('boolean')
    // when it began, and each figure as it was measured
    expect(said).toMatch(/this takes \d+ (s|minutes) when each case is warm after 4 s, at most .*: ladder/)
    expect(said).toMatch(/ladder: round 2 of 1000, floor [\d.]+ µs a call/)
    if (signal !== 'SIGKILL')
      expect(said).toContain(`what it measured is in ${out}, in lines that say "partial"`)
  },
  180_000,
)

it('begins no other part at SIGTERM', { timeout: 60_000 }, async () => {
  const run = spawn(process.execPath, ['--import', 'tsx', 'bench/all.ts'], {
    cwd: REPOSITORY,
    env: { ...process.env, RUN_OF: folder },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  run.stdout.setEncoding('utf8').on('data', text => {
    said += text
  })
  const closed = once(run, 'close')
  await expect.poll(() => said).toContain('1 of 3')
  // the part is a process by then
  await expect.poll(() => processes().length).toBeGreaterThan(1)
  run.kill('SIGTERM')
  expect((await closed)[0]).toBe(1)
  expect(said).toMatch(/ min; failed: stages and kernel, in process\n$/)
  expect(said).not.toContain('2 of 3')
  await expect.poll(processes).toEqual([])
})
