/** The folders under mutation testing, in parts: which files Stryker changes, and which tests have to notice. */

/**
 * A part runs by itself, so that a mutant meets only the tests that concern it, the quick ones first. What the tests of a
 * folder cannot switch to a mutant is left out: Stryker activates one in the thread of the test, so code that runs in a
 * worker thread or a child process keeps its original form.
 */
export const FOLDERS = {
  snapshot: {
    snapshot: {
      mutate: ['src/data-plane/snapshot/**/*.ts'],
      tests: [
        'test/unit/data-plane/snapshot/**/{snapshot,configuration,incremental}.test.ts',
        'test/unit/link/control-share.test.ts',
        'test/unit/data-plane/stages/**/{stages,whole-pipeline}.test.ts',
      ],
    },
  },
  identity: {
    identity: { mutate: ['src/identity/**/*.ts'], tests: ['test/unit/identity/**/*.test.ts'] },
  },
  sessions: {
    sessions: {
      mutate: ['src/data-plane/sessions/**/*.ts'],
      tests: ['test/unit/data-plane/sessions/**/*.test.ts', 'test/contract/sessions/**/*.test.ts'],
    },
  },
  quota: {
    'quota-local': {
      mutate: ['src/data-plane/quota/*.ts', 'src/data-plane/quota/{memory,journal}/**/*.ts'],
      tests: [
        'test/unit/data-plane/quota/**/{plans,local-quota,memory-quota,counter-key}.test.ts',
        'test/unit/data-plane/kernel/window-{lease,decide}.test.ts',
        'test/integration/data-plane/quota/journal-{files,restart}.test.ts',
        'test/contract/quota/local.test.ts',
      ],
    },
    'quota-redis': {
      mutate: ['src/data-plane/quota/redis/**/*.ts'],
      tests: [
        'test/unit/data-plane/quota/**/{redis-keys,redis-instance,consumer-lease,thread-reserver}.test.ts',
        'test/contract/quota/redis-{lease-requests,slots,tool-leases,heartbeats}.test.ts',
        // the simulation replaces modules, which the kept thread has loaded
        'test/contract/quota/redis-{joined,leases}.test.ts',
        'test/services/quota-redis-contract.test.ts',
      ],
    },
  },
  policy: {
    'policy-core': {
      mutate: ['src/policy/*.ts'],
      tests: [
        'test/unit/policy/**/{decision,decision-cache,bundle,signatures,report-failure}.test.ts',
        'test/unit/policy/**/{schema,reads,live}.test.ts',
        'test/integration/policy/archive.test.ts',
        'test/unit/policy/**/{opa-http,log,opa-wasm}.test.ts',
        'test/integration/policy/signatures.test.ts',
      ],
    },
    'policy-live': {
      mutate: ['src/policy/live/**/*.ts'],
      tests: [
        'test/unit/policy/**/{tightened,shadow,follower,live,tenant-bundles,sources,distribution}.test.ts',
      ],
    },
    'policy-log': {
      mutate: ['src/policy/log/**/*.ts'],
      tests: ['test/unit/policy/**/{recorder,log}.test.ts'],
    },
    'policy-engines': {
      mutate: ['src/policy/opa-{http,wasm}/**/*.ts', '!src/policy/opa-wasm/trial-worker.ts'],
      tests: [
        'test/unit/policy/**/{opa-http,opa-wasm,opa-wasm-memory,evaluation-time,trial}.test.ts',
        'test/contract/policy/opa-wasm.test.ts',
      ],
    },
    'policy-workshop': {
      mutate: ['src/policy/workshop/**/*.ts'],
      tests: [
        'test/unit/policy/**/{workshop,never-matching,build-steps,cli}.test.ts',
        // never and build run the real opa, which takes seconds for each mutant
        'test/integration/policy/workshop-steps.test.ts',
        'test/integration/app/cli/policy/programs.test.ts',
      ],
    },
  },
}

/** Tests that wait for seconds by design: they would cost each mutant that they meet as much, and a quick one meets it too. */
export const LEFT_OUT = [
  'and takes longer than it may denies',
  'per second: rolling, free again after one second',
  'tool: a bucket per tool and consumer, on top',
  'that a thread refuses are tried again after a second, though the file has not changed',
  'is offered again though the source has not changed, until it is taken',
  'of 100,000 decisions takes less than 20 s',
  'moves minutes and days for every instance',
]

export const PARTS = Object.assign({}, ...Object.values(FOLDERS))
