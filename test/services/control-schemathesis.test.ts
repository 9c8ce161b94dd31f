/** Schemathesis against the served document: no 5xx and no undeclared answer, in generated cases of every operation. Runs with SOAK=1. */
import { execFileSync, spawn } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { openPlane, populate } from '../contract/control/plane.ts'
import { serve } from '../contract/control/serve.ts'

const MIN_CASES = 5_000

function installed(): boolean {
  try {
    execFileSync('schemathesis', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const soak = process.env.SOAK === '1'
const missing = soak && process.env.REQUIRE_SERVICES !== '1' && !installed()
const hint = soak ? (missing ? ' (skipped: pip install schemathesis)' : '') : ' (skipped: SOAK=1 runs it)'

describe.skipIf(!soak || missing)(`schemathesis${hint}`, () => {
  it(`finds nothing in ${MIN_CASES} cases`, async () => {
    const plane = await openPlane()
    await populate(plane)
    const served = await serve(plane.control)
    try {
      const checks =
        'not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance'
      const child = spawn(
        'schemathesis',
        [
          'run',
          `${served.url}/openapi.json`,
          ...['--url', `${served.url}/v1`, '-H', 'Authorization: Bearer platform', '-n', '80', '--no-color'],
          // It never ends: that is what it is for.
          ...[
            '--exclude-operation-id',
            'streamSnapshots',
            '-c',
            checks,
            '--phases',
            'coverage,fuzzing,stateful',
          ],
        ],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      )
      let report = ''
      child.stdout.on('data', (chunk: Buffer) => {
        report += chunk.toString()
      })
      const code = await new Promise(resolve => child.once('exit', resolve))
      expect([code, report.slice(-3_000)]).toEqual([0, expect.any(String)])
      expect(plane.faults).toEqual([])
      expect(Number(/(\d+) generated/.exec(report)?.[1])).toBeGreaterThan(MIN_CASES)
    } finally {
      await served.close()
      await plane.close()
    }
  }, 1_200_000)
})
