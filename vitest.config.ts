/** How the tests run: which files are tests, how long one may take. It holds no test. */
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/**
 * These need no service: ports of the loopback interface and threads at most, and those of the architecture run short commands. What they
 * change of their process they restore, so one worker runs many files with the modules it has loaded: a third less work.
 */
const HERMETIC = ['test/unit/**/*.test.ts', 'test/architecture/**/*.test.ts']

/** These start and stop whole deployments within the worker: one worker runs many files, with the modules it has loaded and compiled. */
const DEPLOYMENTS = ['test/e2e/**/*.test.ts']

/** These close what they start: one worker runs many files. */
const CLOSING = ['test/integration/**/*.test.ts', 'test/contract/**/*.test.ts']

/** Their children do the work, the worker waits: one runs many files. */
const SERVICES = ['test/services/**/*.test.ts', 'test/faults/**/*.test.ts', 'test/chaos/**/*.test.ts']

/** What these check depends on how soon their process goes on, so each has a process for itself. */
const TIMED = [
  'test/contract/quota/**/*.test.ts',
  'test/services/quota-redis-contract.test.ts',
  'test/contract/control/publish.test.ts',
]

/** The suite of others has limits of 500 to 1,500 ms of wall time in its code, so nothing else may take the processors while it runs. */
const ALONE = ['test/services/conformance.test.ts']

/** It measures the availability of a deployment that is under load, so nothing else may take the processors either. */
const LOADED = ['test/chaos/short.test.ts']

export default defineConfig({
  resolve: {
    alias: [
      {
        // as the sources name it, not as its replacement does
        find: /^\.{1,2}\/(?!.*src\/)(.*\/)?start-thread\.ts$/,
        replacement: fileURLToPath(new URL('test/fixtures/start-thread.ts', import.meta.url)),
      },
    ],
  },
  test: {
    projects: [
      { extends: true, test: { name: 'hermetic', include: HERMETIC, isolate: false } },
      { extends: true, test: { name: 'deployments', include: DEPLOYMENTS, isolate: false } },
      { extends: true, test: { name: 'closing', include: CLOSING, exclude: TIMED, isolate: false } },
      {
        extends: true,
        test: {
          name: 'services',
          include: SERVICES,
          exclude: [...ALONE, ...LOADED, ...TIMED],
          isolate: false,
        },
      },
      { extends: true, test: { name: 'timed', include: TIMED } },
      {
        extends: true,
        test: {
          name: 'processes',
          include: ['test/**/*.test.ts'],
          exclude: [...HERMETIC, ...DEPLOYMENTS, ...CLOSING, ...SERVICES],
        },
      },
      { extends: true, test: { name: 'alone', include: ALONE, sequence: { groupOrder: 1 } } },
      { extends: true, test: { name: 'loaded', include: LOADED, sequence: { groupOrder: 2 } } },
    ],
    // against what hangs, not against a machine with much else to do
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 15_000 } },
    pool: 'forks',
    // most of the time of a suite is waiting for servers and faults: one worker for each processor would idle
    maxWorkers: availableParallelism() + 1,
    // what passing tests print would bury what failing ones do
    silent: process.env.CI ? 'passed-only' : false,
    reporters: process.env.CI ? ['dot'] : ['default'],
  },
})
