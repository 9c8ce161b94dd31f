/** The common base of collected and streamed outgoing calls: their timeout, cancellation, failure and result. */
import { Deadlines, NOT_WATCHED, type Watched } from '../../base/async/deadlines.ts'
import type { Cancelable, Cancellation } from '../../base/cancellation.ts'
import type { Share } from '../../base/fair-shares.ts'
import { Later } from '../../base/later.ts'
import type { EgressFailure } from './egress.ts'
import { failure, failureOf, saturation } from './failure.ts'
import type { Abort, ResponseHandler } from './http1/response-handler.ts'
import type { OriginPool, PooledCall, WaitingCall } from './origin-pool.ts'

export interface CallInit {
  readonly timeoutMs: number
  readonly cancellation?: Cancellation | undefined
}

/** Node runs a longer timer at once. */
const MAX_TIMER_MS = 2 ** 31 - 1
/** Time-outs from here on may end 150 ms late, and share a timer: one for each call costs a microsecond. Shorter ones are those of polls and probes, on which the time to notice a fault depends. */
const MIN_SHARED_MS = 10_000
const SHARED_STEP_MS = 50
/** Different time-outs that share timers; tools have few. */
const MAX_SHARED = 64

interface Limited extends Watched {
  timedOut(): void
}

const shared = new Map<number, Deadlines<Limited>>()

/** undefined: a call with this time-out has its own timer. What remains of a time-out is another number for each call, and rounded up. */
function sharedTimer(timeoutMs: number): Deadlines<Limited> | undefined {
  if (timeoutMs < MIN_SHARED_MS) return undefined
  const roundedMs = Math.ceil(timeoutMs / SHARED_STEP_MS) * SHARED_STEP_MS
  const known = shared.get(roundedMs)
  if (known !== undefined || shared.size >= MAX_SHARED) return known
  const made = new Deadlines<Limited>(roundedMs, onTimeout, SHARED_STEP_MS)
  shared.set(roundedMs, made)
  return made
}

/**
 * The part of an undici handler that reading a body whole and streaming it have in common. Uses the handler interface with raw
 * headers (`onConnect`, `onHeaders` …): it costs a fifth less per call than the one with parsed headers.
 */
export abstract class Call<R>
  extends Later<R | EgressFailure>
  implements
    Cancelable,
    Watched,
    Pick<PooledCall, 'share' | 'waiting' | 'endWait'>,
    Pick<ResponseHandler, 'over' | 'onConnect' | 'onError'>
{
  share: Share | undefined
  waiting: WaitingCall | undefined
  watchedSinceMs: number = NOT_WATCHED
  previous: Watched | undefined
  next: Watched | undefined
  protected readonly origin: string
  protected sent = false
  protected responded = false
  #over = false
  #abort: Abort | undefined
  readonly #timeoutMs: number
  readonly #pool: OriginPool
  readonly #deadlines: ReturnType<typeof sharedTimer>
  readonly #timer: NodeJS.Timeout | undefined
  readonly #cancellation: Cancellation | undefined

  /** @param runs share of the calls that run; undefined: it has to wait */
  constructor(
    origin: string,
    pool: OriginPool,
    runs: Share | undefined,
    { timeoutMs, cancellation }: CallInit,
  ) {
    super()
    this.origin = origin
    this.#timeoutMs = timeoutMs
    this.#pool = pool
    this.share = runs
    this.#deadlines = sharedTimer(timeoutMs)
    if (this.#deadlines === undefined)
      this.#timer = setTimeout(onTimeout, Math.min(timeoutMs, MAX_TIMER_MS), this)
    else this.#deadlines.watch(this)
    this.#cancellation = cancellation
    cancellation?.add(this)
  }

  onCancelled(): void {
    this.fail(failure('cancelled', `the call to ${this.origin} was cancelled`, this.sent))
  }

  /** True once the exchange has ended, well or not; later events of the library are ignored. */
  get over(): boolean {
    return this.#over
  }

  /** The exchange has ended as it should. */
  protected finish(): void {
    if (this.#over) return
    this.#over = true
    if (this.#deadlines === undefined) clearTimeout(this.#timer)
    else this.#deadlines.unwatch(this)
    this.#cancellation?.remove(this)
    this.#pool.end(this)
  }

  /** Ends the exchange and closes its connection at once. */
  fail(why: EgressFailure): void {
    if (this.#over) return
    this.finish()
    this.onFailed(why)
    if (this.#abort !== undefined) this.#takeBack(this.#abort)
    // last, because the reader runs at once
    this.resolve(why)
  }

  /** Called once when the exchange fails, also after the head was handed out. */
  protected abstract onFailed(why: EgressFailure): void

  endWait(): void {
    this.fail(saturation(this.origin, 'no connection to it became free in time'))
  }

  timedOut(): void {
    if (this.waiting !== undefined) return this.endWait()
    if (this.sent && !this.responded) this.#pool.handleHead(this)
    const ms = Math.round(this.#timeoutMs)
    this.fail(failure('timeout', `${this.origin} did not respond completely within ${ms} ms`, this.sent))
  }

  /** Called when a connection is about to carry the request. */
  onConnect(abort: Abort): void {
    if (this.#over) return this.#takeBack(abort)
    this.sent = true
    this.#abort = abort
    this.#pool.handleSent(this)
  }

  /** The head has arrived. */
  protected handleHead(): void {
    this.responded = true
    this.#pool.handleHead(this)
  }

  #takeBack(abort: Abort): void {
    if (typeof abort === 'function') abort()
    else abort.takeBack(this)
  }

  onError(error: Error): void {
    // undici also reports an abort as an error; its reason was reported before.
    this.#abort = undefined
    this.fail(failureOf(error, this.origin, { sent: this.sent, responded: this.responded }))
  }
}

function onTimeout(call: Limited): void {
  call.timedOut()
}
