/** Which figures cannot enter `RESULTS.md`, from the writer of the lines to the command that refuses them. */
import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'
import { type Measured, openResults } from '../../../bench/record.ts'
import { lastOfRuns, readLines } from '../../../bench/report/read-results.ts'
import { refusalsOf } from '../../../bench/report/refusals.ts'
import { readTargets } from '../../../bench/targets.ts'

const REPOSITORY = join(import.meta.dirname, '../../..')
const directory = mkdtempSync(join(tmpdir(), 'toolgate-refusals-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const quiet = { othersShare: () => 0 }
const ONE = 'http/workers/tools-call/1'
const threads = (count: number, perSecond: number, more: Partial<Measured> = {}): Measured => ({
  suite: 'http/workers',
  case: `tools-call/${count}`,
  metric: 'throughput',
  unit: 'calls/s',
  better: 'higher',
  samples: [perSecond],
  warm: true,
  ...more,
})
const of = (...samples: number[]) => ({ reference: { case: ONE, samples } })

let files = 0
function written(complete: boolean, ...measured: readonly Measured[]): string {
  const out = join(directory, `${files++}.ndjson`)
  const results = openResults('http', out, '', quiet)
  for (const one of measured) results.write(one)
  if (complete) results.complete()
  return out
}
const refusals = (file: string): string[] =>
  refusalsOf(lastOfRuns(readLines([file])), readTargets()).map(({ text }) =>
    text.replace(/ run http-[^)]*/, ' run R'),
  )

it('refuses what was measured cold, by name, with field, reason and fix', () => {
  expect(refusals(written(true, threads(1, 5000), threads(4, 1950, { ...of(5000), warm: false })))).toEqual([
    'http/workers/tools-call/4 (throughput, run R) does not enter RESULTS.md: warm is false, the cost of a call was not steady when it was measured. Measure again on a quiet machine: npm run bench:http.',
  ])
})

it('refuses a ratio to what was measured cold', () => {
  const found = refusals(written(true, threads(1, 5000, { warm: false }), threads(4, 4500, of(5000))))
  expect(found).toHaveLength(2)
  expect(found[1]).toContain(
    `tools-call/4 (throughput, run R) does not enter RESULTS.md: reference is ${ONE},`,
  )
})

it('refuses of a stopped run what lacks its comparison, and nothing else', () => {
  const nginx = {
    suite: 'http/load',
    metric: 'per-core',
    unit: 'calls/CPU-s',
    better: 'higher',
    warm: true,
  } as const
  const stopped = written(
    false,
    threads(4, 1, of()),
    threads(1, 5000),
    threads(2, 8000, of(5000)),
    // its bounds name nginx and Envoy
    { ...nginx, case: 'toolgate/tools-call', samples: [1] },
    { ...nginx, case: 'nginx/post', samples: [1] },
  )
  expect(refusals(stopped)).toEqual([
    expect.stringContaining(
      `tools-call/4 (throughput, run R) does not enter RESULTS.md: partial is true, the run was stopped before it measured ${ONE}.`,
    ),
    expect.stringContaining('before it measured http/load/peer/envoy-tools-call.'),
  ])
})

it('judges the last line of a name', () => {
  expect(refusals(written(false, threads(1, 1), threads(4, 1, of()), threads(4, 1, of(1))))).toEqual([])
})

it('a complete run keeps one line of each name, and no others are changed', () => {
  const out = written(false, threads(1, 1))
  const before = readFileSync(out, 'utf8')
  const results = openResults('other', out, '', quiet)
  results.write(threads(1, 2))
  results.write(threads(2, 3, of(2)))
  results.write(threads(1, 4))
  expect(readLines([out]).map(({ partial }) => partial)).toEqual([true, true, true, true])
  expect(results.complete().map(({ median }) => median)).toEqual([4, 3])
  expect(readFileSync(out, 'utf8').startsWith(before)).toBe(true)
  expect(readLines([out]).map(({ median, partial }) => [median, partial])).toEqual([
    [1, true],
    [4, undefined],
    [3, undefined],
  ])
})

it('the command leaves them out, names them and fails', async () => {
  // it writes beside itself
  const bench = join(directory, 'bench')
  cpSync(join(REPOSITORY, 'bench'), bench, {
    recursive: true,
    filter: path => !/RESULTS\.md$|bench\/results\b/.test(path),
  })
  const report = (...names: readonly string[]) =>
    promisify(execFile)(process.execPath, ['--import', 'tsx', join(bench, 'report/run.ts'), ...names], {
      cwd: REPOSITORY,
    }).then(
      () => ({ code: 0, stderr: '' }),
      (error: { code: number; stderr: string }) => error,
    )
  const results = join(bench, 'RESULTS.md')
  const cold = written(true, threads(1, 5000), threads(4, 1950, { ...of(5000), warm: false }))
  const refused = await report(cold)
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('http/workers/tools-call/4 (throughput, run http-')
  expect(readFileSync(results, 'utf8')).toContain(
    '| http/workers/tools-call/1 | throughput | 5,000 calls/s |',
  )
  expect(readFileSync(results, 'utf8')).not.toContain('1,950')

  rmSync(results)
  expect((await report(written(true, threads(1, 5000, { warm: false })))).code).toBe(1)
  expect(existsSync(results)).toBe(false)

  // what was measured again since then is not refused any more
  const warm = written(true, threads(1, 5000), threads(4, 4600, of(5000)))
  expect(await report(cold, warm)).toMatchObject({ code: 0 })
  expect(readFileSync(results, 'utf8')).toContain('4,600')
}, 60_000)
