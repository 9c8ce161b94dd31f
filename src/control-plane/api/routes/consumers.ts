/** Routes and schemas of consumers. The rules of changes are in `services/consumers.ts`. */
import { CONSUMER_STATUSES, type Consumer } from '../../../model/consumer.ts'
import { changedBy } from '../../../model/schema/authority.ts'
import { consumerAuthorities, consumerFields } from '../../../model/schema/consumer.ts'
import { textField, word } from '../../../model/schema/fields.ts'
import { camelCased, toWire } from '../../../model/schema/names.ts'
import { z } from '../../../model/schema/zod.ts'
import { type Endpoint, endpointsTagged } from '../http/endpoint.ts'
import { requireFound } from '../http/problem.ts'
import {
  envelope,
  fieldNames,
  listOf,
  pageQuery,
  q,
  shownId,
  shownMoment,
  sortQuery,
  wordQuery,
} from '../schemas/fields.ts'
import { patchConsumer } from '../services/consumers.ts'

const shownConsumer = z
  .object({
    id: shownId('con'),
    tenant_id: shownId('ten'),
    subject: z.string(),
    status: z.enum(CONSUMER_STATUSES),
    ...consumerFields,
    created_at: shownMoment,
    updated_at: shownMoment,
    last_seen_at: shownMoment.nullable(),
  })
  .openapi('Consumer')

const consumerPatch = z
  .strictObject({
    ...consumerFields,
    status: word(CONSUMER_STATUSES).openapi({
      description: '`blocked`: gateways and control plane refuse every call from the consumer.',
    }),
  })
  .partial()
  .openapi('ConsumerPatch', changedBy(consumerAuthorities))

const endpoint = endpointsTagged('consumer')
const ALL = '/tenants/{tenant_id}/consumers'
const ONE = `${ALL}/{consumer_id}`
const filters = {
  ...pageQuery,
  sort: sortQuery('subject', 'name', 'last_seen_at', 'updated_at'),
  q,
  status: wordQuery(CONSUMER_STATUSES),
}
const shownList = listOf(shownConsumer, 'ConsumerList')
const show = (consumer: Consumer) => toWire(shownConsumer, consumer)

function respond(consumer: Consumer) {
  return { body: show(consumer), revision: consumer.revision }
}

export const consumerEndpoints: readonly Endpoint[] = [
  endpoint('listConsumers', 'get', '/consumers', {
    summary: 'List the consumers of all tenants the caller acts for',
    action: 'control.consumers.list',
    reach: 'caller',
    query: z.object({ ...filters, tenant_id: textField(100).optional() }),
    success: { description: 'A page of consumers', schema: shownList },
    async run({ tx, query }) {
      return { body: envelope(await tx.consumers.list(camelCased(query), query), query, show) }
    },
  }),
  endpoint('listTenantConsumers', 'get', ALL, {
    summary: 'List the consumers of a tenant',
    action: 'control.consumers.list',
    query: z.object(filters),
    success: { description: 'A page of consumers', schema: shownList },
    async run({ tx, query }) {
      return { body: envelope(await tx.consumers.list(query, query), query, show) }
    },
  }),
  endpoint('readConsumer', 'get', ONE, {
    summary: 'Read a consumer',
    action: 'control.consumers.read',
    success: { description: 'The consumer', schema: shownConsumer },
    run: async ({ tx, params }) =>
      respond(requireFound(await tx.consumers.find(params.consumer_id!), 'consumer')),
  }),
  endpoint('updateConsumer', 'patch', ONE, {
    summary: 'Block or unblock a consumer, or change its name, plan or notes',
    action: 'control.consumers.update',
    body: consumerPatch,
    readOnly: fieldNames(shownConsumer),
    preconditions: true,
    success: { description: 'The changed consumer', schema: shownConsumer },
    async run({ tx, params, body, ifMatch }) {
      return respond(await patchConsumer(tx, params.consumer_id!, body, ifMatch))
    },
  }),
]
