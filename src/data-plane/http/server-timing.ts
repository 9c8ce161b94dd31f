/** The header `Server-Timing`: who may read it, and its value from the timings of exchanges. It times no stage: `compose.ts` does. */
import { andThen } from '../../base/and-then.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { TIMING_KEY, timingInput } from '../stages/shared/policy-input.ts'
import { subjectKeyOf } from '../stages/shared/subject-key.ts'

const TRUE = /^(?:1|true|yes|on)$/i

/** @param header value of `X-Debug-Timing`, '' when absent */
export function wantsTiming(header: string): boolean {
  return header !== '' && TRUE.test(header.trim())
}

/**
 * Whether the caller may see it: the policy is asked as for `/admin/*`, with resource `timing`. A denial
 * is not reported; an unauthenticated caller may not see it.
 */
export function mayReadTiming(exchange: Exchange): boolean | Promise<boolean> {
  if (exchange.principal === undefined) return false
  const { policy } = exchange.snapshot
  return andThen(
    policy.decide(timingInput(exchange), subjectKeyOf(exchange), TIMING_KEY),
    // no stage would meet an obligation here
    ({ allow, obligations }) => allow && obligations === undefined,
  )
}

/** Timings of the exchanges of one request; stages of a batch are summed. */
export class ServerTiming {
  readonly #stageMs = new Map<string, number>()
  #upstreamMs = -1
  #exchanges = 0
  #startedAt = Number.POSITIVE_INFINITY

  /** @param upstreamMs what is known before the exchange has ended; of the exchange when absent, -1: not called */
  add(exchange: Exchange, upstreamMs = exchange.backendMs): void {
    this.#exchanges++
    this.#startedAt = Math.min(this.#startedAt, exchange.startedAt)
    for (const { stage, ms } of exchange.timings ?? [])
      this.#stageMs.set(stage, (this.#stageMs.get(stage) ?? 0) + ms)
    if (upstreamMs >= 0) this.#upstreamMs = Math.max(0, this.#upstreamMs) + upstreamMs
  }

  /**
   * Value of the header (W3C Server Timing, §2): stages in their order, then `upstream`, which a stage has waited for, then `total`
   * since the request was read; in ms, to the microsecond.
   * @param now `performance.now()`
   */
  render(now: number): string {
    const entries = [...this.#stageMs].map(([stage, ms]) => entry(stage, ms))
    if (this.#upstreamMs >= 0) entries.push(entry('upstream', this.#upstreamMs))
    const total = entry('total', Math.max(0, now - this.#startedAt))
    entries.push(this.#exchanges > 1 ? `${total};desc="${this.#exchanges} calls"` : total)
    return entries.join(', ')
  }
}

/** A name is a token (RFC 9110 §5.6.2); a stage that a deployment brings may be called anything. */
function entry(name: string, ms: number): string {
  return `${name.replace(/[^\w!#$%&'*+.^`|~-]/g, '-')};dur=${Number(ms.toFixed(3))}`
}
