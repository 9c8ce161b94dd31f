/** Merges the replies of gateways about recorded calls, and shows which gateways replied. */
import { type CallWindow, mergedSummary, shownFigures, shownSummary } from '../../../link/call-summary.ts'
import {
  type CallsQuestion,
  type FleetReply,
  readSummary,
  type SummaryQuestion,
  type WireSummary,
} from '../../../link/fleet-question.ts'
import { SEPARATOR } from '../../../model/call-figures.ts'
import type { Replies } from '../../publisher/fleet-questions.ts'
import { recordedCall } from '../schemas/fleet-reply.ts'

export interface AskedGateway {
  readonly id: string
  readonly name: string
}

type Asked<Question> = Omit<Question, 'id'>

export function mergedCalls(
  { tenant, limit }: Asked<CallsQuestion>,
  received: Replies,
  gateways: readonly AskedGateway[],
) {
  const replies = aboutOnly(tenant, received)
  const calls = gateways.flatMap(({ id, name }) =>
    (replies.get(id)?.calls ?? [])
      // those of a gateway in this process have not been validated
      .map(call => recordedCall.parse(call))
      // a gateway filters too: neither relies on the other
      .filter(call => tenant === null || call.tenant === tenant)
      .map(call => ({ ...call, gateway: name })),
  )
  calls.sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))
  return { calls: calls.slice(0, limit), ...coverage(replies, gateways) }
}

export function mergedOverview(
  question: Asked<SummaryQuestion>,
  received: Replies,
  gateways: readonly AskedGateway[],
) {
  const { fromMs, toMs, tenant } = question
  const replies = aboutOnly(tenant, received)
  const workers = [...replies.values()].flatMap(reply => reply.workers ?? [])
  const served = new Set(workers.map(({ snapshot, policy_revision }) => `${snapshot} ${policy_revision}`))
  return {
    at: new Date(toMs).toISOString(),
    window_s: (toMs - fromMs) / 1000,
    ...shownSummary(summaryOf(question, replies), fromMs, toMs),
    consistent: tenant === null ? served.size <= 1 : null,
    ...coverage(replies, gateways),
  }
}

export function mergedTools(
  question: Asked<SummaryQuestion>,
  received: Replies,
  gateways: readonly AskedGateway[],
) {
  const replies = aboutOnly(question.tenant, received)
  const tools = [...summaryOf(question, replies).tools]
    .sort(([, a], [, b]) => b.calls - a.calls)
    .map(([name, figures]) => {
      const [toolset, tool] = name.split(SEPARATOR)
      return { toolset, tool, ...shownFigures(figures) }
    })
  return { tools, ...coverage(replies, gateways) }
}

function summaryOf({ fromMs, toMs, parts }: Asked<SummaryQuestion>, replies: Replies) {
  const summaries = [...replies.values()].flatMap(({ summary }) =>
    summary === undefined ? [] : [readSummary(summary, toMs)],
  )
  return mergedSummary(summaries, fromMs, parts)
}

/**
 * A gateway filters by tenant too: neither relies on the other. Sums cannot be divided by tenant again, so a summary that names another
 * tenant counts as no reply. Which threads a gateway has is not for one tenant.
 */
function aboutOnly(tenant: string | null, replies: Replies): Replies {
  if (tenant === null) return replies
  const about = [...replies].filter(
    ([, { summary }]) =>
      summary === undefined ||
      (isOnlyOf(summary.consumers, tenant, 0) && isOnlyOf(summary.refusals, tenant, 1)),
  )
  return new Map(about.map(([id, reply]) => [id, { ...reply, workers: undefined }]))
}

/** @param at which part of a group's name is its tenant */
function isOnlyOf(groups: WireSummary['consumers'], tenant: string, at: number): boolean {
  return groups.every(([name]) => name.split(SEPARATOR)[at] === tenant)
}

function coverage(replies: Replies, gateways: readonly AskedGateway[]) {
  return {
    gateways: gateways.map(({ id, name }) => {
      const reply = replies.get(id)
      return { id, name, status: reply === undefined ? 'no_reply' : 'replied', ...stateOf(reply) }
    }),
    complete: gateways.every(({ id }) => replies.has(id)),
  }
}

function stateOf(reply: FleetReply | undefined) {
  const window: CallWindow | undefined = reply?.window ?? reply?.summary?.window
  const since = window?.sinceMs ?? null
  return {
    calls: window?.calls ?? null,
    since: since === null ? null : new Date(since).toISOString(),
    workers: reply?.workers ?? null,
  }
}
