/** Circuits that open after failures in a row, and admit probes while they are open. */

export interface CircuitOptions {
  /** Failures in a row that open a circuit. */
  readonly opensAfter: number
  /** How long it stays open at first; each failed probe doubles it. */
  readonly openMs: number
  readonly maxOpenMs: number
  /** Only servers that fail have an entry; beyond this many, the entry with the oldest failure is evicted. */
  readonly maxCircuits: number
}

const DEFAULTS: CircuitOptions = { opensAfter: 5, openMs: 1_000, maxOpenMs: 2_000, maxCircuits: 1_024 }

/** `closed`: call. `probe`: call; the result closes or opens the circuit. `open`: do not call before `retryAfterMs` have passed. */
export type BreakerAdmission =
  | { readonly state: 'closed' | 'probe' }
  | { readonly state: 'open'; readonly retryAfterMs: number }

/** `neutral`: the call says nothing about the server, for example because the client cancelled it. */
export type BreakerVerdict = 'succeeded' | 'failed' | 'neutral'

interface Circuit {
  failures: number
  /** In the clock of the caller; valid once `failures` has reached the threshold. */
  openUntilMs: number
  openMs: number
}

const CLOSED: BreakerAdmission = Object.freeze({ state: 'closed' })
const PROBE: BreakerAdmission = Object.freeze({ state: 'probe' })

/** One circuit for each key, such as the origin of a server. */
export class CircuitBreaker {
  /** Servers whose last call failed; the oldest failure first. */
  readonly #circuits = new Map<string, Circuit>()
  readonly #options: CircuitOptions

  constructor(options: CircuitOptions = DEFAULTS) {
    this.#options = options
  }

  /** Number of open circuits. */
  get open(): number {
    let open = 0
    for (const { failures } of this.#circuits.values()) if (failures >= this.#options.opensAfter) open++
    return open
  }

  /** @param nowMs from any clock, the same one for every call */
  admit(key: string, nowMs: number): BreakerAdmission {
    const circuit = this.#circuits.get(key)
    if (circuit === undefined || circuit.failures < this.#options.opensAfter) return CLOSED
    if (nowMs < circuit.openUntilMs) return { state: 'open', retryAfterMs: circuit.openUntilMs - nowMs }
    // the next probe follows even if this one never returns
    circuit.openUntilMs = nowMs + circuit.openMs
    return PROBE
  }

  /** Called once for each call that was admitted. */
  settle(key: string, admission: BreakerAdmission, verdict: BreakerVerdict, nowMs: number): void {
    const circuit = this.#circuits.get(key)
    if (verdict === 'succeeded') this.#circuits.delete(key)
    else if (admission.state === 'probe') {
      if (circuit === undefined) return
      if (verdict === 'neutral') {
        circuit.openUntilMs = nowMs
        return
      }
      const openMs = Math.min(circuit.openMs * 2, this.#options.maxOpenMs)
      // from the start of the probe: one that hangs and then fails must not keep out a server that is back meanwhile
      circuit.openUntilMs += openMs - circuit.openMs
      circuit.openMs = openMs
    } else if (verdict === 'failed') this.#fail(key, circuit, nowMs)
  }

  #fail(key: string, circuit: Circuit | undefined, nowMs: number): void {
    const { opensAfter, openMs, maxCircuits } = this.#options
    // calls in flight when the circuit opened do not keep it open longer
    if (circuit !== undefined && circuit.failures >= opensAfter) return
    const failures = (circuit?.failures ?? 0) + 1
    this.#circuits.delete(key)
    if (this.#circuits.size >= maxCircuits) {
      for (const oldest of this.#circuits.keys()) {
        this.#circuits.delete(oldest)
        break
      }
    }
    this.#circuits.set(key, { failures, openUntilMs: nowMs + openMs, openMs })
  }
}
