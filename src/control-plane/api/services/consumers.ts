/** Creates consumers when they subscribe or get a plan. It counts no usage. */
import type { Consumer } from '../../../model/consumer.ts'
import { newId } from '../../../model/id.ts'
import type { Transaction } from '../../store/store.ts'

/** The consumer with that subject, created when it does not exist. */
export async function ensureConsumer(tx: Transaction, tenantId: string, subject: string): Promise<Consumer> {
  const known = await tx.consumers.bySubject(subject)
  if (known !== undefined) return known
  const consumer = await tx.consumers.ensure({
    id: newId('consumer', tx.now.getTime()),
    tenantId,
    subject,
    name: subject,
    status: 'active',
    plan: null,
    lastSeenAt: null,
    createdAt: tx.now,
    updatedAt: tx.now,
  })
  announce(tx, 'consumer.created', consumer)
  return consumer
}

/** Assigns the plan that applies where the consumer has no subscription; null = the default limits. */
export async function assignPlan(
  tx: Transaction,
  consumer: Consumer,
  plan: string | null,
): Promise<Consumer> {
  if (consumer.plan === plan) return consumer
  const updated = await tx.consumers.update({ ...consumer, plan })
  announce(tx, 'consumer.updated', updated)
  return updated
}

function announce(tx: Transaction, kind: 'consumer.created' | 'consumer.updated', consumer: Consumer): void {
  const { id, tenantId, subject, plan } = consumer
  tx.events.append({ kind, tenantId, resourceId: id, data: { consumer_id: id, subject, plan } })
}
