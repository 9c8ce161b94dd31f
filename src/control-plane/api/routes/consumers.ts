/** Routes and schemas of consumers. */
import { CONSUMER_STATUSES, type Consumer } from '../../../model/consumer.ts'
import { type Endpoint, endpoint } from '../http/endpoint.ts'
import {
  envelope,
  listOf,
  pageQuery,
  q,
  shownId,
  shownMoment,
  shownOrNull,
  text,
  wordQuery,
} from '../schemas/fields.ts'
import { z } from '../schemas/zod.ts'

const shownConsumer = z
  .object({
    id: shownId('con'),
    tenant_id: shownId('ten'),
    subject: z.string(),
    name: z.string(),
    status: z.enum(CONSUMER_STATUSES),
    plan: z.string().nullable(),
    created_at: shownMoment,
    last_seen_at: shownMoment.nullable(),
  })
  .openapi('Consumer')

function show(consumer: Consumer) {
  return {
    id: consumer.id,
    tenant_id: consumer.tenantId,
    subject: consumer.subject,
    name: consumer.name,
    status: consumer.status,
    plan: consumer.plan,
    created_at: consumer.createdAt.toISOString(),
    last_seen_at: shownOrNull(consumer.lastSeenAt),
  }
}

export const consumerEndpoints: readonly Endpoint[] = [
  endpoint({
    method: 'get',
    path: '/consumers',
    tag: 'consumer',
    id: 'listConsumers',
    summary: 'Export the consumers of all tenants the caller acts for',
    action: 'control.consumers.list',
    reach: 'caller',
    query: z.object({
      ...pageQuery,
      q,
      status: wordQuery(CONSUMER_STATUSES),
      tenant_id: text(100).optional(),
    }),
    success: {
      status: 200,
      description: 'A page of consumers',
      schema: listOf(shownConsumer, 'ConsumerList'),
    },
    async run({ tx, query }) {
      const { items, total } = await tx.consumers.list({ ...query, tenantId: query.tenant_id }, query)
      return { status: 200, body: envelope({ items: items.map(show), total }, query) }
    },
  }),
]
