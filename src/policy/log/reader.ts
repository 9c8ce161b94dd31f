/** Reads the entries of a decision log one after another, lists its files and parses its lines. */
import { createReadStream, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { readJson } from '../../base/json/exact-number.ts'
import type { DecisionEntry } from './entry.ts'

/**
 * @param path one file, or the folder with `decisions.ndjson` and what was set aside.
 * @param onDamaged called for each line that is not an entry (a crash may cut the last one); reading goes on.
 * @throws Error when the log does not exist.
 */
export async function* readDecisionLog(
  path: string,
  onDamaged: (file: string, line: number) => void,
): AsyncGenerator<DecisionEntry> {
  for (const file of filesOf(path)) {
    const lines = createInterface({
      input: createReadStream(file, 'utf8'),
      crlfDelay: Number.POSITIVE_INFINITY,
    })
    let number = 0
    for await (const line of lines) {
      number++
      if (line === '') continue
      const entry = parseLine(line)
      if (entry === undefined) onDamaged(file, number)
      else yield entry
    }
  }
}

/** The oldest of each thread first. @throws Error without a code when the log does not exist; Error of the file system */
export function filesOf(path: string): string[] {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) throw new Error(`${path} does not exist: no decision log was written there`)
  if (!found.isDirectory()) return [path]
  const numbered = readdirSync(path).flatMap(name => {
    const match = /^decisions(?:-\d+)?(?:\.(\d+))?\.ndjson$/.exec(name)
    return match === null ? [] : [{ name, n: Number(match[1] ?? 0) }]
  })
  if (numbered.length === 0) throw new Error(`${path} contains no decision log`)
  return numbered.sort((a, b) => b.n - a.n).map(({ name }) => join(path, name))
}

/** undefined when the line is not a complete entry. */
export function parseLine(line: string): DecisionEntry | undefined {
  try {
    const entry = readJson(line) as Partial<DecisionEntry> | null
    const whole =
      typeof entry?.id === 'string' &&
      typeof entry.allow === 'boolean' &&
      typeof entry.input?.subject?.properties === 'object' &&
      typeof entry.input.resource?.properties === 'object' &&
      typeof entry.input.context === 'object' &&
      typeof entry.input.action?.name === 'string'
    return whole ? (entry as DecisionEntry) : undefined
  } catch {
    return undefined
  }
}
