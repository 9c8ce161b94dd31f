/** Stops asking a policy server that does not answer, and tries it again now and then. It sends nothing itself. */

export interface BreakerOptions {
  /** So many failures in a row open it. */
  readonly failures: number
  /** It stays open so long, and twice as long after each vain try, up to the maximum. */
  readonly openMs: number
  readonly maxOpenMs: number
  /** Monotonic milliseconds. */
  readonly now: () => number
}

export class Breaker {
  readonly #options: BreakerOptions
  #failures = 0
  #openMs: number
  #openUntil = Number.NEGATIVE_INFINITY
  #trying = false

  constructor(options: BreakerOptions) {
    this.#options = options
    this.#openMs = options.openMs
  }

  /** Whether a call may be made now. While it is open, one call goes through each time the wait is over. */
  mayCall(): boolean {
    if (this.#failures < this.#options.failures) return true
    if (this.#trying || this.#options.now() < this.#openUntil) return false
    this.#trying = true
    return true
  }

  succeeded(): void {
    this.#failures = 0
    this.#trying = false
    this.#openMs = this.#options.openMs
  }

  failed(): void {
    this.#failures++
    if (this.#failures < this.#options.failures) return
    if (this.#trying) this.#openMs = Math.min(this.#openMs * 2, this.#options.maxOpenMs)
    this.#trying = false
    this.#openUntil = this.#options.now() + this.#openMs
  }
}
