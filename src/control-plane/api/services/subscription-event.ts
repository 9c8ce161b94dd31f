/** Builds an event about a subscription. */
import type { Api } from '../../../model/api.ts'
import type { NewEvent, WebhookEventKind } from '../../../model/event.ts'
import type { Subscription } from '../../../model/subscription.ts'
import type { Transaction } from '../../store/store.ts'

export async function eventOf(
  tx: Transaction,
  kind: WebhookEventKind,
  subscription: Subscription,
  extra: NewEvent['data'],
  known?: Api,
): Promise<NewEvent> {
  const { apiId, productId } = subscription
  const api = known ?? (apiId === null ? undefined : await tx.apis.find(apiId))
  const product = productId === null ? undefined : await tx.products.find(productId)
  const consumer = await tx.consumers.bySubject(subscription.application)
  return {
    kind,
    tenantId: subscription.tenantId,
    resourceId: subscription.id,
    data: {
      subscription_id: subscription.id,
      api_id: apiId,
      api_name: api?.name ?? '',
      ...(productId === null ? {} : { product_id: productId, product_name: product?.name ?? '' }),
      consumer_id: consumer?.id ?? '',
      plan: subscription.plan,
      status: subscription.status,
      ...extra,
    },
  }
}
