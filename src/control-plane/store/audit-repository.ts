/** The interface of the repository of audit records. */
import type { AuditRecord, NewAuditRecord } from '../../model/audit.ts'

export interface AuditFilter {
  readonly tenantId?: string | undefined
  /** Part of the action, the actor or the id of the resource. */
  readonly q?: string | undefined
  /** Subject or consumer. */
  readonly actor?: string | undefined
  readonly action?: string | undefined
  readonly resourceType?: string | undefined
  readonly resourceId?: string | undefined
  readonly requestId?: string | undefined
  readonly since?: Date | undefined
  readonly until?: Date | undefined
}

/** The last record of the chain, and its anchor: the record before the first one that is kept. */
export interface AuditChain {
  readonly seq: number
  readonly hash: string
  readonly anchorSeq: number
  readonly anchorHash: string
}

export interface AuditRepository {
  /** Written directly before the commit, in commit order. */
  append(record: NewAuditRecord): void
  /** Number of records that this transaction has appended. */
  readonly appended: number
  /** The newest first, before a number; the oldest first, after one. At most `limit`. */
  list(
    filter: AuditFilter,
    position: { readonly before?: number | undefined; readonly after?: number | undefined },
    limit: number,
  ): Promise<readonly AuditRecord[]>
  /** The ids that exist. */
  known(ids: readonly string[]): Promise<ReadonlySet<string>>
  /** @param locking `lock`: no record is appended until the transaction ends */
  chain(locking?: 'lock' | 'plain'): Promise<AuditChain>
  /**
   * Deletes the records before a time, at most `limit`, and moves the anchor to the last of them.
   * @returns the new anchor; undefined when there was nothing to delete
   */
  sweep(before: Date, limit: number): Promise<{ readonly seq: number; readonly hash: string } | undefined>
}
