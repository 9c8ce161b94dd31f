/** A job worker that several owners share, with bounds on pending jobs and pauses of owners after failures. It does not interpret jobs. */
import type { ResourceLimits } from 'node:worker_threads'
import { andThen, type MaybePromise } from '../and-then.ts'
import { JobWorker, type WorkerJob } from './job-worker.ts'

export interface FairJobLimits {
  readonly maxPendingPerOwner: number
  readonly maxPending: number
  /** After a job that threw or did not end in time, jobs of its owner are refused for this long. */
  readonly pauseMs: number
}

const IDLE_MS = 60_000

interface Owner {
  pending: number
  pausedUntilMs: number
}

export class FairJobWorker {
  readonly #limits: FairJobLimits
  readonly #worker: JobWorker
  readonly #owners = new Map<string, Owner>()
  #pending = 0

  constructor(file: URL, resourceLimits: ResourceLimits, limits: FairJobLimits) {
    this.#worker = new JobWorker(file, resourceLimits, IDLE_MS)
    this.#limits = limits
  }

  /** @param makeJob called when the job is accepted. @returns undefined when it is not */
  run<Message, Result>(
    name: string,
    makeJob: () => MaybePromise<WorkerJob<Message, Result>>,
  ): Promise<Result> | undefined {
    const { maxPending, maxPendingPerOwner } = this.#limits
    const owner = this.#owners.get(name) ?? { pending: 0, pausedUntilMs: 0 }
    const isPaused = owner.pausedUntilMs > performance.now()
    if (isPaused || this.#pending >= maxPending || owner.pending >= maxPendingPerOwner) return undefined
    this.#owners.set(name, owner)
    owner.pending++
    this.#pending++
    const watchJob = (job: WorkerJob<Message, Result>): WorkerJob<Message, Result> => ({
      ...job,
      fail: reason => {
        owner.pausedUntilMs = performance.now() + this.#limits.pauseMs
        return job.fail(reason)
      },
    })
    const ended = andThen(makeJob(), job => this.#worker.run(watchJob(job)))
    return (ended as Promise<Result>).finally(() => this.#handleEnd(name, owner))
  }

  close(): Promise<void> {
    return this.#worker.close()
  }

  #handleEnd(name: string, owner: Owner): void {
    owner.pending--
    this.#pending--
    // the table holds owners with pending jobs, and paused ones until a later job of theirs has ended
    if (owner.pending === 0 && owner.pausedUntilMs <= performance.now()) this.#owners.delete(name)
  }
}
