/** Mutation testing of one part of a folder; `npm run test:mutation` starts it for each part (test/mutation/run.mjs). */
import { delimiter, resolve } from 'node:path'
import { PARTS } from './test/mutation/folders.mjs'

const name = process.env.MUTATION_PART
const part = PARTS[name]
if (part === undefined)
  throw new Error(
    `MUTATION_PART is ${JSON.stringify(name)}; set it to one of ${Object.keys(PARTS).join(', ')}`,
  )

// the sandbox is a copy without the tools folder: tests find `opa` on the path
process.env.PATH = `${process.env.PATH}${delimiter}${resolve('.tools/bin')}`

export default {
  testRunner: 'vitest',
  vitest: { configFile: 'test/mutation/vitest.config.ts', related: false },
  plugins: ['@stryker-mutator/vitest-runner', './test/mutation/sample.mjs'],
  ignorers: ['sample'],
  mutate: part.mutate,
  // the wording of messages is not behavior, and constants of a module would need a run of all tests each
  mutator: { excludedMutations: ['StringLiteral'] },
  ignoreStatic: true,
  coverageAnalysis: 'perTest',
  concurrency: 1,
  timeoutMS: 10_000,
  timeoutFactor: 2,
  ignorePatterns: ['.tools', 'bench', 'deploy', 'dist', 'data', 'reports'],
  disableTypeChecks: false,
  allowEmpty: false,
  reporters: ['json', 'clear-text', 'progress-append-only'],
  clearTextReporter: { logTests: false, reportTests: false, allowColor: false, reportMutants: false },
  jsonReporter: { fileName: `reports/mutation/${name}.json` },
  // a sample must not be taken for the whole by the next run
  incremental: process.env.MUTATION_SAMPLE === undefined,
  incrementalFile: `reports/mutation/${name}.incremental.json`,
  // run.mjs judges the folder as a whole
  thresholds: { high: 95, low: 85, break: null },
  tempDirName: '.stryker-tmp',
  cleanTempDir: 'always',
  checkers: [],
}
