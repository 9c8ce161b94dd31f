/** Restores the counters of a journal into a new table, and reports what it found. */
import { dirname, join } from 'node:path'
import { HEAD_SEQUENCE } from '../memory/abi.ts'
import { PAST_MS } from '../memory/region.ts'
import type { TableQuota } from '../memory/table-quota.ts'
import type { Note } from './note.ts'
import { type ReadReport, readSegments, type SegmentFile } from './segments.ts'

export interface RestoreReport extends Readonly<ReadReport> {
  /** Last notes of consumers whose later notes may have been lost. */
  readonly assumed: readonly Note[]
  /** Consumers whose counters were restored. */
  readonly consumers: number
  /** Notes for which the table had no slot, because it is smaller than the one that wrote them. */
  readonly dropped: number
  /** Resets by consumer, of those that had any. */
  readonly generations: ReadonlyMap<string, number>
}

const MINUTE_MS = 61_000
const DAY_MS = 86_400_000
const MAX_VERIFIED_BYTES = 100

/** Called before any other thread attaches and any call is counted. @throws Error of the file system, or that the seed is damaged */
export function restore(quota: TableQuota, files: readonly SegmentFile[]): RestoreReport {
  const report: ReadReport = { notes: 0, skippedBytes: 0, damage: [], trustedFrom: 0 }
  const { table } = quota
  const wallMs = quota.unixMs()
  const monoMs = quota.monotonicMs()
  const today = Math.floor(wallMs / DAY_MS)
  const thisMonth = (new Date(wallMs).getUTCFullYear() - 1970) * 12 + new Date(wallMs).getUTCMonth()
  /** The last note by slot. */
  const consumers = new Map<number, Note>()
  const generations = new Map<string, number>()
  let dropped = 0
  let sequence = 0
  for (const note of readSegments(files, report)) {
    sequence = Math.max(sequence, note.sequence)
    const ageMs = Math.max(0, wallMs - note.wallMs)
    const over = note.day < today && note.month < thisMonth && ageMs > MINUTE_MS && note.pending === 0
    verify(quota, note, files)
    if (over) continue
    const slot = apply(quota, note, Math.max(1, monoMs - Math.min(ageMs, PAST_MS - 1)))
    if (slot < 0) dropped++
    else {
      consumers.set(slot, note)
      if (note.name !== '') quota.names.write(slot, note.name)
      if (note.generation > 0) generations.set(note.name, note.generation)
    }
  }
  table.kernel.quotaRestored(monoMs)
  const head = new BigUint64Array(table.head.buffer, table.head.byteOffset + HEAD_SEQUENCE, 1)
  head[0] = BigInt(sequence)
  const assumed = [...consumers.values()].filter(note => note.sequence < report.trustedFrom)
  return { ...report, consumers: consumers.size, dropped, generations, assumed }
}

/** With another seed the notes would count for consumers that do not exist. */
function verify({ table }: TableQuota, { name, hash }: Note, files: readonly SegmentFile[]): void {
  // longer names are not kept whole
  if (name === '' || Buffer.byteLength(name) > MAX_VERIFIED_BYTES) return
  const { a, b, c, d } = table.key(name)
  if (hash[0] === a >>> 0 && hash[1] === b >>> 0 && hash[2] === c >>> 0 && hash[3] === d >>> 0) return
  const dir = dirname(files[0]!.path)
  throw new Error(
    `${join(dir, 'seed')} is damaged: the journal in the same directory was written with another seed. Restore the file from a backup. To restart all quota counts at zero instead, remove ${dir}`,
  )
}

function apply({ table }: TableQuota, note: Note, atMs: number): number {
  table.hashWords.set(note.hash)
  const { past } = note
  if (past !== undefined) {
    const words = new Uint32Array(table.keyBytes.buffer, table.keyBytes.byteOffset, past.length * 2)
    for (const [i, [ageMs, units]] of past.entries()) {
      words[i * 2] = ageMs
      words[i * 2 + 1] = units
    }
  }
  return table.kernel.quotaRestore(
    note.day,
    note.month,
    note.dayCount,
    note.monthCount,
    note.dayLimit,
    note.monthLimit,
    note.secondLimit,
    note.minuteLimit,
    atMs,
    note.pending,
    past?.length ?? -1,
    note.fresh,
    note.newestMs,
  )
}
