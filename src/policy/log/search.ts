/** Searches decisions by conditions and cursor, and reads the log of several threads from its end. */
import { open } from 'node:fs/promises'
import { nextTurn } from '../../base/async/slices.ts'
import { unlessMissing } from '../../base/fs/missing.ts'
import type { DecisionEntry } from './entry.ts'
import { parseLine } from './reader.ts'
import { newestFilesByThread } from './tail.ts'

/** Conditions that must all hold; undefined: any. */
export interface DecisionSearch {
  readonly tenant: string | undefined
  readonly consumer: string | undefined
  readonly resource: string | undefined
  readonly action: string | undefined
  readonly code: string | undefined
  readonly allow: boolean | undefined
  readonly sinceMs: number | undefined
  readonly untilMs: number | undefined
}

/** On the wire. */
export interface FoundDecisions {
  readonly decisions: readonly object[]
  /** null: there are no more, or not within what one search reads. */
  readonly next_cursor: string | null
}

/** The last entry of a page. */
export interface DecisionCursor {
  readonly atMs: number
  readonly id: string
}

const CHUNK_BYTES = 128 * 1024
const MAX_BYTES = 64 * 1024 * 1024
/** Parsed in one turn of the event loop; about a millisecond. */
const LINES_PER_TURN = 100
const CURSOR = /^(\d{1,16}):([0-9a-f-]{36})$/

/** For the text in `next_cursor`; undefined when it is not one of ours. */
export function readDecisionCursor(text: string): DecisionCursor | undefined {
  const [, atMs, id] = CURSOR.exec(text) ?? []
  return id === undefined ? undefined : { atMs: Number(atMs), id }
}

/** @param entries the newest first @param cursor undefined: from the newest */
export async function searchDecisions(
  entries: Iterable<DecisionEntry> | AsyncIterable<DecisionEntry>,
  query: DecisionSearch,
  limit: number,
  cursor: DecisionCursor | undefined,
): Promise<FoundDecisions> {
  const fromMs = cursor?.atMs ?? Number.POSITIVE_INFINITY
  let isPast = cursor === undefined
  const found: DecisionEntry[] = []
  for await (const entry of entries) {
    if (query.sinceMs !== undefined && entry.at < query.sinceMs) break
    if (entry.at > fromMs) continue
    // of those within the millisecond of the cursor, the ones behind it
    if (!isPast && entry.at === fromMs) {
      isPast = entry.id === cursor?.id
      continue
    }
    isPast = true
    if (!matches(entry, query)) continue
    found.push(entry)
    if (found.length > limit) break
  }
  const shown = found.slice(0, limit)
  const last = shown.at(-1)
  return {
    decisions: shown.map(summary),
    next_cursor: found.length > limit && last !== undefined ? `${last.at}:${last.id}` : null,
  }
}

function matches({ at, input, allow, reasons }: DecisionEntry, query: DecisionSearch): boolean {
  const { tenant, consumer, resource, action, code, untilMs } = query
  const { properties } = input.subject
  return (
    (untilMs === undefined || at < untilMs) &&
    (query.allow === undefined || allow === query.allow) &&
    (tenant === undefined || properties.tenant === tenant) &&
    (consumer === undefined || properties.consumer === consumer) &&
    (resource === undefined || input.resource.id === resource) &&
    (action === undefined || input.action.name === action) &&
    (code === undefined || reasons.some(reason => reason.code === code))
  )
}

function summary({
  id,
  at,
  revision,
  allow,
  unavailable = false,
  input,
  reasons,
  masked = false,
}: DecisionEntry) {
  const { subject, action, resource } = input
  return {
    id,
    at: new Date(at).toISOString(),
    revision,
    allow,
    unavailable,
    action: action.name,
    resource: { type: resource.type, id: resource.id, tenant: resource.properties.tenant },
    tenant: subject.properties.tenant,
    consumer: subject.properties.consumer,
    subject: subject.id,
    reasons,
    masked,
  }
}

/** The newest first; the files of each thread are in the order of time, and are merged. */
export async function* newestDecisions(dir: string): AsyncGenerator<DecisionEntry> {
  const budget = { bytes: MAX_BYTES }
  const heads: { entry: DecisionEntry; rest: AsyncGenerator<DecisionEntry> }[] = []
  for (const files of newestFilesByThread(dir)) {
    const rest = entriesOf(files, budget)
    const first = await rest.next()
    if (first.done !== true) heads.push({ entry: first.value, rest })
  }
  try {
    while (heads.length > 0) {
      const newest = heads.reduce((best, head) => (head.entry.at > best.entry.at ? head : best))
      yield newest.entry
      const next = await newest.rest.next()
      if (next.done === true) heads.splice(heads.indexOf(newest), 1)
      else newest.entry = next.value
    }
  } finally {
    // a reader that has found enough leaves open files behind
    for (const { rest } of heads) await rest.return(undefined)
  }
}

async function* entriesOf(
  files: readonly string[],
  budget: { bytes: number },
): AsyncGenerator<DecisionEntry> {
  let lines = 0
  for (const file of files)
    for await (const line of linesFromEnd(file, budget)) {
      const entry = parseLine(line)
      if (entry !== undefined) yield entry
      if (++lines % LINES_PER_TURN === 0) await nextTurn()
    }
}

async function* linesFromEnd(file: string, budget: { bytes: number }): AsyncGenerator<string> {
  const handle = await unlessMissing(open(file, 'r'))
  // rotated meanwhile
  if (handle === undefined) return
  try {
    // of the handle: meanwhile the file may be set aside or deleted
    let { size: end } = await handle.stat()
    let rest = Buffer.alloc(0)
    while (end > 0 && budget.bytes > 0) {
      const length = Math.min(CHUNK_BYTES, end)
      const chunk = Buffer.alloc(length)
      await handle.read(chunk, 0, length, end - length)
      end -= length
      budget.bytes -= length
      const joined = Buffer.concat([chunk, rest])
      // the part before the first line feed belongs to a line that begins in the chunk before
      const first = end === 0 ? 0 : joined.indexOf(10) + 1
      if (end > 0 && first === 0) {
        rest = joined
        continue
      }
      rest = joined.subarray(0, first)
      const lines = joined.toString('utf8', first).split('\n')
      for (let at = lines.length - 1; at >= 0; at--) if (lines[at] !== '') yield lines[at]!
    }
  } finally {
    await handle.close()
  }
}
