/** Simulates a call: runs given stages in place of those of a real call, and reports a result for each. It leaves out settle stages. */
import type { Exchange } from './exchange.ts'
import type { Final, Outcome } from './outcome.ts'
import type { Phase, Stage } from './stage.ts'

/** `not_simulated`: nothing was passed to run in place of the stage, because it needs the client, the backend or a count, or is not built in. */
type StepResult = 'passed' | 'refused' | 'not_simulated' | 'not_reached'

export interface SimulatedStep {
  readonly stage: string
  readonly phase: Phase
  readonly result: StepResult
}

/**
 * @param stages of a real call, in their order; settle stages are left out
 * @param simulated by id: what runs in place of a stage, or the stage itself where it changes nothing
 */
export async function simulate(
  stages: readonly Stage[],
  simulated: ReadonlyMap<string, Stage>,
  exchange: Exchange,
): Promise<{ readonly steps: readonly SimulatedStep[]; readonly final: Final }> {
  const steps: SimulatedStep[] = []
  let final: Outcome
  for (const { id: stage, phase } of stages) {
    if (phase === 'settle') continue
    const run = simulated.get(stage)
    if (final !== undefined) steps.push({ stage, phase, result: 'not_reached' })
    else if (run === undefined) steps.push({ stage, phase, result: 'not_simulated' })
    else {
      final = await run.run(exchange)
      steps.push({ stage, phase, result: final === undefined ? 'passed' : 'refused' })
    }
  }
  return { steps, final }
}
