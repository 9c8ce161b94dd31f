/** Creates consumers and changes them. */
import type { Consumer } from '../../../model/consumer.ts'
import type { Transaction } from '../../store/store.ts'
import { checkIfMatch } from '../http/entity-tag.ts'
import { invalidField, requireFound } from '../http/problem.ts'
import { applyPatch, newRecord, type Patch } from './records.ts'

/** As patches accept it. */
const MAX_NAME_CHARS = 100

/** The consumer with that subject, created with the name when it does not exist. */
export async function ensureConsumer(
  tx: Transaction,
  tenantId: string,
  subject: string,
  name?: string,
): Promise<Consumer> {
  const known = await tx.consumers.bySubject(subject)
  if (known !== undefined) return known
  const consumer = await tx.consumers.ensure({
    ...newRecord(tx, 'consumer'),
    tenantId,
    subject,
    // PostgreSQL text holds no NUL
    name: name?.replaceAll('\0', '').slice(0, MAX_NAME_CHARS) || subject,
    status: 'active',
    plan: null,
    notes: '',
    lastSeenAt: null,
  })
  announce(tx, 'consumer.created', consumer)
  return consumer
}

export type ConsumerFields = Pick<Consumer, 'name' | 'plan' | 'status' | 'notes'>

/**
 * `plan` applies where the consumer has no subscription; null = the default limits.
 * @throws Problem not_found, precondition_failed, validation_error for an unknown plan
 */
export async function patchConsumer(
  tx: Transaction,
  id: string,
  patch: Patch<ConsumerFields>,
  ifMatch: string,
): Promise<Consumer> {
  const consumer = requireFound(await tx.consumers.find(id, 'lock'), 'consumer')
  checkIfMatch(ifMatch, consumer.revision)
  if (typeof patch.plan === 'string' && (await tx.plans.bySlug(patch.plan)) === undefined)
    throw invalidField('plan', 'must be the slug of a plan that exists.')
  const updated = await tx.consumers.update(applyPatch(consumer, patch))
  announce(tx, 'consumer.updated', updated)
  return updated
}

function announce(tx: Transaction, kind: 'consumer.created' | 'consumer.updated', consumer: Consumer): void {
  const { id, tenantId, subject, plan, status } = consumer
  tx.events.append({ kind, tenantId, resourceId: id, data: { consumer_id: id, subject, plan, status } })
}
