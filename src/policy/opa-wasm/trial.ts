/** Tries a bundle in a worker thread, with bounds on time and memory, and reports its faults or its decisions. */

import { JobWorker, type WorkerJob } from '../../base/threads/job-worker.ts'
import type { Decision, PolicyInput } from '../engine.ts'
import type { TrialJob, TrialMessage } from './trial-worker.ts'

export interface BundleTrial {
  /** @throws Error that says what is wrong with the bundle. */
  run(bundle: Uint8Array, inputs: readonly PolicyInput[]): Promise<void>
  /** What the bundle decides, in the order of the inputs. @throws Error that says what is wrong with the bundle. */
  decide(bundle: Uint8Array, inputs: readonly PolicyInput[]): Promise<readonly Decision[]>
  close(): Promise<void>
}

export interface TrialLimits {
  /** Wall time for one bundle, from its bytes to the last response, so that an endless rule ends; the start of the worker is not counted. */
  readonly timeoutMs: number
  readonly maxHeapMb: number
  /** CPU time of one evaluation: more than while serving, because the code may not be compiled yet. */
  readonly maxEvaluationMs: number
  /** An idle worker is ended after this long. */
  readonly idleMs: number
}

const DEFAULT_LIMITS: TrialLimits = { timeoutMs: 10_000, maxHeapMb: 512, maxEvaluationMs: 100, idleMs: 5000 }

/** Until a worker has begun, on a machine that is busy. */
const START_MS = 60_000

/** One worker, one bundle at a time. */
export function createBundleTrial(limits: TrialLimits = DEFAULT_LIMITS): BundleTrial {
  const worker = new JobWorker(
    new URL('./trial-worker.ts', import.meta.url),
    { maxOldGenerationSizeMb: limits.maxHeapMb },
    limits.idleMs,
  )
  async function decisionsOf(
    bundle: Uint8Array,
    inputs: readonly PolicyInput[],
    wantsDecisions: boolean,
  ): Promise<readonly Decision[]> {
    const job = { bundle, inputs, maxEvaluationMs: limits.maxEvaluationMs, wantsDecisions }
    const { fault, decisions } = await worker.run(trial(job, limits), '')
    if (fault !== '') throw new Error(fault)
    return decisions
  }
  return {
    async run(bundle, inputs) {
      await decisionsOf(bundle, inputs, false)
    },
    decide: (bundle, inputs) => decisionsOf(bundle, inputs, true),
    close: () => worker.close(),
  }
}

type Tried = Omit<Extract<TrialMessage, { readonly kind: 'done' }>, 'kind'>

/** A trial whose result names what is wrong with the bundle, or ''. */
function trial(job: TrialJob, { timeoutMs }: TrialLimits): WorkerJob<TrialMessage, Tried> {
  return {
    message: job,
    timeoutMs: START_MS + timeoutMs,
    receive(message, running) {
      if (message.kind === 'done') return message
      running.restartTimeout(timeoutMs)
      return undefined
    },
    fail: reason => ({
      fault: `the policy bundle cannot be used: ${reasonOf(reason, timeoutMs)}`,
      decisions: [],
    }),
  }
}

function reasonOf(reason: Error | 'exit' | 'timeout', timeoutMs: number): string {
  if (reason === 'exit') return 'the test evaluation ended unexpectedly'
  if (reason === 'timeout') return `the test evaluation took longer than ${timeoutMs / 1000} s`
  return `the test evaluation failed (${reason.message.slice(0, 200)})`
}
