/** Tries a bundle in a worker thread, with bounds on time and memory, before it may serve: an endless rule stops that thread and no other. */

import type { Worker } from 'node:worker_threads'
import { SerialQueue } from '../../async/serial-queue.ts'
import { startThread } from '../../threads/start-thread.ts'
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
  let worker: Worker | undefined
  let idle: NodeJS.Timeout | undefined
  const queue = new SerialQueue()

  async function end(): Promise<void> {
    const ending = worker
    worker = undefined
    await ending?.terminate()
  }

  async function tryOne(job: TrialJob): Promise<void> {
    clearTimeout(idle)
    worker ??= startWorker(limits)
    const outcome = await runIn(worker, job, limits)
    if (outcome.broken) await end()
    else {
      idle = setTimeout(() => void end(), limits.idleMs)
      idle.unref()
    }
    if (outcome.fault !== '') throw new Error(outcome.fault)
  }

  return {
    run(bundle, inputs) {
      const job = { bundle, inputs, maxEvaluationMs: limits.maxEvaluationMs }
      return queue.run(() => tryOne(job))
    },
    async close() {
      clearTimeout(idle)
      await end()
    },
  }
}

function startWorker(limits: TrialLimits): Worker {
  const options = { resourceLimits: { maxOldGenerationSizeMb: limits.maxHeapMb }, env: {} }
  const worker = startThread(new URL('./trial-worker.ts', import.meta.url), options)
  worker.unref()
  return worker
}

interface Ran {
  /** '' when nothing is wrong. */
  readonly fault: string
  /** The worker must not be used again. */
  readonly broken: boolean
}

function runIn(worker: Worker, job: TrialJob, { timeoutMs }: TrialLimits): Promise<Ran> {
  return new Promise(resolve => {
    const finish = (fault: string, broken: boolean): void => {
      clearTimeout(timer)
      worker.off('message', onMessage).off('error', onError).off('exit', onExit)
      worker.unref()
      resolve({ fault, broken })
    }
    const onMessage = (message: TrialMessage): void => {
      if (message.kind === 'done') return finish(message.fault, false)
      clearTimeout(timer)
      timer = setTimeout(tooLong, timeoutMs)
    }
    const onError = (error: Error): void =>
      finish(`the policy bundle cannot be used: it broke its trial (${error.message.slice(0, 200)})`, true)
    const onExit = (): void => finish('the policy bundle cannot be used: its trial ended unexpectedly', true)
    const tooLong = (): void =>
      finish(`the policy bundle cannot be used: its trial took longer than ${timeoutMs / 1000} s`, true)
    let timer = setTimeout(tooLong, START_MS + timeoutMs)
    worker.ref()
    worker.on('message', onMessage).on('error', onError).on('exit', onExit)
    worker.postMessage(job)
  })
}
