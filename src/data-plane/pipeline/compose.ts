/** Checks a list of stages and composes it into a runner, which handles their errors and measures their time. It depends on no particular stage. */

import { isPending, type MaybePending, type Pending, passTo } from '../../base/and-then.ts'
import { Later, type Reader } from '../../base/later.ts'
import { type Refusal, refuse } from '../../model/refusal.ts'
import type { Exchange } from './exchange.ts'
import type { Final, Outcome } from './outcome.ts'
import { PHASES, type Stage } from './stage.ts'

/** Runs an exchange to its end; pending only when a stage was. Never throws and never rejects. */
export type Pipeline = (exchange: Exchange) => MaybePending<Final>

/**
 * Composes stages, refusing a wrong order or a repeated id.
 * @param onBug receives everything a stage throws; the caller gets `internal_error`, unless it was a settle stage.
 * @param measured selects exchanges whose stages before `settle` are timed, besides those that arrive with `timings`; timing reads the clock twice per stage.
 * @throws Error at start-up, naming the stages in the wrong order, or the repeated id.
 */
export function compose(
  stages: readonly Stage[],
  onBug: (error: unknown, stage: Stage, exchange: Exchange) => void,
  measured?: (exchange: Exchange) => boolean,
): Pipeline {
  check(stages)
  const steps = stages.filter(stage => stage.phase !== 'settle')
  const settlers = stages.filter(stage => stage.phase === 'settle' && stage.last === undefined)
  const lastSettlers = stages.filter(stage => stage.phase === 'settle' && stage.last === true)

  function bug(error: unknown, stage: Stage, exchange: Exchange): Refusal {
    onBug(error, stage, exchange)
    return refuse('internal_error')
  }

  /** For an exchange in which a stage is pending: continues with what arrives. */
  class Run implements Reader<Outcome> {
    readonly exchange: Exchange
    /** A member: with a fifth class that extends Later, V8 defines the fields of all of them by a slow way. */
    readonly final = new Later<Final>()
    /** Place of the pending stage. */
    at = 0
    startedAt = 0
    /** Pending settle stages, and one until all have started. */
    holds = 0

    constructor(exchange: Exchange) {
      this.exchange = exchange
    }

    onValue(outcome: Outcome): void {
      const { exchange, at } = this
      time(exchange, steps[at]!, this.startedAt)
      const final = outcome === undefined ? walk(exchange, at + 1, this) : settle(exchange, outcome, this)
      if (final !== this.final) this.final.resolve(final as Final)
    }

    onError(error: unknown): void {
      this.onValue(bug(error, steps[this.at]!, this.exchange))
    }

    /** @returns whether the exchange has ended */
    release(): boolean {
      this.holds--
      return this.holds === 0
    }
  }

  /** Keeps the response of a run until a settle stage is done. */
  class Hold implements Reader<unknown> {
    readonly #run: Run
    readonly #stage: Stage

    constructor(run: Run, stage: Stage) {
      this.#run = run
      this.#stage = stage
    }

    onValue(): void {
      const run = this.#run
      if (run.release()) run.final.resolve(end(run.exchange, run.exchange.final))
    }

    onError(error: unknown): void {
      bug(error, this.#stage, this.#run.exchange)
      this.onValue()
    }
  }

  /** Starts all settle stages; the response waits for those that are pending. The `last` ones run after them. */
  function settle(exchange: Exchange, outcome: Outcome, of?: Run): MaybePending<Final> {
    const final = exchange.accessEnd ?? outcome
    exchange.final = final
    let run: Run | undefined
    for (const stage of settlers) {
      try {
        const result = stage.run(exchange)
        if (!isPending(result)) continue
        if (run === undefined) {
          run = of ?? new Run(exchange)
          run.holds = 1
        }
        run.holds++
        passTo<unknown>(result, new Hold(run, stage))
      } catch (error) {
        bug(error, stage, exchange)
      }
    }
    return run === undefined || run.release() ? end(exchange, final) : run.final
  }

  function end(exchange: Exchange, final: Final): Final {
    for (const stage of lastSettlers) {
      try {
        const result = stage.run(exchange)
        if (isPending(result)) watch(exchange, stage, result)
      } catch (error) {
        bug(error, stage, exchange)
      }
    }
    return final
  }

  /** The response does not wait for it; its error is reported with the stage and the exchange nevertheless. */
  function watch(exchange: Exchange, stage: Stage, pending: Pending<unknown>): void {
    void pending.then(
      () => {},
      error => void bug(error, stage, exchange),
    )
  }

  function walk(exchange: Exchange, from: number, of?: Run): MaybePending<Final> {
    for (let at = from; at < steps.length; at++) {
      const stage = steps[at]!
      const startedAt = exchange.timings === undefined ? 0 : performance.now()
      let outcome: MaybePending<Outcome>
      try {
        outcome = stage.run(exchange)
      } catch (error) {
        outcome = bug(error, stage, exchange)
      }
      if (isPending(outcome)) {
        const run = of ?? new Run(exchange)
        run.at = at
        run.startedAt = startedAt
        passTo(outcome, run)
        return run.final
      }
      if (startedAt > 0) time(exchange, stage, startedAt)
      if (outcome === undefined) continue
      return settle(exchange, outcome, of)
    }
    return settle(exchange, undefined, of)
  }

  return exchange => {
    if (exchange.timings === undefined && measured?.(exchange) === true) exchange.timings = []
    return walk(exchange, 0)
  }
}

function time({ timings }: Exchange, { id }: Stage, startedAt: number): void {
  timings?.push({ stage: id, startedAt, ms: performance.now() - startedAt })
}

function check(stages: readonly Stage[]): void {
  const seen = new Set<string>()
  for (const [at, stage] of stages.entries()) {
    if (seen.has(stage.id))
      throw new Error(`stage "${stage.id}" is listed twice; give each stage a unique id`)
    seen.add(stage.id)
    const before = stages[at - 1]
    if (before !== undefined && PHASES.indexOf(stage.phase) < PHASES.indexOf(before.phase)) {
      throw new Error(
        `stage "${stage.id}" (phase ${stage.phase}) is listed after "${before.id}" (phase ${before.phase}); the order of phases is ${PHASES.join(', ')}`,
      )
    }
  }
}
