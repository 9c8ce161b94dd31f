/** How the tests run: which files are tests, how long one may take. It holds no test. */
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
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
