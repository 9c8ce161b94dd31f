/** Builds the reply to a question of the control plane from recorded calls and worker states. It does not send the reply. */
import { type FleetQuestion, type FleetReply, wireSummary } from '../../link/fleet-question.ts'
import type { ProcessCalls } from './process-calls.ts'

export async function replyTo(question: FleetQuestion, calls: ProcessCalls): Promise<FleetReply> {
  const within = question.tenant === null ? {} : { within: question.tenant }
  const base = { question_id: question.id }
  if (question.kind === 'calls') {
    const page = await calls.before({ ...question.filters, ...within }, undefined, question.limit)
    return { ...base, calls: page.rows, window: page.window }
  }
  const { fromMs, toMs, parts } = question
  const [summary, workers] = await Promise.all([
    calls.summary({ ...within, fromMs, toMs, parts }),
    question.tenant === null ? calls.workers() : undefined,
  ])
  return {
    ...base,
    summary: wireSummary(summary),
    ...(workers && {
      workers: workers.map(({ worker, status, snapshot, policy_revision }) => ({
        worker,
        status,
        snapshot,
        policy_revision,
      })),
    }),
  }
}
