/** The addresses of an upstream with their health check, and mirrored calls. */
import { count, isWithin, methods, shaped, upstreamUrl } from './fields.ts'
import type { ServedOf } from './served.ts'
import { z } from './zod.ts'

const MIN_CHECK_INTERVAL_MS = 500
const WITHOUT_QUERY = 'must be an address without a query.'
const address = () => upstreamUrl().refine(url => !url.includes('?'), WITHOUT_QUERY)

const healthCheck = z
  .strictObject({
    path: shaped(/^\/[\x21-\x7e]*$/, 500, 'must start with "/" and be printable ASCII without spaces.')
      .default('/')
      .openapi({
        'x-label': 'Path',
        description:
          'Path that the gateway appends to each address. An address is healthy if it responds with a status from 200 to 399.',
      }),
    interval_ms: count(MIN_CHECK_INTERVAL_MS, 300_000)
      .default(10_000)
      .openapi({ 'x-label': 'Interval in ms', description: 'Time between two checks of an address.' }),
    timeout_ms: count(100, 60_000)
      .default(2000)
      .openapi({ 'x-label': 'Timeout in ms', description: 'A check that takes longer has failed.' }),
    unhealthy_after: count(1, 100).default(2).openapi({
      'x-label': 'Failed checks until unhealthy',
      description: 'Number of failed checks in a row after which the address gets no calls.',
    }),
    healthy_after: count(1, 100).default(1).openapi({
      'x-label': 'Successful checks until healthy',
      description: 'Number of successful checks in a row after which the address gets calls again.',
    }),
  })
  .refine(check => isWithin(check.timeout_ms, check.interval_ms, MIN_CHECK_INTERVAL_MS), {
    path: ['timeout_ms'],
    message: 'must be at most interval_ms.',
  })
  .openapi('HealthCheck', {
    'x-label': 'Health checks of the upstream addresses',
    description:
      'One thread of each gateway sends a GET request to each address. null: the gateway checks no address.',
  })

export type HealthCheckRule = ServedOf<typeof healthCheck>

const MAX_ADDRESSES = 16

export const upstreams = z
  .strictObject({
    addresses: z
      .array(
        z.strictObject({
          url: address(),
          weight: count(1, 1000).default(1).openapi({
            description: 'The address gets calls in proportion to its weight.',
          }),
        }),
      )
      .min(1, 'must have at least one address.')
      .max(MAX_ADDRESSES, `must have at most ${MAX_ADDRESSES} addresses.`)
      .refine(
        all => new Set(all.map(({ url }) => url)).size === all.length,
        'must not contain an address more than once.',
      )
      .openapi({
        'x-label': 'Addresses',
        description: 'The gateway calls these addresses in place of upstream_url.',
      }),
    health_check: healthCheck.nullable().default(null),
  })
  .openapi('Upstreams', {
    'x-label': 'Upstream addresses',
    description:
      'Several addresses of the upstream, with weights and a health check. null: every call goes to upstream_url.',
  })

export type AddressesRule = ServedOf<typeof upstreams>
export type UpstreamAddress = AddressesRule['addresses'][number]

export const mirror = z
  .strictObject({
    url: address().openapi({
      'x-label': 'Address',
      description: 'Address of the second upstream, which receives the copies.',
    }),
    percent: count(1, 100).openapi({
      'x-label': 'Percentage',
      description: 'Percentage of the calls that the gateway copies.',
    }),
    methods: methods().default(['GET']).openapi({
      'x-label': 'Methods',
      description: 'Methods of the calls that the gateway copies. GET includes HEAD.',
    }),
    max_body_bytes: count(0, 1024 * 1024)
      .default(65_536)
      .openapi({
        'x-label': 'Maximum body size in bytes',
        description: 'Maximum size of a request body; calls with larger bodies are not copied.',
      }),
    timeout_ms: count(100, 60_000)
      .default(5000)
      .openapi({ 'x-label': 'Timeout in ms', description: 'Maximum duration of a copied call.' }),
  })
  .openapi('Mirror', {
    'x-label': 'Mirrored requests',
    description:
      'The gateway copies a part of the requests to a second upstream, and discards the responses from that upstream. null: the gateway copies no request.',
  })

export type MirrorRule = ServedOf<typeof mirror>
