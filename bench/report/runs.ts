/** Which runs the figures of a report come from, each with its own number. */
import type { ResultLine } from '../record.ts'

export interface Run extends Pick<ResultLine, 'run' | 'at' | 'commit' | 'dirty' | 'machine' | 'versions'> {
  /** From 1, oldest first. */
  readonly number: number
}

export function runsOf(lines: readonly ResultLine[]): ReadonlyMap<string, Run> {
  const first = new Map<string, ResultLine>()
  for (const line of lines) if (!first.has(line.run)) first.set(line.run, line)
  const sorted = [...first.values()].sort((a, b) => a.at.localeCompare(b.at))
  return new Map(sorted.map((line, at) => [line.run, { ...line, number: at + 1 }]))
}

/** `3f2a91c`, with a star when a committed file was changed. */
export function commitText({ commit, dirty }: Run): string {
  return dirty ? `${commit}*` : commit
}
