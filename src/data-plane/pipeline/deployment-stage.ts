/** Stages that a deployment adds (`STAGES`): their interface, checks, budgets and positions among the built-in stages. */

import { isPending } from '../../base/and-then.ts'
import { isObject } from '../../base/json/is-object.ts'
import type { Refusal, refuse } from '../../model/refusal.ts'
import type { Exchange } from './exchange.ts'
import type { Outcome } from './outcome.ts'
import { PHASES, type Phase, type Stage } from './stage.ts'

export type { Exchange, Outcome, Phase, Refusal, Stage }

export interface DeploymentStage extends Stage {
  /** Milliseconds that one run may take, 1 to 1000. A Promise pending for longer counts as an exception of the stage; a synchronous run is logged. */
  readonly budgetMs: number
  /** Id of the stage of the same phase that it follows; absent: last in its phase, in `invoke` first. Stages of one place run in the order of the list. */
  readonly after?: string
}

/** What a module gets; it imports nothing of the package at run time. */
export interface StageKit {
  /** Ends a call with a row of the table of refusals. */
  readonly refuse: typeof refuse
}

/** The default export of the module. It is called once in each thread that serves calls. */
export type StageModule = (kit: StageKit) => readonly DeploymentStage[]

const ID = /^[a-z][a-z0-9-]{0,62}$/
const MAX_STAGES = 20
const MAX_BUDGET_MS = 1_000

/** @returns the stages @throws Error naming the stage, its field and the fix */
export function checkStages(value: unknown): readonly DeploymentStage[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_STAGES)
    throw new Error(`the default export must return a list of 1 to ${MAX_STAGES} stages`)
  let before = 0
  for (const [at, stage] of value.entries()) {
    const { id, phase, run, budgetMs, after, last } = (
      isObject(stage) ? stage : {}
    ) as Partial<DeploymentStage>
    const name = typeof id === 'string' ? `stage "${id.slice(0, 80)}"` : `stage number ${at + 1}`
    if (typeof id !== 'string' || !ID.test(id))
      throw new Error(`${name}: id must have 1 to 63 characters of a-z, 0-9 and "-", and begin with a letter`)
    const position = PHASES.indexOf(phase!)
    if (position < 0) throw new Error(`${name}: phase must be one of ${PHASES.join(', ')}`)
    if (position < before)
      throw new Error(
        `${name}: its phase precedes the phase of the previous stage; list stages in the order of phases: ${PHASES.join(', ')}`,
      )
    if (typeof run !== 'function') throw new Error(`${name}: run must be a function`)
    if (typeof budgetMs !== 'number' || !(budgetMs >= 1 && budgetMs <= MAX_BUDGET_MS))
      throw new Error(
        `${name}: budgetMs must be a number from 1 to ${MAX_BUDGET_MS}, the milliseconds that one run may take`,
      )
    if (after !== undefined && typeof after !== 'string')
      throw new Error(`${name}: "after" must be the id of a stage`)
    if (last !== undefined && last !== true) throw new Error(`${name}: "last" must be true, or absent`)
    if (last === true && phase !== 'settle')
      throw new Error(`${name}: "last" is only for stages of the phase settle; remove "last", or use "after"`)
    before = position
  }
  return value
}

/**
 * The built-in stages with those of the deployment among them.
 * @param onOverrun called when a run without a Promise took longer than its budget
 * @throws Error naming the stage whose `after` is not an earlier stage of its phase
 */
export function addStages(
  builtIn: readonly Stage[],
  own: readonly DeploymentStage[],
  onOverrun: (stage: DeploymentStage, ms: number) => void,
): readonly Stage[] {
  const all = [...builtIn]
  const afterOf = new Map<string, string>()
  for (const stage of own) {
    const { id, phase, after } = stage
    const first = all.findIndex(one => one.phase === phase && builtIn.includes(one))
    const last = all.findLastIndex(one => one.phase === phase)
    let at = phase === 'invoke' ? first : last + 1
    if (after !== undefined) {
      at = all.findIndex(one => one.id === after && one.phase === phase) + 1
      if (at === 0) {
        const choices = all.filter(one => one.phase === phase).map(one => one.id)
        throw new Error(
          `stage "${id}": "after" is "${after}", which is not an earlier stage of the same phase; use one of ${choices.join(', ')}, or remove "after"`,
        )
      }
      while (at < all.length && follows(all[at]!.id, after, afterOf)) at++
      afterOf.set(id, after)
    }
    all.splice(at, 0, withinBudget(stage, onOverrun))
  }
  return all
}

/** Whether a stage of the deployment was placed behind another, or behind one that was. */
function follows(id: string, other: string, afterOf: ReadonlyMap<string, string>): boolean {
  let before = afterOf.get(id)
  // an id that is listed twice, which `compose` refuses, could follow itself
  for (let steps = 0; before !== undefined && steps < MAX_STAGES; steps++) {
    if (before === other) return true
    before = afterOf.get(before)
  }
  return false
}

function withinBudget(
  stage: DeploymentStage,
  onOverrun: (stage: DeploymentStage, ms: number) => void,
): Stage {
  const { id, phase, budgetMs, last } = stage
  return {
    id,
    phase,
    ...(last === undefined ? undefined : { last }),
    run(exchange) {
      const startedAt = performance.now()
      const outcome = stage.run(exchange)
      if (isPending(outcome)) return inTime(Promise.resolve(outcome), stage)
      const ms = performance.now() - startedAt
      if (ms > budgetMs) onOverrun(stage, ms)
      return valid(outcome, id)
    },
  }
}

function inTime(pending: Promise<Outcome>, { id, budgetMs }: DeploymentStage): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`stage "${id}" did not finish within its budget (budgetMs) of ${budgetMs} ms`)),
      budgetMs,
    )
    pending
      .then(outcome => resolve(valid(outcome, id)))
      .catch(reject)
      .finally(() => clearTimeout(timer))
  })
}

/** A module without types may return anything: `true` must neither allow nor deny by accident. */
function valid(outcome: Outcome, id: string): Outcome {
  if (outcome === undefined || outcome.kind === 'reply' || (outcome.kind === 'refusal' && 'row' in outcome))
    return outcome
  throw new Error(`stage "${id}" must return undefined, a refusal or a reply`)
}
