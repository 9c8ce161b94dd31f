/** Finds suites by their files' names and runs one in a fresh process. */
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join, sep } from 'node:path'
import { createInterface } from 'node:readline'
import type { Fact, Figures } from './suite.ts'

export interface SuiteOptions {
  /** For each case and round. */
  readonly timeMs: number
  readonly rounds: number
  /** Part of a case's id, or several with commas between; '' takes all. */
  readonly filter: string
}

export interface SuiteRun {
  readonly title: string
  readonly figures: readonly Figures[]
  readonly facts: readonly Fact[]
  /** What the process said when it failed; undefined when it did not. */
  readonly failure: string | undefined
}

const ENDING = '.bench.ts'

/**
 * Paths below `folder`, in order. A part of an id with a slash that names a suite selects the files of such suites; every other part may be
 * in the ids of every file.
 * @param folder of benches, as bench/ @param filter as that of the options
 */
export function suiteFiles(folder: string, filter: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith(ENDING))
    .map(file => file.split(sep).join('/'))
    .sort()
  const chosen = filter.split(',').map(part => {
    const named = part.includes('/') ? files.filter(file => isNamedBy(part, `${suiteOf(file)}/`)) : []
    return named.length > 0 ? named : files
  })
  return files.filter(file => chosen.some(some => some.includes(file)))
}

/** Id of the suite of a file. */
export function suiteOf(file: string): string {
  return file.slice(0, -ENDING.length)
}

/** True when the part is in the name of the suite, or begins in it and goes on in the case. */
function isNamedBy(part: string, suite: string): boolean {
  return suite.includes(part) || [...suite].some((_, at) => part.startsWith(suite.slice(at)))
}

/** @param file as `suiteFiles` gives it */
export function runSuite(folder: string, file: string, options: SuiteOptions): Promise<SuiteRun> {
  const { timeMs, rounds, filter } = options
  return new Promise(resolve => {
    const child = spawn(
      process.execPath,
      [
        '--import',
        'tsx',
        join(folder, 'measure.ts'),
        join(folder, file),
        String(timeMs),
        String(rounds),
        filter,
      ],
      { cwd: join(folder, '..'), stdio: ['ignore', 'pipe', 'pipe'] },
    )
    const figures: Figures[] = []
    const facts: Fact[] = []
    let title = file
    let stderr = ''
    createInterface({ input: child.stdout }).on('line', line => {
      if (!line.startsWith('{')) return
      const row = JSON.parse(line) as Figures | Fact | { readonly title: string }
      if ('title' in row) title = row.title
      else if ('value' in row) facts.push(row)
      else figures.push(row)
    })
    child.stderr.setEncoding('utf8').on('data', text => {
      stderr += text
    })
    child.on('close', code =>
      resolve({ title, figures, facts, failure: code === 0 ? undefined : stderr.trim() }),
    )
  })
}
