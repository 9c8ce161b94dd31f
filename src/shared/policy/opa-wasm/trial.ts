/** Tries a bundle in a worker thread, with bounds on time and memory, before it may serve: an endless rule stops that thread and no other. */

import { JobWorker, type WorkerJob } from '../../threads/job-worker.ts'
import type { PolicyInput } from '../engine.ts'
import type { TrialJob, TrialMessage } from './trial-worker.ts'

export interface BundleTrial {
  /** @throws Error that says what is wrong with the bundle. */
  run(bundle: Uint8Array, inputs: readonly PolicyInput[]): Promise<void>
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
  return {
    async run(bundle, inputs) {
      const job = { bundle, inputs, maxEvaluationMs: limits.maxEvaluationMs }
      const fault = await worker.run(trial(job, limits))
      if (fault !== '') throw new Error(fault)
    },
    close: () => worker.close(),
  }
}

/** Its result is what is wrong with the bundle, or ''. */
function trial(job: TrialJob, { timeoutMs }: TrialLimits): WorkerJob<TrialMessage, string> {
  return {
    message: job,
    timeoutMs: START_MS + timeoutMs,
    receive(message, running) {
      if (message.kind === 'done') return message.fault
      running.restartTimeout(timeoutMs)
      return undefined
    },
    fail(reason) {
      if (reason === 'exit') return 'the policy bundle cannot be used: its trial ended unexpectedly'
      if (reason === 'timeout')
        return `the policy bundle cannot be used: its trial took longer than ${timeoutMs / 1000} s`
      return `the policy bundle cannot be used: it broke its trial (${reason.message.slice(0, 200)})`
    },
  }
}
