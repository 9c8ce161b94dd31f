/** Counts failed deliveries of webhooks, and appends the event of a failing webhook. */
import { hostOf } from '../../base/bare-host.ts'
import type { AfterAttempt } from '../../model/webhook-delivery.ts'
import type { Transaction } from '../store/store.ts'
import type { ClaimedDelivery } from '../store/webhook-repositories.ts'

/** One after the other, each after all of its attempts. */
const ANNOUNCED_AT = 3

/** Within the transaction that stores the outcome. Test deliveries do not count. */
export async function noteOutcome(
  tx: Transaction,
  { test, webhookId, tenantId }: ClaimedDelivery,
  { status, statusCode, error }: AfterAttempt,
): Promise<void> {
  if (test) return
  if (status === 'success') await tx.webhooks.recovered(webhookId)
  if (status !== 'failed') return
  const counted = await tx.webhooks.countFailed(webhookId)
  if (counted?.failedDeliveries !== ANNOUNCED_AT) return
  tx.events.append({
    kind: 'webhook.failing',
    tenantId,
    resourceId: webhookId,
    data: {
      webhook_id: webhookId,
      webhook_name: counted.name,
      // paths and queries of such addresses hold tokens
      host: hostOf(counted.url),
      failed_deliveries: counted.failedDeliveries,
      status_code: statusCode,
      error,
    },
  })
}
