/** Reads `targets.json`, the table of what is wanted, and holds figures against its bounds. */
import { readFileSync } from 'node:fs'

/** One limit of a row: on the figure itself, or on what it is in parts of another case of the same run. */
export interface Bound {
  readonly on: 'value' | 'ratio'
  /** For a ratio: `suite/case` of the reference. */
  readonly of?: string
  /** The most that keeps the target; else `min`, the least. */
  readonly max?: number
  readonly min?: number
  /** The harder limit behind it, in the same direction. */
  readonly stretch?: number
}

/** One row of the table. Figures are in `unit`. */
export interface Target {
  /** Stable name: `normalize/clean`. Result lines and explanations name it. */
  readonly id: string
  readonly group: 'stages' | 'gateway'
  /** For people. */
  readonly what: string
  /** `suite/case` of the line that fills it. */
  readonly case: string
  readonly metric: string
  readonly unit: string
  readonly bounds: readonly Bound[]
  /** The limit that must hold in any case. */
  readonly specified?: number
  /** Best published figure of a system of this kind, as text. */
  readonly rival?: string
  /** What probes of the technique alone measured, as text. */
  readonly floor?: string
}

/** `stretch`: the harder limit was kept as well; of ratios and values alike. */
export type Verdict = 'stretch' | 'met' | 'missed'

export function readTargets(file: URL = new URL('targets.json', import.meta.url)): readonly Target[] {
  return (JSON.parse(readFileSync(file, 'utf8')) as { rows: Target[] }).rows
}

/** The row that a case fills in this metric. */
export function targetOf(targets: readonly Target[], caseId: string, metric: string): Target | undefined {
  return targets.find(target => target.case === caseId && target.metric === metric)
}

export function verdictOf({ max, min, stretch }: Bound, figure: number): Verdict {
  const within = (limit: number): boolean => (max !== undefined ? figure <= limit : figure >= limit)
  if (!within((max ?? min)!)) return 'missed'
  return stretch !== undefined && within(stretch) ? 'stretch' : 'met'
}

/** For a row: as good as its worst bound. */
export function worst(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes('missed')) return 'missed'
  return verdicts.includes('met') ? 'met' : 'stretch'
}
