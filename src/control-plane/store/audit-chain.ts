/** Verifies the chain of audit records and reports the first fault. */
import { createHash } from 'node:crypto'
import { auditContent } from '../../model/audit.ts'
import { EVERY_TENANT, type Store } from './store.ts'

export interface ChainReport {
  readonly records: number
  /** Number and hash of the last record; to be kept elsewhere, so that a chain that was computed again is detected. */
  readonly seq: number
  readonly hash: string
  /** The last record deleted at the end of its retention; 0: none was. */
  readonly anchorSeq: number
  /** The first thing that is wrong; undefined: nothing. */
  readonly fault: string | undefined
}

const BATCH = 500

/** @param known number and hash of an earlier verification, which the chain must still contain unless it was deleted since */
export function verifyAudit(
  store: Store,
  known?: { readonly seq: number; readonly hash: string },
): Promise<ChainReport> {
  return store.read(EVERY_TENANT, async tx => {
    const ends = await tx.audit.chain()
    let { anchorSeq: seq, anchorHash: hash } = ends
    let records = 0
    const report = (fault?: string): ChainReport => ({
      records,
      seq: ends.seq,
      hash: ends.hash,
      anchorSeq: ends.anchorSeq,
      fault,
    })
    if (known?.seq === seq && known.hash !== hash)
      return report(
        `the last deleted record, ${seq}, does not have the hash given with --known: the chain was replaced`,
      )
    for (;;) {
      const batch = await tx.audit.list({}, { after: seq }, BATCH)
      if (batch.length === 0) break
      for (const record of batch) {
        if (record.seq !== seq + 1)
          return report(`record ${seq + 1} is missing: the next record is ${record.seq}`)
        const expected = createHash('sha256')
          .update(hash + auditContent(record))
          .digest('hex')
        if (record.hash !== expected)
          return report(
            `record ${record.seq} (${record.id}, ${record.action}) or an earlier record was altered`,
          )
        if (known?.seq === record.seq && known.hash !== record.hash)
          return report(
            `record ${record.seq} does not have the hash given with --known: the chain was replaced`,
          )
        seq = record.seq
        hash = record.hash
        records++
      }
    }
    if (seq > ends.seq)
      return report(`record ${seq} was added: the stored end of the chain is record ${ends.seq}`)
    if (seq < ends.seq)
      return report(
        `the records after record ${seq} are missing: the stored end of the chain is record ${ends.seq}`,
      )
    if (hash !== ends.hash)
      return report(
        `the hash of the last record, ${seq}, differs from the hash stored for the end of the chain`,
      )
    if (known !== undefined && known.seq > seq)
      return report(`record ${known.seq}, given with --known, is missing`)
    return report()
  })
}
