/** Which result lines cannot enter `RESULTS.md`, each by its name with the field, the reason and what to do. */
import type { ResultLine } from '../record.ts'
import { type Target, targetOf } from '../targets.ts'
import { idOf } from './read-results.ts'
import { commandOf } from './results-markdown.ts'

export interface Refusal {
  readonly line: ResultLine
  /** For people: which line, which of its fields, why, and what to do. */
  readonly text: string
}

type Why = Pick<Refusal, 'text'> & { readonly field: keyof ResultLine }

/** @param lines one of each name in each run */
export function refusalsOf(lines: readonly ResultLine[], targets: readonly Target[]): readonly Refusal[] {
  const byRun = new Map(lines.map(line => [keyOf(line.run, idOf(line), line.metric), line]))
  return lines.flatMap(line => {
    const beside = (caseId: string): ResultLine | undefined => byRun.get(keyOf(line.run, caseId, line.metric))
    const why = refusalOf(line, targets, beside)
    if (why === undefined) return []
    const name = `${idOf(line)} (${line.metric}, run ${line.run})`
    const fix = `Measure again on a quiet machine: ${commandOf(idOf(line))}.`
    return [{ line, text: `${name} does not enter RESULTS.md: ${why.field} ${why.text}. ${fix}` }]
  })
}

function refusalOf(
  line: ResultLine,
  targets: readonly Target[],
  beside: (caseId: string) => ResultLine | undefined,
): Why | undefined {
  if (line.warm === false)
    return { field: 'warm', text: 'is false, the cost of a call was not steady when it was measured' }
  const { reference, partial, awaits } = line
  if (reference !== undefined && beside(reference.case)?.warm === false)
    return { field: 'reference', text: `is ${reference.case}, which was measured before it was warm` }
  if (partial !== true) return undefined
  const bounds = targetOf(targets, idOf(line), line.metric)?.bounds ?? []
  const missing = awaits ?? bounds.flatMap(({ of }) => of ?? []).find(caseId => beside(caseId) === undefined)
  return missing === undefined
    ? undefined
    : { field: 'partial', text: `is true, the run was stopped before it measured ${missing}` }
}

const keyOf = (run: string, caseId: string, metric: string): string => `${run} ${caseId} ${metric}`
