/** The pool of one origin: which calls run, which wait for a connection in turns of their parties, and for how long. */
import type { Linked } from '../../base/async/chain.ts'
import { Deadlines, NOT_WATCHED, type Watched } from '../../base/async/deadlines.ts'
import { FairQueue } from '../../base/async/fair-queue.ts'
import { FairShares, type Party, type Share } from '../../base/fair-shares.ts'
import { AdaptiveLimit } from './adaptive-limit.ts'
import { Http1Error, type OutgoingRequest, type ResponseHandler } from './http1/response-handler.ts'
import type { OriginClient } from './origin-client.ts'

/** An owner may have 4 times the free connections (four fifths of all), a party alone 16 of 21, and so with the places in the queue. */
const FACTOR = 4

export interface OriginPoolLimits {
  /** Calls that run at once. */
  readonly maxRunning: number
  readonly maxWaiting: number
  readonly maxWaitMs: number
  /** The number of calls that run follows the latency of the origin. */
  readonly isAdaptive?: boolean
}

/** A call that a pool carries. */
export interface PooledCall extends ResponseHandler {
  /** Share of the calls that run; the pool sets it when one that waited begins to run. */
  share: Share | undefined
  /** Set by the pool. */
  waiting: WaitingCall | undefined
  /** Called when it has waited too long. */
  endWait(): void
}

export class WaitingCall implements Linked {
  previous: Linked | undefined
  next: Linked | undefined
  readonly call: PooledCall
  readonly request: OutgoingRequest
  /** Share of the places in the queue; it names the party. */
  readonly party: Share
  readonly deadline: WaitDeadline

  constructor(call: PooledCall, request: OutgoingRequest, place: Share) {
    this.call = call
    this.request = request
    this.party = place
    this.deadline = { call, watchedSinceMs: NOT_WATCHED, previous: undefined, next: undefined }
  }
}

interface WaitDeadline extends Watched {
  readonly call: PooledCall
}

/** Waits may end so much later: all of a pool share one timer. */
const WAIT_STEP_MS = 50

export class OriginPool {
  /** Order of last use, not a time. */
  usedAt = 0
  readonly #client: OriginClient
  readonly #running: FairShares
  readonly #places: FairShares
  readonly #waits: Deadlines<WaitDeadline>
  readonly #queue = new FairQueue<WaitingCall>()
  readonly #limit: AdaptiveLimit | undefined
  /** `performance.now()` of calls without a head, with an adaptive limit. */
  readonly #sentAtMs = new Map<object, number>()

  constructor(client: OriginClient, { maxRunning, maxWaiting, maxWaitMs, isAdaptive }: OriginPoolLimits) {
    this.#client = client
    this.#running = new FairShares({ max: maxRunning, factor: FACTOR })
    this.#places = new FairShares({ max: maxWaiting, factor: FACTOR })
    this.#waits = new Deadlines(maxWaitMs, ({ call }) => call.endWait(), WAIT_STEP_MS)
    this.#limit = isAdaptive === true ? new AdaptiveLimit(maxRunning) : undefined
  }

  /** A connection is about to carry the call. */
  handleSent(call: object): void {
    if (this.#limit !== undefined) this.#sentAtMs.set(call, performance.now())
  }

  /** The call got its head, or none in time. */
  handleHead(call: object): void {
    if (this.#limit === undefined) return
    const sentAtMs = this.#sentAtMs.get(call)
    if (sentAtMs === undefined) return
    this.#sentAtMs.delete(call)
    if (!this.#limit.add(performance.now() - sentAtMs, this.#running.held)) return
    this.#running.resize(this.#limit.limit)
    while (this.#queue.size > 0 && this.#runNext());
  }

  get isIdle(): boolean {
    return this.#running.held === 0 && this.#queue.size === 0
  }

  /** @returns undefined when the party has to wait */
  run({ owner, part }: Party): Share | undefined {
    return this.#running.take(owner, part, 1)
  }

  /** @returns undefined when the party must not wait either */
  wait({ owner, part }: Party): Share | undefined {
    return this.#places.take(owner, part, 1)
  }

  /** Sends a call that runs, or has it wait. @param place of the queue, for a call that has to wait */
  carry(request: OutgoingRequest, call: PooledCall, place: Share | undefined): void {
    if (place === undefined) return this.#client.dispatch(request, call)
    const waiting = new WaitingCall(call, request, place)
    call.waiting = waiting
    this.#waits.watch(waiting.deadline)
    this.#queue.append(waiting)
  }

  /** For each call once, when it has ended. */
  end(call: Pick<PooledCall, 'waiting' | 'share'>): void {
    const { waiting, share } = call
    if (this.#limit !== undefined) this.#sentAtMs.delete(call)
    if (waiting !== undefined) {
      this.#queue.remove(waiting)
      this.#leaveQueue(waiting)
      return
    }
    // one that waited when the pool was destroyed did not run
    if (share === undefined) return
    this.#running.release(share, 1)
    if (this.#queue.size > 0) this.#runNext()
  }

  /** @returns false when none may run */
  #runNext(): boolean {
    const next = this.#queue.take(waiting => {
      waiting.call.share = this.run(waiting.party)
      return waiting.call.share !== undefined
    })
    if (next === undefined) return false
    this.#leaveQueue(next)
    this.#client.dispatch(next.request, next.call)
    return true
  }

  #leaveQueue({ call, party, deadline }: WaitingCall): void {
    this.#waits.unwatch(deadline)
    this.#places.release(party, 1)
    call.waiting = undefined
  }

  /** Ends every connection; calls in flight and those that wait fail. */
  async destroy(): Promise<void> {
    const closed = new Http1Error('UND_ERR_DESTROYED', 'the HTTP client is closed')
    for (;;) {
      const waiting = this.#queue.take(() => true)
      if (waiting === undefined) break
      this.#leaveQueue(waiting)
      waiting.call.onError(closed)
    }
    await this.#client.destroy()
  }
}
