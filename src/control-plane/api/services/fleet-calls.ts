/** Merges what the gateways replied about their calls, and names those that did not reply. It asks none. */
import { type CallWindow, mergedSummary, shownFigures, shownSummary } from '../../../link/call-summary.ts'
import {
  type CallsQuestion,
  type FleetReply,
  readSummary,
  type SummaryQuestion,
} from '../../../link/fleet-question.ts'
import { type Groups, SEPARATOR } from '../../../model/call-figures.ts'
import type { Replies } from '../../publisher/fleet-questions.ts'
import { recordedCall } from '../schemas/fleet-reply.ts'

export interface AskedGateway {
  readonly id: string
  readonly name: string
}

type Asked<Question> = Omit<Question, 'id'>

export function mergedCalls(
  { tenant, limit }: Asked<CallsQuestion>,
  replies: Replies,
  gateways: readonly AskedGateway[],
) {
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
  replies: Replies,
  gateways: readonly AskedGateway[],
) {
  const { fromMs, toMs, tenant } = question
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
  replies: Replies,
  gateways: readonly AskedGateway[],
) {
  const tools = [...summaryOf(question, replies).tools]
    .sort(([, a], [, b]) => b.calls - a.calls)
    .map(([name, figures]) => {
      const [toolset, tool] = name.split(SEPARATOR)
      return { toolset, tool, ...shownFigures(figures) }
    })
  return { tools, ...coverage(replies, gateways) }
}

function summaryOf({ tenant, fromMs, toMs, parts }: Asked<SummaryQuestion>, replies: Replies) {
  const summaries = [...replies.values()].flatMap(({ summary }) =>
    summary === undefined ? [] : [readSummary(summary, toMs)],
  )
  const merged = mergedSummary(summaries, fromMs, parts)
  if (tenant === null) return merged
  // a gateway filters too: neither relies on the other
  return {
    ...merged,
    consumers: ofTenant(merged.consumers, tenant, 0),
    refusals: ofTenant(merged.refusals, tenant, 1),
  }
}

/** @param at which part of a group's name is its tenant */
function ofTenant(groups: Groups, tenant: string, at: number): Groups {
  return new Map([...groups].filter(([name]) => name.split(SEPARATOR)[at] === tenant))
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
