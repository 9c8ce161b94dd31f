/** Worker threads that several owners share: they take turns, and those whose jobs took long have a thread apart from the others. It does not interpret jobs. */
import type { ResourceLimits } from 'node:worker_threads'
import { andThen, type MaybePromise } from '../and-then.ts'
import { FairShares } from '../fair-shares.ts'
import { JobWorker, type WorkerJob } from './job-worker.ts'

export interface FairJobLimits {
  readonly maxPendingPerOwner: number
  /** All owners together have at most so many. */
  readonly maxPending: number
  /** After a job that threw or did not end in time, jobs of its owner are refused for this long. */
  readonly pauseMs: number
}

const IDLE_MS = 60_000
/** So many owners get an eighth of the places, whatever others have taken. */
const GUARANTEED_OWNERS = 4
/** Jobs of an owner that used more thread time have the second thread. Half of the use stops counting in each `HALF_LIFE_MS`. */
const LONG_MS = 100
const HALF_LIFE_MS = 5_000

interface Owner {
  readonly name: string
  pausedUntilMs: number
  usedMs: number
  usedAtMs: number
}

export class FairJobWorker {
  readonly #limits: FairJobLimits
  readonly #short: JobWorker
  /** The thread starts when an owner needs it. */
  readonly #long: JobWorker
  readonly #owners = new Map<string, Owner>()
  readonly #places: FairShares

  constructor(file: URL, resourceLimits: ResourceLimits, limits: FairJobLimits) {
    const each = Math.floor(limits.maxPending / (8 * GUARANTEED_OWNERS))
    this.#places = new FairShares({
      max: limits.maxPending,
      factor: 8,
      guarantee: { owners: GUARANTEED_OWNERS, each },
    })
    this.#short = new JobWorker(file, resourceLimits, IDLE_MS)
    this.#long = new JobWorker(file, resourceLimits, IDLE_MS)
    this.#limits = limits
  }

  /** @param makeJob called when the job is accepted. @returns undefined when it is not */
  run<Message, Result>(
    name: string,
    makeJob: () => MaybePromise<WorkerJob<Message, Result>>,
  ): Promise<Result> | undefined {
    const nowMs = performance.now()
    const owner = this.#owners.get(name) ?? { name, pausedUntilMs: 0, usedMs: 0, usedAtMs: nowMs }
    if (owner.pausedUntilMs > nowMs) return undefined
    const place = this.#places.take(name, '', 1)
    if (place === undefined) return undefined
    if (place.held > this.#limits.maxPendingPerOwner) {
      this.#places.release(place, 1)
      return undefined
    }
    this.#owners.set(name, owner)
    const ended = andThen(makeJob(), job => this.#takeTurn(owner, job))
    return (ended as Promise<Result>).finally(() => {
      this.#places.release(place, 1)
      const endedAt = performance.now()
      // the table holds owners with pending jobs, and those that are paused or used much until a later job of theirs has ended
      if (place.held === 0 && owner.pausedUntilMs <= endedAt && currentUse(owner, endedAt) <= LONG_MS)
        this.#owners.delete(name)
    })
  }

  #workerOf(owner: Owner): JobWorker {
    return currentUse(owner, performance.now()) > LONG_MS ? this.#long : this.#short
  }

  #takeTurn<Message, Result>(owner: Owner, job: WorkerJob<Message, Result>): Promise<Result> {
    const watched: WorkerJob<Message, Result> = {
      ...job,
      fail: reason => {
        owner.pausedUntilMs = performance.now() + this.#limits.pauseMs
        return job.fail(reason)
      },
      charge(usedMs) {
        currentUse(owner, performance.now())
        owner.usedMs += usedMs
      },
    }
    let worker = this.#workerOf(owner)
    const handleTurn = (): JobWorker | undefined => {
      // jobs of the owner that ran meanwhile took long
      if (worker !== this.#short || this.#workerOf(owner) !== this.#long) return undefined
      worker = this.#long
      return worker
    }
    return worker.run(watched, owner.name, handleTurn)
  }

  async close(): Promise<void> {
    await Promise.all([this.#short.close(), this.#long.close()])
  }
}

/** @returns the thread time that still counts, ms */
function currentUse(owner: Owner, nowMs: number): number {
  owner.usedMs *= 0.5 ** ((nowMs - owner.usedAtMs) / HALF_LIFE_MS)
  owner.usedAtMs = nowMs
  return owner.usedMs
}
