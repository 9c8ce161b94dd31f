/** One sample of every chosen case from a fresh process, in any working tree. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { readLines } from '../report/read-results.ts'
import { runSuite, suiteFiles, suiteOf } from '../suite-process.ts'
import type { Pair } from './verdict.ts'

export type Sample = Pick<Pair, 'id' | 'unit' | 'better'> & { readonly value: number }

/** Something that can be measured in a tree, time and again. */
export interface Measurable {
  readonly name: string
  /** @throws Error when the process failed there */
  sample(tree: string): Promise<readonly Sample[]>
}

/** Warm-up apart, rounds of one process: its sample is their median. */
const ROUNDS = 3

export function microSuites(root: string, filter: string, timeMs: number): Measurable[] {
  return suiteFiles(join(root, 'bench'), filter).map(file => ({
    name: suiteOf(file),
    async sample(tree) {
      const run = await runSuite(join(tree, 'bench'), file, { timeMs, rounds: ROUNDS, filter })
      if (run.failure !== undefined) throw new Error(run.failure)
      return run.figures.map(({ id, medianNs }) => ({ id, unit: 'ns', better: 'lower', value: medianNs }))
    },
  }))
}

/**
 * Our cases of the load run: CPU time of the server for one call.
 * @param benchIn whose bench drives and serves the backend: one tree's for both sides, since what a call costs depends on how calls arrive;
 * absent: each tree's own
 */
export function loadRun(filter: string, seconds: number, benchIn?: string): Measurable {
  return {
    name: 'http/load',
    async sample(tree) {
      const directory = mkdtempSync(join(tmpdir(), 'toolgate-compare-'))
      const out = join(directory, 'load.ndjson')
      const run = ['--import', 'tsx', 'bench/http/load/run.ts', '--parts', 'load', '--rounds', '1']
      const chosen = ['--seconds', String(seconds), '--filter', filter, '--out', out]
      if (benchIn !== undefined) chosen.push('--gateway', tree)
      try {
        await promisify(execFile)(process.execPath, [...run, ...chosen], { cwd: benchIn ?? tree })
        const ours = readLines([out]).filter(
          line => line.metric === 'cpu' && line.case.startsWith('toolgate/'),
        )
        for (const { case: cold } of ours.filter(({ warm }) => warm === false))
          console.error(`http/load/${cold} was not warm in ${tree}: this sample of it does not count`)
        return ours
          .filter(({ warm }) => warm !== false)
          .map(({ suite, case: name, unit, better, median }) => {
            return { id: `${suite}/${name} cpu`, unit, better, value: median }
          })
      } finally {
        rmSync(directory, { recursive: true, force: true })
      }
    },
  }
}
