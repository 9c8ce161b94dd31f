/** An intact audit chain is verified; changed and missing records, an altered end and a replaced chain are reported. */
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { verifyAudit } from '../../../../src/control-plane/store/audit-chain.ts'
import type { AuditChain } from '../../../../src/control-plane/store/audit-repository.ts'
import type { Store, Transaction } from '../../../../src/control-plane/store/store.ts'
import { type AuditRecord, auditContent, systemOrigin } from '../../../../src/model/audit.ts'

const COUNT = 1200

function chained(): AuditRecord[] {
  const records: AuditRecord[] = []
  let hash = ''
  for (let seq = 1; seq <= COUNT; seq++) {
    const record = {
      ...systemOrigin('system.test'),
      id: `aud_${seq}`,
      at: new Date(seq),
      tenantId: null,
      resourceType: 'test',
      resourceId: `${seq}`,
      before: null,
      after: `{"at":${seq}}`,
    }
    hash = createHash('sha256')
      .update(hash + auditContent(record))
      .digest('hex')
    records.push({ ...record, seq, hash })
  }
  return records
}

const RECORDS = chained()
const ENDS: AuditChain = { seq: COUNT, hash: RECORDS.at(-1)!.hash, anchorSeq: 0, anchorHash: '' }

/** Reads rows from memory; nothing else is read of a store. */
function holding(records: readonly AuditRecord[], ends = ENDS): Store {
  const audit = {
    chain: async () => ends,
    list: async (_: object, { after = 0 }: { after?: number }, limit: number) =>
      records.filter(({ seq }) => seq > after).slice(0, limit),
  }
  return {
    read: (_: string, work: (tx: Transaction) => unknown) => work({ audit } as unknown as Transaction),
  } as unknown as Store
}

const altered = (seq: number, change: Partial<AuditRecord>) =>
  RECORDS.map(record => (record.seq === seq ? { ...record, ...change } : record))

describe('a chain', () => {
  it('is verified from its beginning, and from the anchor behind deleted records', async () => {
    expect(await verifyAudit(holding(RECORDS))).toMatchObject({ fault: undefined, records: COUNT })
    const anchor = { anchorSeq: 700, anchorHash: RECORDS[699]!.hash }
    const rest = holding(RECORDS.slice(700), { ...ENDS, ...anchor })
    expect(await verifyAudit(rest, RECORDS[900])).toMatchObject({ fault: undefined, records: COUNT - 700 })
  })

  it.each([
    ['actor', { actor: { ...RECORDS[0]!.actor, consumer: 'other' } }],
    ['time', { at: new Date(0) }],
    ['state before', { before: '{}' }],
    ['state after', { after: null }],
    ['action', { action: 'control.plans.read' }],
    ['tenant', { tenantId: 'ten_other' }],
    ['request', { requestId: 'other' }],
    ['hash', { hash: '0'.repeat(64) }],
  ])('shows an altered %s', async (_, change) => {
    const { fault } = await verifyAudit(holding(altered(600, change)))
    expect(fault).toMatch(/^record 600 \(/)
  })

  it('shows removed records, at the beginning, in the middle and at the end', async () => {
    const fault = async (keep: (record: AuditRecord) => boolean) =>
      (await verifyAudit(holding(RECORDS.filter(keep)))).fault
    expect(await fault(({ seq }) => seq > 2)).toBe('record 1 is missing: the next record is 3')
    expect(await fault(({ seq }) => seq !== 600)).toBe('record 600 is missing: the next record is 601')
    expect(await fault(({ seq }) => seq < 1190)).toBe(
      'the records after record 1189 are missing: the stored end of the chain is record 1200',
    )
  })

  it('shows a record behind the stored end', async () => {
    const ends = { ...ENDS, seq: 1189, hash: RECORDS[1188]!.hash }
    const { fault } = await verifyAudit(holding(RECORDS.slice(0, 1190), ends))
    expect(fault).toBe('record 1190 was added: the stored end of the chain is record 1189')
  })

  it('shows another anchor than the known record, which may be the last deleted one', async () => {
    const rest = holding(RECORDS.slice(700), { ...ENDS, anchorSeq: 700, anchorHash: RECORDS[699]!.hash })
    expect(await verifyAudit(rest, RECORDS[699])).toMatchObject({ fault: undefined, records: COUNT - 700 })
    const { fault } = await verifyAudit(rest, { seq: 700, hash: '0'.repeat(64) })
    expect(fault).toBe(
      'the last deleted record, 700, does not have the hash given with --known: the chain was replaced',
    )
    // what was deleted before cannot be compared
    expect((await verifyAudit(rest, { seq: 699, hash: 'x' })).fault).toBeUndefined()
  })

  it('shows an altered end, and a chain that was computed again', async () => {
    const other = holding(RECORDS, { ...ENDS, hash: 'x' })
    expect((await verifyAudit(other)).fault).toBe(
      'the hash of the last record, 1200, differs from the hash stored for the end of the chain',
    )
    const known = { seq: 5, hash: '0'.repeat(64) }
    expect((await verifyAudit(holding(RECORDS), known)).fault).toContain('the chain was replaced')
    expect((await verifyAudit(holding(RECORDS), { ...known, seq: 5000 })).fault).toContain('is missing')
  })
})
