/** Queries on mails, and the writing of those of a transaction. Texts and retry rules are in `model/`. */
import { sql } from 'kysely'
import { type NewEvent, NOTICE_KINDS, type NoticeKind } from '../../../model/event.ts'
import { newId } from '../../../model/id.ts'
import { isMailAddress, MAX_MAILS_PER_DAY } from '../../../model/mail.ts'
import { noticeText } from '../../../model/notice-mail.ts'
import type { ClaimedMail, MailRepository } from '../notice-repositories.ts'
import { inScope } from './listing.ts'
import type { SqlSession } from './session.ts'

type Notice = NewEvent & { readonly kind: NoticeKind; readonly tenantId: string }

/** Writes a mail for each notice and recipient: the administrator of the tenant, and the contact of the subscription. */
export async function writeMails(session: SqlSession): Promise<void> {
  const { db, now, pendingEvents, mail } = session
  const notices = pendingEvents.filter(isNotice)
  if (mail === undefined || notices.length === 0) return
  const tenants = await db
    .selectFrom('tenants')
    .where('id', 'in', [...new Set(notices.map(notice => notice.tenantId))])
    .select(['id', 'name', 'adminEmail'])
    .execute()
  const contacts = await db
    .selectFrom('subscriptions')
    .where('id', 'in', [...new Set(notices.map(notice => notice.resourceId))])
    .select(['id', sql<string | null>`metadata ->> 'contact'`.as('contact')])
    .execute()
  const rows = notices.flatMap(notice => {
    const { kind, tenantId, data } = notice
    const tenant = tenants.find(({ id }) => id === tenantId)
    const contact = contacts.find(({ id }) => id === notice.resourceId)?.contact
    const recipients = [tenant?.adminEmail, contact].filter(each => each != null).filter(isMailAddress)
    const { subject, body } = noticeText(kind, data, tenant?.name ?? '')
    return [...new Set(recipients)].map(recipient => ({
      id: newId('mail', now.getTime()),
      tenant_id: tenantId,
      event: kind,
      recipient,
      subject,
      body,
    }))
  })
  if (rows.length === 0) return
  const written = await sql`
    insert into mails (id, tenant_id, event, recipient, subject, body, status, attempt, next_attempt_at, created_at, updated_at)
    select id, tenant_id, event, recipient, subject, body, 'pending', 0, ${now}::timestamptz, ${now}::timestamptz,
      ${now}::timestamptz
    from (
      select r.*, row_number() over (partition by tenant_id order by id) as place
      from json_to_recordset(${JSON.stringify(rows)}::json)
        as r (id text, tenant_id text, event text, recipient text, subject text, body text)) r
    where r.place + (select count(*) from mails m where m.tenant_id = r.tenant_id
        and m.created_at > ${now}::timestamptz - interval '1 day') <= ${MAX_MAILS_PER_DAY}`.execute(db)
  const omitted = rows.length - Number(written.numAffectedRows ?? rows.length)
  if (omitted > 0) mail.onOmitted(omitted)
}

function isNotice(event: NewEvent): event is Notice {
  return event.tenantId !== null && (NOTICE_KINDS as readonly string[]).includes(event.kind)
}

export function mailRepository({ db, scope, now }: SqlSession): MailRepository {
  return {
    async claim({ slots, leaseMs, lease }) {
      const claimed = await sql<ClaimedMail>`
        with due as (
          select m.id, row_number() over (partition by m.tenant_id order by m.next_attempt_at, m.id) as turn
          from mails m join tenants t on t.id = m.tenant_id and t.status <> 'suspended'
          where m.status = 'pending' and m.next_attempt_at <= ${now}::timestamptz
            and (m.leased_until is null or m.leased_until <= statement_timestamp())
          order by turn, m.id limit ${slots}
        ),
        free as (
          select m.id from mails m join due on due.id = m.id
          where m.leased_until is null or m.leased_until <= statement_timestamp()
          for update of m skip locked
        )
        update mails m set lease = ${lease},
          leased_until = statement_timestamp() + ${leaseMs}::double precision * interval '1 millisecond'
        from free where m.id = free.id
        returning m.id, m.tenant_id, m.recipient, m.subject, m.body, m.attempt, m.created_at`.execute(db)
      return claimed.rows
    },
    async settle(id, lease, after) {
      const settled = await db
        .updateTable('mails')
        .set({ ...after, lease: null, leasedUntil: null, updatedAt: now })
        .where('id', '=', id)
        .where('lease', '=', lease)
        .where('status', '=', 'pending')
        .executeTakeFirst()
      return settled.numUpdatedRows === 1n
    },
    async pending() {
      const found = await db
        .selectFrom('mails')
        .where(inScope(scope))
        .where('status', '=', 'pending')
        .select(sql<number>`count(*)::int`.as('count'))
        .executeTakeFirstOrThrow()
      return found.count
    },
    async sweep(before) {
      await db.deleteFrom('mails').where('createdAt', '<', before).execute()
    },
  }
}
