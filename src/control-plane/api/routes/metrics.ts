/** Routes and schemas of metrics. `services/metrics.ts` reads the metrics from the database. */

import { calendarDay } from '../../../model/schema/fields.ts'
import { camelCased } from '../../../model/schema/names.ts'
import { z } from '../../../model/schema/zod.ts'
import { type Endpoint, endpointsTagged } from '../http/endpoint.ts'
import { findApi } from '../services/apis.ts'
import { metricsOf } from '../services/metrics.ts'

const endpoint = endpointsTagged('metrics')

const milliseconds = z.number().openapi({ example: 12.5 })

const shownMetrics = z
  .object({
    metrics: z.array(
      z
        .object({
          date: z.string().openapi({
            example: '2026-01-31',
            description:
              'Start of the period in UTC, for example `2026-01-31T12:00:00Z` for `hour`, `2026-01-31` for `day` and `2026-01` for `month`.',
          }),
          requests: z.int(),
          errors: z.int().openapi({ description: 'Number of calls with an outcome other than success.' }),
          p50_latency_ms: milliseconds,
          p95_latency_ms: milliseconds,
          p99_latency_ms: milliseconds,
        })
        .openapi('MetricsRow'),
    ),
  })
  .openapi('Metrics')

const date = calendarDay(1970, 2999)

const query = z.object({
  start_date: date.optional(),
  end_date: date
    .optional()
    .openapi({ description: 'Last day of the returned metrics, in UTC. Default: the current day.' }),
  granularity: z.enum(['hour', 'day', 'month'], 'must be "hour", "day" or "month".').default('day'),
})

export const metricsEndpoints: readonly Endpoint[] = [
  endpoint('readTenantMetrics', 'get', '/tenants/{tenant_id}/metrics', {
    summary:
      'Read the request counts, error counts and latencies of a tenant for each period; periods without calls are omitted',
    action: 'control.metrics.read',
    query,
    success: { description: 'The metrics', schema: shownMetrics },
    run: async ({ tx, tenant, query: values }) => ({
      body: { metrics: await metricsOf(tx, { tenantId: tenant!.id }, camelCased(values)) },
    }),
  }),
  endpoint('readApiMetrics', 'get', '/tenants/{tenant_id}/apis/{api_id}/metrics', {
    summary:
      'Read the request counts, error counts and latencies of an API for each period; periods without calls are omitted',
    action: 'control.metrics.read',
    query,
    success: { description: 'The metrics', schema: shownMetrics },
    async run({ tx, tenant, params, query: values }) {
      const api = await findApi(tx, params.api_id!)
      return {
        body: { metrics: await metricsOf(tx, { tenantId: tenant!.id, apiId: api.id }, camelCased(values)) },
      }
    },
  }),
]
