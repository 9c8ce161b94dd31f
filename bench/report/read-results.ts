/** Reads result lines and finds the newest of each name. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ResultLine } from '../record.ts'

/** The newest line of each name, and the others of its run. */
export interface Results {
  /** By suite; within one in the order measured. */
  readonly lines: readonly ResultLine[]
  /** @param caseId `suite/case` */
  find(caseId: string, metric: string): ResultLine | undefined
  /** The line of another case that was measured in the run of `line`, in the same metric. */
  beside(line: ResultLine, caseId: string): ResultLine | undefined
}

/** @throws Error naming file and line of what is not a result line */
export function readLines(files: readonly string[]): ResultLine[] {
  return files.flatMap(file =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((text, at) => (text.trim() === '' ? [] : parsed(text, `${file}:${at + 1}`))),
  )
}

/** Those of runs that measured everything: a filtered run does not replace rows of the report. */
export function ofWholeRuns(lines: readonly ResultLine[]): ResultLine[] {
  return lines.filter(({ filter }) => filter === undefined)
}

/** The last line of each name in each run: one that goes on, or was stopped, has written a line after each round. */
export function lastOfRuns(lines: readonly ResultLine[]): ResultLine[] {
  return [...new Map(lines.map(line => [`${line.run} ${nameOf(idOf(line), line.metric)}`, line])).values()]
}

/** @returns the NDJSON files of a folder; none where there is no such folder */
export function resultFiles(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter(name => name.endsWith('.ndjson'))
      .map(name => join(folder, name))
  } catch {
    return []
  }
}

export function newest(all: readonly ResultLine[]): Results {
  const byName = new Map<string, ResultLine>()
  const byRun = new Map<string, ResultLine>()
  for (const line of [...all].sort((a, b) => a.at.localeCompare(b.at))) {
    const name = nameOf(idOf(line), line.metric)
    byName.delete(name)
    byName.set(name, line)
    byRun.set(`${line.run} ${name}`, line)
  }
  return {
    lines: [...byName.values()].sort((a, b) => a.suite.localeCompare(b.suite)),
    find: (caseId, metric) => byName.get(nameOf(caseId, metric)),
    beside: (line, caseId) => byRun.get(`${line.run} ${nameOf(caseId, line.metric)}`),
  }
}

export const idOf = ({ suite, case: id }: ResultLine): string => `${suite}/${id}`

const nameOf = (caseId: string, metric: string): string => `${caseId} ${metric}`

function parsed(text: string, where: string): ResultLine {
  let line: Partial<ResultLine>
  try {
    line = JSON.parse(text) as Partial<ResultLine>
  } catch (error) {
    throw new Error(`${where}: not a line of JSON (${(error as Error).message}); remove it, or measure again`)
  }
  if (line.format !== 1)
    throw new Error(
      `${where}: format ${String(line.format)}, this reader knows 1; remove the file, or measure again`,
    )
  const { run, at, suite, case: id, metric, unit, samples, median } = line
  const texts = [run, at, suite, id, metric, unit].every(value => typeof value === 'string')
  if (!texts || !Array.isArray(samples) || typeof median !== 'number')
    throw new Error(
      `${where}: not a result line: run, at, suite, case, metric, unit, samples and median are needed`,
    )
  return line as ResultLine
}
