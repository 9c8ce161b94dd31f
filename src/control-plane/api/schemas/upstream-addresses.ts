/** Schemas of the addresses of an upstream, of their health checks and of mirrored calls, and their conversion. */
import { TRAFFIC_METHODS } from '../../../model/traffic.ts'
import {
  type AddressesRule,
  MAX_ADDRESSES,
  MAX_CHECK_INTERVAL_MS,
  MAX_MIRRORED_BYTES,
  MAX_WEIGHT,
  MIN_CHECK_INTERVAL_MS,
  type MirrorRule,
} from '../../../model/upstream-rules.ts'
import { changeText } from '../http/requirements.ts'
import { count, isWithin, shaped, upstreamUrl, WITH_CREDENTIAL, word } from './fields.ts'
import { z } from './zod.ts'

const GOVERNED = changeText('control.apis.govern', WITH_CREDENTIAL)
const WITHOUT_QUERY = 'must be an address without a query.'
const address = () => upstreamUrl().refine(url => !url.includes('?'), WITHOUT_QUERY)

const healthCheck = z
  .strictObject({
    path: shaped(/^\/[\x21-\x7e]*$/, 500, 'must start with "/" and be printable ASCII without spaces.')
      .default('/')
      .openapi({
        description:
          'Path that the gateway appends to each address. An address is healthy if it responds with a status from 200 to 399.',
      }),
    interval_ms: count(MIN_CHECK_INTERVAL_MS, MAX_CHECK_INTERVAL_MS).default(10_000),
    timeout_ms: count(100, 60_000).default(2000),
    unhealthy_after: count(1, 100).default(2).openapi({
      description: 'Number of failed checks in a row after which the address gets no calls.',
    }),
    healthy_after: count(1, 100).default(1).openapi({
      description: 'Number of successful checks in a row after which the address gets calls again.',
    }),
  })
  .refine(check => isWithin(check.timeout_ms, check.interval_ms, MIN_CHECK_INTERVAL_MS), {
    path: ['timeout_ms'],
    message: 'must be at most interval_ms.',
  })
  .openapi('HealthCheck', {
    description: 'Health check: one thread of each gateway sends a GET request to each address.',
  })

export const upstreams = z
  .strictObject({
    addresses: z
      .array(
        z.strictObject({
          url: address(),
          weight: count(1, MAX_WEIGHT).default(1).openapi({
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
      .openapi({ description: 'The gateway calls these addresses in place of upstream_url.' }),
    health_check: healthCheck.nullable().default(null),
  })
  .openapi('Upstreams', {
    description: `Several addresses of the upstream, with weights and a health check. ${GOVERNED}`,
  })

export function addressesFields(body: z.output<typeof upstreams>): AddressesRule {
  const check = body.health_check
  return {
    addresses: body.addresses,
    healthCheck: check && {
      path: check.path,
      intervalMs: check.interval_ms,
      timeoutMs: check.timeout_ms,
      unhealthyAfter: check.unhealthy_after,
      healthyAfter: check.healthy_after,
    },
  }
}

export function shownAddresses({ addresses, healthCheck: check }: AddressesRule) {
  return {
    addresses: addresses.map(({ url, weight }) => ({ url, weight })),
    health_check: check && {
      path: check.path,
      interval_ms: check.intervalMs,
      timeout_ms: check.timeoutMs,
      unhealthy_after: check.unhealthyAfter,
      healthy_after: check.healthyAfter,
    },
  }
}

export const mirror = z
  .strictObject({
    url: address().openapi({ description: 'Address of the second upstream, which receives the copies.' }),
    percent: count(1, 100).openapi({ description: 'Percentage of the calls that the gateway copies.' }),
    methods: z
      .array(word(TRAFFIC_METHODS))
      .min(1, 'must have at least one method.')
      .default(['GET'])
      .openapi({ description: 'Methods of the calls that the gateway copies. GET includes HEAD.' }),
    max_body_bytes: count(0, MAX_MIRRORED_BYTES)
      .default(65_536)
      .openapi({ description: 'Maximum size of a request body; calls with larger bodies are not copied.' }),
    timeout_ms: count(100, 60_000).default(5000),
  })
  .openapi('Mirror', {
    description: `The gateway copies a part of the requests to a second upstream, and discards the responses from that upstream. ${GOVERNED}`,
  })

export function mirrorFields(body: z.output<typeof mirror>): MirrorRule {
  return {
    url: body.url,
    percent: body.percent,
    methods: body.methods,
    maxBodyBytes: body.max_body_bytes,
    timeoutMs: body.timeout_ms,
  }
}

export function shownMirror(rule: MirrorRule) {
  return {
    url: rule.url,
    percent: rule.percent,
    methods: [...rule.methods],
    max_body_bytes: rule.maxBodyBytes,
    timeout_ms: rule.timeoutMs,
  }
}
