/** Fills an explanation with figures: those of the run that it explains, else the newest. */
import type { ResultLine } from '../record.ts'
import { shown } from '../units.ts'
import type { Results } from './read-results.ts'

/** `{case}` or `{case metric}`; without a metric it is that of the row. */
const FIGURE = /\{([^{} ]+)(?: ([^{} ]+))?\}/g

/** @returns the text with the median of each case that it names: of the same run where it has one, of the newest otherwise */
export function explain(text: string, line: ResultLine, results: Results): string {
  return text.replace(FIGURE, (_, caseId: string, metric = line.metric) => {
    const same = metric === line.metric ? results.beside(line, caseId) : undefined
    const found = same ?? results.find(caseId, metric)
    return found === undefined ? '(not measured)' : shown(found.median, found.unit)
  })
}
