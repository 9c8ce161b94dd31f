/** Schemathesis against the served document: no 5xx, no undeclared response in generated cases of all operations but the stream. SOAK=1: the long form. */
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openPlane, populate } from '../contract/control/plane.ts'
import { serve } from '../contract/control/serve.ts'

const SOAK = process.env.SOAK === '1'
/** The short form asks each operation a few things only. */
const FORM = SOAK
  ? { minCases: 5_000, phases: 'coverage,fuzzing,stateful', examples: '80' }
  : { minCases: 300, phases: 'fuzzing', examples: '8' }

/** By the interpreter: the environment may have been moved since it was made, and its scripts name the old place. */
const PYTHON = join(import.meta.dirname, '../../.tools/schemathesis/bin/python')
const CLI = ['-m', 'schemathesis.cli']

function installed(): boolean {
  try {
    execFileSync(PYTHON, [...CLI, '--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const missing = process.env.REQUIRE_SERVICES !== '1' && !installed()
const hint = missing ? ' (skipped: scripts/services.sh schemathesis)' : ''

describe.skipIf(missing)(`schemathesis${hint}`, () => {
  it(`finds nothing in ${FORM.minCases} cases`, async () => {
    // it leaves a folder where it runs
    const cwd = mkdtempSync(join(tmpdir(), 'toolgate-schemathesis-'))
    const plane = await openPlane()
    await populate(plane)
    const served = await serve(plane.control)
    try {
      const checks =
        'not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance'
      const child = spawn(
        PYTHON,
        [
          ...CLI,
          'run',
          `${served.url}/openapi.json`,
          ...[
            '--url',
            `${served.url}/v1`,
            '-H',
            'Authorization: Bearer platform',
            '-n',
            FORM.examples,
            '--no-color',
          ],
          // It never ends: that is what it is for.
          ...['--exclude-operation-id', 'streamSnapshots', '-c', checks, '--phases', FORM.phases],
        ],
        { cwd, stdio: ['ignore', 'pipe', 'inherit'] },
      )
      let report = ''
      child.stdout.on('data', (chunk: Buffer) => {
        report += chunk.toString()
      })
      const code = await new Promise(resolve => child.once('close', resolve))
      expect([code, report.slice(-3_000)]).toEqual([0, expect.any(String)])
      expect(plane.faults).toEqual([])
      expect(Number(/(\d+) generated/.exec(report)?.[1])).toBeGreaterThanOrEqual(FORM.minCases)
    } finally {
      await served.close()
      await plane.close()
      rmSync(cwd, { recursive: true, force: true })
    }
  }, 1_200_000)
})
