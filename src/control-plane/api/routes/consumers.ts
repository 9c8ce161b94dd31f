/** Routes and schemas of consumers; there are only reads. Consumers are created in `services/consumers.ts`. */
import { CONSUMER_STATUSES } from '../../../model/consumer.ts'
import { type Endpoint, tagged } from '../http/endpoint.ts'
import {
  envelope,
  listOf,
  pageQuery,
  q,
  shownId,
  shownMoment,
  textField,
  wordQuery,
} from '../schemas/fields.ts'
import { camelCased, present } from '../schemas/present.ts'
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

const endpoint = tagged('consumer')

export const consumerEndpoints: readonly Endpoint[] = [
  endpoint('listConsumers', 'get', '/consumers', {
    summary: 'List the consumers of all tenants the caller acts for',
    action: 'control.consumers.list',
    reach: 'caller',
    query: z.object({
      ...pageQuery,
      q,
      status: wordQuery(CONSUMER_STATUSES),
      tenant_id: textField(100).optional(),
    }),
    success: {
      description: 'A page of consumers',
      schema: listOf(shownConsumer, 'ConsumerList'),
    },
    async run({ tx, query }) {
      const found = await tx.consumers.list(camelCased(query), query)
      return { body: envelope(found, query, consumer => present(shownConsumer, consumer)) }
    },
  }),
]
