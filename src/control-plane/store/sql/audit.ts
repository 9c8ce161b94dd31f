/** Queries on audit records, and their chain of hashes. */
import { sql } from 'kysely'
import { type AuditRecord, auditContent, type NewAuditRecord, spellingsOf } from '../../../model/audit.ts'
import type { AuditRepository } from '../audit-repository.ts'
import { given, inScope, matches } from './listing.ts'
import type { SqlSession } from './session.ts'
import type { Tables } from './tables.ts'

export function auditRepository({ db, scope, pendingAudit }: SqlSession): AuditRepository {
  const chain = () => db.selectFrom('auditChain').selectAll()
  return {
    append(record) {
      pendingAudit.push(record)
    },
    get appended() {
      return pendingAudit.length
    },
    async list({ q, actor, resourceType, since, until, ...filter }, { before, after }, limit) {
      const rows = await db
        .selectFrom('audit')
        .where(inScope(scope))
        .where(eb => eb.and(given(filter)))
        .$if(resourceType !== undefined, query =>
          query.where('resourceType', 'in', [...spellingsOf(resourceType!)]),
        )
        .$if(actor !== undefined, query =>
          query.where(eb => eb.or([eb('actorSubject', '=', actor!), eb('actorConsumer', '=', actor!)])),
        )
        .$if(q !== undefined, query =>
          query.where(eb =>
            matches(
              eb,
              [eb.ref('action'), eb.ref('actorSubject'), eb.ref('actorConsumer'), eb.ref('resourceId')],
              q!,
            ),
          ),
        )
        .$if(since !== undefined, query => query.where('at', '>=', since!))
        .$if(until !== undefined, query => query.where('at', '<', until!))
        .$if(before !== undefined, query => query.where('seq', '<', before!))
        .$if(after !== undefined, query => query.where('seq', '>', after!))
        .selectAll()
        .orderBy('seq', after === undefined ? 'desc' : 'asc')
        .limit(limit)
        .execute()
      return rows.map(recordOf)
    },
    async known(ids) {
      if (ids.length === 0) return new Set()
      const rows = await db
        .selectFrom('audit')
        .where('id', 'in', [...ids])
        .select('id')
        .execute()
      return new Set(rows.map(({ id }) => id))
    },
    async chain(locking = 'plain') {
      const { id: _id, ...ends } = await (locking === 'lock'
        ? chain().forUpdate()
        : chain()
      ).executeTakeFirstOrThrow()
      return ends
    },
    async sweep(before, limit) {
      // no record may be appended between the choice of the last one and its deletion
      await chain().forUpdate().executeTakeFirstOrThrow()
      const kept = await db
        .selectFrom('audit')
        .where('at', '>=', before)
        .select(sql<number | null>`min(seq)`.as('seq'))
        .executeTakeFirstOrThrow()
      const old = await db
        .selectFrom('audit')
        .$if(kept.seq !== null, query => query.where('seq', '<', kept.seq!))
        .select(['seq', 'hash'])
        .orderBy('seq')
        .limit(limit)
        .execute()
      const last = old.at(-1)
      if (last === undefined) return undefined
      await db.deleteFrom('audit').where('seq', '<=', last.seq).execute()
      await db.updateTable('auditChain').set({ anchorSeq: last.seq, anchorHash: last.hash }).execute()
      return last
    },
  }
}

/**
 * Appends the records of a transaction to the chain, directly before the commit. The row lock of the chain is held until then, so
 * numbers and hashes follow the order of commits; it is taken last, after that of the events, which prevents deadlocks.
 */
export async function flushAudit({ db, pendingAudit }: SqlSession): Promise<void> {
  for (const record of pendingAudit) {
    const { id, at, actor, action, requestId, gateway, tenantId, resourceType, resourceId, before, after } =
      record
    await sql`with chain as (
        update audit_chain set seq = seq + 1,
          hash = encode(sha256(convert_to(hash || ${auditContent(record)}, 'UTF8')), 'hex')
        returning seq, hash)
      insert into audit (seq, id, at, tenant_id, actor_kind, actor_subject, actor_consumer, actor_tenant, action, request_id,
        gateway, resource_type, resource_id, before, after, hash)
      select seq, ${id}, ${at}::timestamptz, ${tenantId}, ${actor.kind}, ${actor.subject}, ${actor.consumer}, ${actor.tenant},
        ${action}, ${requestId}, ${gateway}, ${resourceType}, ${resourceId}, ${before}, ${after}, hash
      from chain`.execute(db)
  }
}

function recordOf(row: Tables['audit']): AuditRecord {
  const { actorKind, actorSubject, actorConsumer, actorTenant, ...rest } = row
  const actor = {
    kind: actorKind as NewAuditRecord['actor']['kind'],
    subject: actorSubject,
    consumer: actorConsumer,
    tenant: actorTenant,
  }
  return { ...rest, actor }
}
