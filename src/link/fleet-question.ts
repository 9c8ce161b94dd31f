/** Questions of the control plane about recorded calls, the replies of gateways, and the wire form of a summary. */

import { isObject } from '../base/json/is-object.ts'
import type { Figures, Groups } from '../model/call-figures.ts'
import type { CallWindow, Summary } from './call-summary.ts'

/** Conditions on calls, as in `GET /admin/calls`; every one that is given must hold. */
export interface CallFilters {
  readonly tenant?: string
  readonly consumer?: string
  readonly tool?: string
  readonly outcome?: string
  readonly requestId?: string
  readonly minMs?: number
}

interface QuestionBase {
  readonly id: string
  /** Name of the only tenant whose calls the reply may hold; null: every tenant's. */
  readonly tenant: string | null
}

export interface CallsQuestion extends QuestionBase {
  readonly kind: 'calls'
  readonly filters: CallFilters
  readonly limit: number
}

export interface SummaryQuestion extends QuestionBase {
  readonly kind: 'summary'
  /** Unix ms. */
  readonly fromMs: number
  readonly toMs: number
  readonly parts: number
}

export type FleetQuestion = CallsQuestion | SummaryQuestion

/** A thread of a gateway and what it serves; names are those of the wire. */
export interface FleetWorker {
  readonly worker: number
  readonly status: string
  readonly snapshot: string | null
  readonly policy_revision: string
}

export interface FleetReply {
  readonly question_id: string
  /** Newest first. */
  readonly calls?: readonly object[] | undefined
  readonly window?: CallWindow | undefined
  readonly summary?: WireSummary | undefined
  /** For questions about every tenant. */
  readonly workers?: readonly FleetWorker[] | undefined
}

/** Buckets with their calls, one after the other. */
interface WireFigures {
  readonly c: number
  readonly r: number
  readonly f: number
  readonly at: number
  readonly l: readonly number[]
  readonly b: readonly number[]
}

type WireGroups = readonly (readonly [string, WireFigures])[]

export interface WireSummary {
  readonly total: WireFigures
  readonly covered_from: number
  /** Absent from older gateways: the end of the time asked for. */
  readonly covered_to?: number | undefined
  readonly tools: WireGroups
  readonly consumers: WireGroups
  readonly refusals: WireGroups
  readonly failures: WireGroups
  readonly series: readonly WireFigures[]
  readonly window: CallWindow
}

/** For each kind, the ones with the most calls. */
const MAX_GROUPS = 200
export const MAX_FLEET_CALLS = 200

export function wireSummary({
  total,
  coveredFromMs,
  coveredToMs,
  series,
  window,
  ...groups
}: Summary): WireSummary {
  return {
    total: wireFigures(total),
    covered_from: coveredFromMs,
    covered_to: coveredToMs,
    tools: wireGroups(groups.tools),
    consumers: wireGroups(groups.consumers),
    refusals: wireGroups(groups.refusals),
    failures: wireGroups(groups.failures),
    series: series.map(wireFigures),
    window,
  }
}

/** @param toMs end of the time asked for */
export function readSummary(wire: WireSummary, toMs: number): Summary {
  return {
    total: readFigures(wire.total),
    coveredFromMs: wire.covered_from,
    coveredToMs: wire.covered_to ?? toMs,
    tools: readGroups(wire.tools),
    consumers: readGroups(wire.consumers),
    refusals: readGroups(wire.refusals),
    failures: readGroups(wire.failures),
    series: wire.series.map(readFigures),
    window: wire.window,
  }
}

function wireGroups(groups: Groups): WireGroups {
  return [...groups]
    .sort(([, a], [, b]) => b.calls - a.calls)
    .slice(0, MAX_GROUPS)
    .map(([name, figures]) => [name, wireFigures(figures)])
}

function wireFigures({ calls, refused, failed, lastAtMs, latency, backend }: Figures): WireFigures {
  return { c: calls, r: refused, f: failed, at: lastAtMs, l: [...latency].flat(), b: [...backend].flat() }
}

function readGroups(groups: WireGroups): Groups {
  return new Map(groups.map(([name, figures]) => [name, readFigures(figures)]))
}

function readFigures({ c, r, f, at, l, b }: WireFigures): Figures {
  return { calls: c, refused: r, failed: f, lastAtMs: at, latency: pairsOf(l), backend: pairsOf(b) }
}

function pairsOf(flat: readonly number[]): Map<number, number> {
  const pairs = new Map<number, number>()
  for (let at = 0; at + 1 < flat.length; at += 2) pairs.set(flat[at]!, flat[at + 1]!)
  return pairs
}

/** The control plane may be newer: a question of a kind that this gateway does not know has no reply. */
export function readQuestion(data: unknown): FleetQuestion | undefined {
  if (!isObject(data) || typeof data.id !== 'string') return undefined
  if (typeof data.tenant !== 'string' && data.tenant !== null) return undefined
  const question = data as unknown as FleetQuestion
  if (question.kind === 'calls')
    return isObject(question.filters) && isWhole(question.limit, MAX_FLEET_CALLS) ? question : undefined
  if (question.kind !== 'summary') return undefined
  const { fromMs, toMs, parts } = question
  return isWhole(parts, 100) && fromMs >= 0 && toMs > fromMs ? question : undefined
}

function isWhole(value: unknown, max: number): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= max
}
