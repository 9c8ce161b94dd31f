/**
 * Opens the quotas of a process on a directory, with a journal that restores their counts, and joins them in other threads.
 * It writes no note: `journal.ts` does.
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { lockDirectory } from '../../../base/fs/directory-lock.ts'
import { readIfPresent } from '../../../base/fs/missing.ts'
import type { KernelHandle } from '../../kernel/create.ts'
import { RESERVING_CONSUMERS } from '../memory/abi.ts'
import { createQuotaRegion, joinQuotaRegion, type SharedQuota, shareOf } from '../memory/kernel.ts'
import { LocalQuota } from '../memory/local-quota.ts'
import { Notices } from '../memory/notices.ts'
import type { RegionOptions } from '../memory/region.ts'
import { HashedKey } from '../memory/table.ts'
import { type Clocks, TableQuota } from '../memory/table-quota.ts'
import { type Assumption, assumeUsed, assumptionIn } from './assumption.ts'
import { Journal } from './journal.ts'
import { JournalReserver } from './journal-reserver.ts'
import type { Note } from './note.ts'
import { type RestoreReport, restore } from './restore.ts'
import { listSegments, removeSegments } from './segments.ts'

export interface JournalQuotaOptions extends RegionOptions, Clocks {
  /** Directory of the counters; `quota` in DATA_DIR. Created when missing. */
  readonly dir: string
  /** The kernel of the process, its layout planned with `quotaBytes`; absent: a separate memory. */
  readonly kernel?: KernelHandle
  /** Size after which a new journal file begins. Default 4 MiB. */
  readonly segmentBytes?: number
  /** False: counts that could not be read are kept elsewhere, so limits do not count as used. */
  readonly assume?: boolean
  /** Milliseconds between two fdatasync calls. Default 200: a power failure may return units reserved within them. */
  readonly syncMs?: number
  /** Receives errors of the file system. While no note can be written, calls with a limit are refused. */
  readonly onFault?: (error: Error) => void
}

export interface JournalQuota extends LocalQuota {
  readonly assumption: Assumption | undefined
  /** Result of the restore at the start. */
  readonly restored: RestoreReport
  /** For the other threads of the process: post it, and call `joinJournalQuota` there. */
  readonly share: SharedQuota
  /** Releases what a thread held that has ended (`QuotaTable.detach`). */
  detach(thread: number): void
}

const SEED_FILE = 'seed'
const SEED_BYTES = 16

/** A table, with the journal that keeps its counts. */
export interface JournalParts {
  readonly quota: TableQuota
  readonly share: SharedQuota
  /** Absent: the counts end with the process. */
  readonly journal?: Journal
  readonly restored?: RestoreReport
  /** Limits count as used for consumers whose counts could not be read. */
  readonly assumption?: Assumption | undefined
  readonly close: () => void
}

/** Locks the directory and restores the counters; nothing is reserved yet. @throws as `openJournalQuota` */
export function openJournal(
  options: JournalQuotaOptions,
): Required<Omit<JournalParts, 'assumption'>> & JournalParts {
  const { dir, kernel } = options
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const lock = lockDirectory(dir, { file: join(dir, 'lock'), setting: 'DATA_DIR' })
  try {
    const region = createQuotaRegion(options, kernel, seedOf(dir))
    const quota = new TableQuota(region, options)
    const before = listSegments(dir)
    const restored = restore(quota, before)
    const { damage } = restored
    const assumption = options.assume === false ? undefined : assumptionIn(dir, damage, quota.unixMs())
    if (assumption !== undefined)
      for (const { hash, name, ...note } of restored.assumed)
        assumeUsed(quota, new HashedKey(name, hash), limitsOf(note), assumption)
    const journal = new Journal(quota, { ...settings(options), thread: 0 })
    // the first segment of this thread now includes the notes of all threads of the last process
    journal.begin()
    removeSegments(before)
    function close(): void {
      try {
        journal.close()
      } finally {
        lock.release()
      }
    }
    return { quota, share: shareOf(region), journal, restored, close, assumption }
  } catch (error) {
    lock.release()
    throw error
  }
}

/**
 * Locks the directory, restores the counters and starts counting.
 * @throws Error naming the directory and the fix: in use by another process, not readable or writable
 */
export function openJournalQuota(options: JournalQuotaOptions): JournalQuota {
  const { quota, share, journal, restored, close, assumption } = openJournal(options)
  quota.table.reserve(RESERVING_CONSUMERS)
  const counted = countUse(quota, journal, share, { ...options, assumption }, close)
  const detach = (thread: number): void => quota.table.detach(thread)
  return Object.assign(counted, { restored, share, assumption, detach })
}

export interface JoinOptions extends Clocks {
  /** The directory that the first thread has opened. */
  readonly dir: string
  readonly share: SharedQuota
  /** From 1, different in each thread, below the `threads` that the quotas were opened with. */
  readonly thread: number
  readonly segmentBytes?: number
  readonly syncMs?: number
  readonly onFault?: (error: Error) => void
  /** For the first thread. */
  readonly assumption?: Assumption | undefined
}

/** The same in another thread of the process. It keeps a separate journal, so it never waits for the first. */
export function joinJournalQuota(options: JoinOptions): LocalQuota {
  const { share, thread } = options
  const quota = new TableQuota(joinQuotaRegion(share, thread), options)
  const journal = new Journal(quota, { ...settings(options), thread })
  return countUse(quota, journal, share, options, () => journal.close())
}

function settings(options: Pick<JournalQuotaOptions, 'dir' | 'segmentBytes' | 'syncMs' | 'onFault'>) {
  const { dir, segmentBytes = 4 << 20, syncMs = 200, onFault = () => {} } = options
  return { dir, segmentBytes, syncMs, onFault }
}

function countUse(
  quota: TableQuota,
  journal: Journal,
  share: SharedQuota,
  { onFault = () => {}, assumption }: Pick<JoinOptions, 'onFault' | 'assumption'>,
  close: () => void,
): LocalQuota {
  quota.reserver = new JournalReserver(quota, journal, onFault, assumption)
  return new LocalQuota({
    quota,
    notices: new Notices(share.channel),
    onReset: key => journal.whole(quota.table.find(key)),
    close,
  })
}

function limitsOf({
  dayLimit,
  monthLimit,
  minuteLimit,
}: Pick<Note, 'dayLimit' | 'monthLimit' | 'minuteLimit'>) {
  return { perDay: dayLimit, perMonth: monthLimit, perMinute: minuteLimit }
}

/** The secret of the key hash: without it, notes could not be assigned to consumers. */
function seedOf(dir: string): Uint8Array {
  const path = join(dir, SEED_FILE)
  const before = readIfPresent(path)
  if (before !== undefined) {
    if (before.length === SEED_BYTES) return before
    throw new Error(
      `${path} has ${before.length} bytes instead of ${SEED_BYTES}. Restore the file from a backup. To restart all quota counts at zero instead, remove ${dir}`,
    )
  }
  const seed = randomBytes(SEED_BYTES)
  writeFileSync(`${path}.new`, seed, { mode: 0o600, flush: true })
  renameSync(`${path}.new`, path)
  return seed
}
