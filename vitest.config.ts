/** How the tests run: which files are tests, which of them only the long check runs, how long one may take. */
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'
import { IS_LONG_CHECK } from './test/fixtures/check.ts'

/** Only with CHECK=long: programs of others that take long to install or to run, and what other files of the short check cover in part. */
export const LONG: readonly string[] = [
  // clients and servers of others; `mcp-python`, `official-client` and the MCP suites of e2e stay
  'test/services/{client-refusals,conformance,conformance-upstream,control-python-client,control-schemathesis,mcp-clients,mcp-inspector}.test.ts',
  'test/services/{mcp-matrix,mcp-server-clients,mcp-servers,oauth-keycloak,otel-collector,prometheus}.test.ts',
  // proxies in front, charts, sites, walks of documents; `doc-blocks` stays
  'test/services/{docs-site,doctor-edge,edge-nginx,helm-chart}.test.ts',
  'test/{e2e/policy-walk,integration/policy/how-to}.test.ts',
  // `toolsets-kubernetes` and `faults/kubernetes` stay
  'test/services/{gateway-objects-kubernetes,tool-views-kubernetes,toolsets-kubernetes-contract}.test.ts',
  // `console`, `portal`, `console-states`, `cors-browser` stay
  'test/services/{api-cors-browser,connections-browser,console-fleet,console-tenants}.test.ts',
  // `meter-kafka`, `metering-backlog-kafka` and `faults/kafka` stay
  'test/services/{kafka-security,metering-verify-kafka}.test.ts',
  // size and speed, and stopped measurements
  'test/services/{bench-profile,large-installation,metering-outage-kafka,quota-redis-load}.test.ts',
  'test/e2e/{connection-spread,streams-idle,week}.test.ts',
  'test/integration/{bench-stopped,bench-compare-signal,policy/diff-at-scale}.test.ts',
  'test/stalls/short.test.ts',
  // `matrix` calls each operation as another tenant, and of a suspended one; its replies are checked against the served document
  'test/contract/control/{tenants-matrix,typed-client}.test.ts',
  // rolling restarts: `start-and-stop` drains, and the tables of faults stop each dependency
  'test/faults/rolling.test.ts',
  // `deliveries` and `failing` stay
  'test/contract/webhooks/receivers.test.ts',
]

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

/** What these check depends on how soon their process goes on, or on its memory, so each has a process for itself. */
const TIMED = [
  'test/contract/listener/connections.test.ts',
  'test/contract/quota/**/*.test.ts',
  'test/services/quota-redis-contract.test.ts',
  'test/contract/control/publish.test.ts',
]

/** The suite of others has limits of 500 to 1,500 ms of wall time in its code, so nothing else may take the processors while it runs. */
const ALONE = ['test/services/conformance.test.ts']

/** They wait for servers, timers and responses for a part of their time, so they run after the files that do not, with more workers than processors. */
const WAITING = { maxWorkers: 2 * availableParallelism(), sequence: { groupOrder: 1 } }

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
      { extends: true, test: { name: 'deployments', include: DEPLOYMENTS, isolate: false, ...WAITING } },
      {
        extends: true,
        test: { name: 'closing', include: CLOSING, exclude: TIMED, isolate: false, ...WAITING },
      },
      {
        extends: true,
        test: {
          name: 'services',
          include: SERVICES,
          exclude: [...ALONE, ...TIMED],
          isolate: false,
          // they wait for servers and faults half of the time; with more, those that count on a time have too little of it
          maxWorkers: 2 * availableParallelism() + 1,
          sequence: { groupOrder: 2 },
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
      { extends: true, test: { name: 'alone', include: ALONE, sequence: { groupOrder: 3 } } },
    ],
    // of runs as of a date: test/dates/run.mjs
    setupFiles: process.env.FILES_BEGIN_AT === undefined ? [] : ['test/dates/begin-file.ts'],
    // against what hangs, not against a machine with much else to do
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 15_000 } },
    pool: 'forks',
    exclude: [...configDefaults.exclude, ...(IS_LONG_CHECK ? [] : LONG)],
    // a quarter of the time is waiting: one worker for each processor would idle
    maxWorkers: availableParallelism() + 1,
    // what passing tests print would bury what failing ones do
    silent: process.env.CI ? 'passed-only' : false,
    reporters: process.env.CI ? ['dot'] : ['default', './scripts/skipped-report.mjs'],
  },
})
