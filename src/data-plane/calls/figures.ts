/** Adds recorded calls to figures, and groups them into the totals of a summary. */

import { getOrSet } from '../../base/once-per.ts'
import type { Summary } from '../../link/call-summary.ts'
import {
  addCount,
  addFigures,
  type Figures,
  type Groups,
  noFigures,
  SEPARATOR,
} from '../../model/call-figures.ts'
import { bucketOf } from '../../model/latency-histogram.ts'
import { kindOf } from './call-query.ts'
import type { VisitedCall } from './call-ring.ts'

export function addCall(figures: Figures, { outcome, atMs, durationMs, backendMs }: VisitedCall): void {
  const kind = kindOf(outcome)
  figures.calls++
  if (atMs > figures.lastAtMs) figures.lastAtMs = atMs
  if (kind === 'refused') figures.refused++
  else {
    if (kind === 'failed') figures.failed++
    addCount(figures.latency, bucketOf(durationMs * 1000), 1)
  }
  if (backendMs >= 0) addCount(figures.backend, bucketOf(backendMs * 1000), 1)
}

type Totals = Pick<Summary, 'total' | 'tools' | 'consumers' | 'refusals' | 'failures' | 'series'>

/** Calls that agree in everything that they are grouped by. */
interface Cell extends Pick<VisitedCall, 'outcome' | 'tenant' | 'consumer' | 'tool' | 'toolset'> {
  /** For the time asked for. */
  readonly part: number
  readonly figures: Figures
}

/** A call costs two counts and, when it differs from the call before, one lookup: consoles ask for 10,000 calls at a time. */
export class CallCounter {
  readonly #cells = new Map<string, Cell>()
  #last: Cell | undefined

  /** @param part of the series; another number when the call is in none */
  add(call: VisitedCall, part: number): void {
    addCall(this.#cellOf(call, part).figures, call)
  }

  /** @param parts of the series */
  totals(parts: number): Totals {
    const totals: Totals = {
      total: noFigures(),
      tools: new Map(),
      consumers: new Map(),
      refusals: new Map(),
      failures: new Map(),
      series: Array.from({ length: parts }, noFigures),
    }
    for (const cell of this.#cells.values()) {
      addFigures(totals.total, cell.figures)
      const ofPart = totals.series[cell.part]
      if (ofPart !== undefined) addFigures(ofPart, cell.figures)
      for (const [groups, name] of groupsOf(totals, cell))
        addFigures(getOrSet(groups, name, noFigures), cell.figures)
    }
    return totals
  }

  #cellOf({ outcome, tenant, consumer, tool, toolset }: VisitedCall, part: number): Cell {
    const last = this.#last
    if (
      last !== undefined &&
      last.part === part &&
      last.tool === tool &&
      last.consumer === consumer &&
      last.tenant === tenant &&
      last.outcome === outcome &&
      last.toolset === toolset
    )
      return last
    const key = [part, outcome, tenant, consumer, toolset, tool].join(SEPARATOR)
    const cell = getOrSet(this.#cells, key, () => ({
      part,
      outcome,
      tenant,
      consumer,
      tool,
      toolset,
      figures: noFigures(),
    }))
    this.#last = cell
    return cell
  }
}

function* groupsOf(
  { tools, consumers, refusals, failures }: Totals,
  { tool, toolset = '', tenant = '', consumer = '', outcome }: Cell,
): Generator<readonly [Groups, string]> {
  if (tool !== undefined) yield [tools, toolset + SEPARATOR + tool]
  if (consumer !== '') yield [consumers, tenant + SEPARATOR + consumer]
  const kind = kindOf(outcome)
  if (kind === 'refused') yield [refusals, outcome + SEPARATOR + tenant + SEPARATOR + consumer]
  else if (kind === 'failed') yield [failures, outcome + SEPARATOR + (tool ?? '')]
}
