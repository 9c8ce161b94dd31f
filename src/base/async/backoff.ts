/** Exponential backoff: how long to wait before each retry, and the wait. It does not decide whether to retry. */
import { setTimeout as sleep } from 'node:timers/promises'

export interface BackoffOptions {
  readonly firstMs: number
  readonly maxMs: number
  /** Delays are shortened by a random share up to this one, so that many clients do not retry together; 0. */
  readonly jitter?: number
  /** 0 ≤ x < 1. */
  readonly random?: () => number
}

/** The delay after so many delays before it, without jitter: `firstMs`, doubled each time, at most `maxMs`. */
export function backoffMs({ firstMs, maxMs }: BackoffOptions, previous: number): number {
  return Math.min(firstMs * 2 ** previous, maxMs)
}

export class Backoff {
  readonly #options: BackoffOptions
  #retries = 0

  constructor(options: BackoffOptions) {
    this.#options = options
  }

  /** Delays since the last reset. */
  get retries(): number {
    return this.#retries
  }

  nextMs(): number {
    const { jitter = 0, random = Math.random } = this.#options
    return backoffMs(this.#options, this.#retries++) * (1 - jitter * random())
  }

  reset(): void {
    this.#retries = 0
  }

  /** Waits for the next delay, or until the signal aborts. Never rejects, and does not keep the process alive. */
  async wait(signal?: AbortSignal): Promise<void> {
    await sleep(this.nextMs(), undefined, { signal, ref: false }).catch(() => {})
  }
}
