/** Which upstreams are not worth a try at the moment. Pure: the time is an argument, and it sends nothing. */

export interface CircuitOptions {
  /** Failures in a row that open a circuit. */
  readonly opensAfter: number
  /** How long it stays open at first; each failed probe doubles it. */
  readonly openMs: number
  readonly maxOpenMs: number
  /** Upstreams remembered because they failed; the one that failed longest ago makes room. */
  readonly maxOrigins: number
}

export const DEFAULT_CIRCUIT: CircuitOptions = {
  opensAfter: 5,
  openMs: 1_000,
  maxOpenMs: 30_000,
  maxOrigins: 1_024,
}

/** `closed`: go on. `probe`: go on, alone; what comes of it decides. `open`: do not try before `retryAfterMs` have passed. */
export type Admission =
  | { readonly state: 'closed' | 'probe' }
  | { readonly state: 'open'; readonly retryAfterMs: number }

/** `neutral`: nothing was learnt about the upstream (the caller went away). */
export type Verdict = 'succeeded' | 'failed' | 'neutral'

interface Circuit {
  failures: number
  /** Unix ms; meaningful once `failures` has reached the bound. */
  openUntilMs: number
  lastedMs: number
  probing: boolean
}

const CLOSED: Admission = Object.freeze({ state: 'closed' })
const PROBE: Admission = Object.freeze({ state: 'probe' })

export class CircuitBreaker {
  /** Only of upstreams that failed last time; the longest ago first. */
  readonly #circuits = new Map<string, Circuit>()
  readonly #options: CircuitOptions

  constructor(options: CircuitOptions = DEFAULT_CIRCUIT) {
    this.#options = options
  }

  /** Circuits that let nobody through but a probe. */
  get open(): number {
    let open = 0
    for (const { failures } of this.#circuits.values()) if (failures >= this.#options.opensAfter) open++
    return open
  }

  admit(origin: string, nowMs: number): Admission {
    const circuit = this.#circuits.get(origin)
    if (circuit === undefined || circuit.failures < this.#options.opensAfter) return CLOSED
    if (nowMs < circuit.openUntilMs) return { state: 'open', retryAfterMs: circuit.openUntilMs - nowMs }
    // everybody but the probe waits for what it finds
    if (circuit.probing) return { state: 'open', retryAfterMs: this.#options.openMs }
    circuit.probing = true
    return PROBE
  }

  /** Called once for each call that was admitted. */
  settle(origin: string, admission: Admission, verdict: Verdict, nowMs: number): void {
    const circuit = this.#circuits.get(origin)
    if (verdict === 'succeeded') this.#circuits.delete(origin)
    else if (admission.state === 'probe') {
      if (circuit === undefined) return
      circuit.probing = false
      if (verdict === 'neutral') return
      circuit.lastedMs = Math.min(circuit.lastedMs * 2, this.#options.maxOpenMs)
      circuit.openUntilMs = nowMs + circuit.lastedMs
    } else if (verdict === 'failed') this.#fail(origin, circuit, nowMs)
  }

  #fail(origin: string, circuit: Circuit | undefined, nowMs: number): void {
    const { opensAfter, openMs, maxOrigins } = this.#options
    // calls that were under way when it opened tell nothing new
    if (circuit !== undefined && circuit.failures >= opensAfter) return
    const failures = (circuit?.failures ?? 0) + 1
    this.#circuits.delete(origin)
    if (this.#circuits.size >= maxOrigins) {
      for (const oldest of this.#circuits.keys()) {
        this.#circuits.delete(oldest)
        break
      }
    }
    this.#circuits.set(origin, { failures, openUntilMs: nowMs + openMs, lastedMs: openMs, probing: false })
  }
}
