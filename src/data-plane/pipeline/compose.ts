/** Checks a list of stages and composes it into a runner, which handles their errors and measures their time. It depends on no particular stage. */

import { isPending, type MaybePending, type Pending } from '../../shared/call/and-then.ts'
import { type Refusal, refuse } from '../../shared/call/refusal.ts'
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

  /** Starts all settle stages; the response waits for those that are pending. The `last` ones run after them. */
  function settle(exchange: Exchange, final: Final): MaybePending<Final> {
    exchange.final = final
    let held: Pending<Final> | undefined
    for (const stage of settlers) {
      try {
        const result = stage.run(exchange)
        if (isPending(result)) held = hold(exchange, final, stage, result, held)
      } catch (error) {
        bug(error, stage, exchange)
      }
    }
    return held === undefined ? end(exchange, final) : endAfter(held, exchange, final)
  }

  /** Apart from `settle`, in which a closure would make V8 allocate a scope for each stage of each call. */
  function hold(
    exchange: Exchange,
    final: Final,
    stage: Stage,
    pending: Pending<unknown>,
    held: Pending<Final> | undefined,
  ): Pending<Final> {
    const settled = pending.then(
      () => final,
      error => {
        bug(error, stage, exchange)
        return final
      },
    )
    return held === undefined ? settled : held.then(() => settled)
  }

  function endAfter(held: Pending<Final>, exchange: Exchange, final: Final): Pending<Final> {
    return held.then(() => end(exchange, final))
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

  function finish(
    exchange: Exchange,
    at: number,
    pending: Pending<Outcome>,
    startedAt: number,
  ): Pending<Final> {
    const goOn = (outcome: Outcome): MaybePending<Final> => {
      time(exchange, steps[at]!, startedAt)
      return outcome === undefined ? walk(exchange, at + 1) : settle(exchange, outcome)
    }
    return pending.then(goOn, error => goOn(bug(error, steps[at]!, exchange)))
  }

  function walk(exchange: Exchange, from: number): MaybePending<Final> {
    for (let at = from; at < steps.length; at++) {
      const stage = steps[at]!
      const startedAt = exchange.timings === undefined ? 0 : performance.now()
      let outcome: MaybePending<Outcome>
      try {
        outcome = stage.run(exchange)
      } catch (error) {
        outcome = bug(error, stage, exchange)
      }
      if (isPending(outcome)) return finish(exchange, at, outcome, startedAt)
      if (startedAt > 0) time(exchange, stage, startedAt)
      if (outcome === undefined) continue
      return settle(exchange, outcome)
    }
    return settle(exchange, undefined)
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
