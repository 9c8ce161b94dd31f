/** Worker threads that several owners share: they take turns, and those whose jobs took long have a thread apart from the others. It does not interpret jobs. */
import type { ResourceLimits } from 'node:worker_threads'
import { andThen, type MaybePromise } from '../and-then.ts'
import type { Linked } from '../async/chain.ts'
import { FairQueue } from '../async/fair-queue.ts'
import { FairShares, type Party } from '../fair-shares.ts'
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

interface Owner extends Party {
  pausedUntilMs: number
  usedMs: number
  usedAtMs: number
}

/** A job that waits for its turn. */
class Turn implements Linked {
  previous: Linked | undefined
  next: Linked | undefined
  readonly party: Party
  readonly begin: () => Promise<void>

  constructor(party: Party, begin: () => Promise<void>) {
    this.party = party
    this.begin = begin
  }
}

/** One thread; owners take turns. */
class Lane {
  readonly worker: JobWorker
  readonly #queue = new FairQueue<Turn>()
  #working: Promise<void> | undefined

  constructor(file: URL, resourceLimits: ResourceLimits) {
    this.worker = new JobWorker(file, resourceLimits, IDLE_MS)
  }

  add(turn: Turn): void {
    this.#queue.append(turn)
    this.#working ??= this.#work()
  }

  async #work(): Promise<void> {
    for (let turn = this.#next(); turn !== undefined; turn = this.#next()) await turn.begin()
    this.#working = undefined
  }

  /** The running job fails, and those that wait run. */
  async close(): Promise<void> {
    await this.worker.close()
    await this.#working
    await this.worker.close()
  }

  #next(): Turn | undefined {
    return this.#queue.take(() => true)
  }
}

export class FairJobWorker {
  readonly #limits: FairJobLimits
  readonly #short: Lane
  /** The thread starts when an owner needs it. */
  readonly #long: Lane
  readonly #owners = new Map<string, Owner>()
  readonly #places: FairShares

  constructor(file: URL, resourceLimits: ResourceLimits, limits: FairJobLimits) {
    const each = Math.floor(limits.maxPending / (8 * GUARANTEED_OWNERS))
    this.#places = new FairShares({
      max: limits.maxPending,
      factor: 8,
      guarantee: { owners: GUARANTEED_OWNERS, each },
    })
    this.#short = new Lane(file, resourceLimits)
    this.#long = new Lane(file, resourceLimits)
    this.#limits = limits
  }

  /** @param makeJob called when the job is accepted. @returns undefined when it is not */
  run<Message, Result>(
    name: string,
    makeJob: () => MaybePromise<WorkerJob<Message, Result>>,
  ): Promise<Result> | undefined {
    const nowMs = performance.now()
    const owner = this.#owners.get(name) ?? {
      owner: name,
      part: '',
      pausedUntilMs: 0,
      usedMs: 0,
      usedAtMs: nowMs,
    }
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

  #laneOf(owner: Owner): Lane {
    return currentUse(owner, performance.now()) > LONG_MS ? this.#long : this.#short
  }

  #takeTurn<Message, Result>(owner: Owner, job: WorkerJob<Message, Result>): Promise<Result> {
    const watched: WorkerJob<Message, Result> = {
      ...job,
      fail: reason => {
        owner.pausedUntilMs = performance.now() + this.#limits.pauseMs
        return job.fail(reason)
      },
    }
    return new Promise<Result>((resolve, reject) => {
      let lane = this.#laneOf(owner)
      const begin = async (): Promise<void> => {
        // jobs of the owner that ran meanwhile took long
        if (lane === this.#short && this.#laneOf(owner) === this.#long) {
          lane = this.#long
          return lane.add(turn)
        }
        const startedAt = performance.now()
        await lane.worker.run(watched).then(resolve, reject)
        const nowMs = performance.now()
        currentUse(owner, nowMs)
        owner.usedMs += nowMs - startedAt
      }
      const turn = new Turn(owner, begin)
      lane.add(turn)
    })
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
