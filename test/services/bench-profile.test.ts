/** `npm run bench:profile`: a short run, its output and its profile. Needs `npm run build`. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { CpuProfile } from '../../bench/profile/hot-functions.ts'
import { type ProfileReport, textReport } from '../../bench/profile/profile-report.ts'
import { copyTemplate } from '../contract/store/pglite-template.ts'

const RUN = join(import.meta.dirname, '../../bench/profile/run.ts')

let directory: string
let stdout: string
let stderr: string
let report: ProfileReport

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'toolgate-bench-'))
  await copyTemplate(join(directory, 'data/postgres'))
  const args = ['--seconds', '1', '--warm-up', '0.3', '--data', join(directory, 'data')]
  const ran = await run(...args, '--out', join(directory, 'out'), '--set', 'DECISION_LOG_PERCENT=1', '--json')
  expect(ran.code, ran.stderr).toBe(0)
  ;({ stdout, stderr } = ran)
  report = JSON.parse(stdout) as ProfileReport
}, 180_000)
afterAll(() => rmSync(directory, { recursive: true, force: true }))

function run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, ['--import', 'tsx', RUN, ...args], (error, out, err) => {
      if (error === null) resolve({ code: 0, stdout: out, stderr: err })
      else if (typeof error.code === 'number') resolve({ code: error.code, stdout: out, stderr: err })
      // ended by a signal, or not started
      else reject(error)
    })
  })
}

it('prints one JSON object on stdout', () => {
  expect(stdout.trim().split('\n')).toHaveLength(1)
  expect(stderr).toContain('profiling "call"')
  expect(report.requests).toBeGreaterThan(0)
  expect(report.cpuUsPerRequest).toBeGreaterThan(0)
  expect(report.functions).toHaveLength(15)
  const shares = report.functions.map(({ selfShare }) => selfShare)
  expect(shares).toEqual([...shares].sort((a, b) => b - a))
  expect(shares.reduce((sum, share) => sum + share, 0)).toBeLessThanOrEqual(1)
  for (const each of report.functions)
    expect(each.cpuUsPerRequest).toBeCloseTo(each.selfShare * report.cpuUsPerRequest, 6)
})

it('writes the profile of the gateway process, without credentials', () => {
  expect(readdirSync(join(directory, 'out'))).toEqual(['profile.cpuprofile'])
  const text = readFileSync(report.profileFile, 'utf8')
  const files = (JSON.parse(text) as CpuProfile).nodes.map(
    ({ callFrame }) => callFrame.url.split('/dist/')[1],
  )
  expect(files).toEqual(
    expect.arrayContaining(['data-plane/pipeline/compose.js', 'data-plane/http/mcp/dispatch.js']),
  )
  expect(text).not.toMatch(/eyJ[\w-]{20}|tgk_/)
})

it('prints text that says how to open the profile', () => {
  const text = textReport(report)
  expect(text).toContain(report.profileFile)
  expect(text).toContain('Chrome DevTools')
})
