/** Ends event streams and long calls when their caller loses access: the credential ends, or a change of configuration or policy refuses them. */

import { continueWith } from '../../base/and-then.ts'
import { Deadlines, type Watched } from '../../base/async/deadlines.ts'
import type { Refusal } from '../../model/refusal.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { AccessCheck, Opened } from './access-check.ts'
import { type Ticked, Ticker } from './mcp/ticker.ts'

/** A call that takes longer is watched. */
const LONG_MS = 1000
const LOOK_EVERY_MS = 500

/** A call that waits for something. */
export interface WaitingCall extends Watched {
  /** Called when it has taken long. */
  onLong(): void
}

interface WatchParts {
  readonly check: AccessCheck
  readonly snapshot: () => Snapshot | undefined
  /** Unix ms. */
  readonly nowMs: () => number
}

interface Watch extends Ticked {
  readonly opened: Opened
  readonly end: (why: Refusal) => void
  /** The last one under which it was looked at. */
  snapshot: Snapshot
  /** Under that snapshot. */
  endsAtMs: number
}

export class AccessWatch {
  readonly #parts: WatchParts
  readonly #waiting = new Deadlines<WaitingCall>(LONG_MS, call => call.onLong())
  readonly #ticker: Ticker<Watch>

  constructor(parts: WatchParts) {
    this.#parts = parts
    this.#ticker = new Ticker(LOOK_EVERY_MS, (watch, nowMs) => this.#look(watch, nowMs), parts.nowMs)
  }

  /** Called when a call begins to wait: most end soon, and cost two writes. */
  begin(call: WaitingCall): void {
    this.#waiting.watch(call)
  }

  /** Called when it waits no more. */
  finish(call: WaitingCall): void {
    this.#waiting.unwatch(call)
  }

  /**
   * @param snapshot under which it was opened
   * @param end is called once when the caller has lost access, until the result is called
   * @returns ends the watch
   */
  open(opened: Opened, snapshot: Snapshot, end: (why: Refusal) => void): () => void {
    const { check, nowMs } = this.#parts
    const endsAtMs = check.endOf(opened, snapshot, nowMs())
    const watch: Watch = {
      ticking: false,
      previous: undefined,
      next: undefined,
      opened,
      end,
      snapshot,
      endsAtMs,
    }
    this.#ticker.add(watch)
    return () => this.#ticker.delete(watch)
  }

  /** Why it would be refused now; undefined: it would not. */
  refusalOf(opened: Opened, snapshot: Snapshot): ReturnType<AccessCheck['refusalOf']> {
    return this.#parts.check.refusalOf(opened, snapshot, this.#parts.nowMs())
  }

  #look(watch: Watch, nowMs: number): void {
    const snapshot = this.#parts.snapshot()
    if (snapshot === undefined) return
    if (snapshot === watch.snapshot && nowMs < watch.endsAtMs) return
    const { check } = this.#parts
    const { opened } = watch
    watch.snapshot = snapshot
    watch.endsAtMs = check.endOf(opened, snapshot, nowMs)
    void continueWith(check.refusalOf(opened, snapshot, nowMs), why => {
      // a decision that cannot be made denies what begins now, and ends nothing
      if (why === undefined || why.reason === 'policy_unavailable' || !watch.ticking) return
      this.#ticker.delete(watch)
      watch.end(why)
    })
  }
}
