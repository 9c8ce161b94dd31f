/** Generates the OpenAPI document of the control plane from declarations of endpoints, streams and events. */
import { OpenAPIRegistry, OpenApiGeneratorV31, type RouteConfig } from '@asteasolutions/zod-to-openapi'
import { RATE_LIMIT_HEADERS } from '../../../model/rate-limit-headers.ts'
import { z } from '../../../model/schema/zod.ts'
import { DESCRIBED_EVENTS, type DescribedEvent } from '../schemas/event.ts'
import type { Endpoint } from './endpoint.ts'
import { addExamples } from './examples.ts'
import { CONTENT_TYPES } from './export-rows.ts'
import { BASE } from './mount.ts'
import { separateNull } from './nullable-components.ts'
import { codesOf, PROBLEM_CODES } from './problem.ts'
import { describeAuthorities, requirementOf, requirementText } from './requirements.ts'

const problem = z
  .object({
    error: z.object({
      code: z.enum(PROBLEM_CODES as [string, ...string[]]),
      message: z.string(),
      details: z.array(z.object({ field: z.string(), message: z.string() })),
    }),
  })
  .openapi('Error')

const PROBLEMS: { readonly [status: string]: string } = {
  400: 'Invalid request data',
  401: 'Missing or invalid token',
  403: 'Insufficient permissions',
  404: 'Resource not found',
  409: 'The request conflicts with an existing resource, with the state of a resource, or with an earlier request that has the same Idempotency-Key',
  412: 'If-Match does not contain the current ETag of the resource',
  413: 'The request body is too large, or the export has too many rows',
  415: 'The Content-Type of the request body is not JSON',
  429: 'Too many requests',
  500: 'Server error',
  503: 'The service is temporarily unavailable; retry after the number of seconds in the Retry-After header',
}

const rateLimitHeaders = z.object(
  Object.fromEntries(RATE_LIMIT_HEADERS.map(name => [name, z.string().optional()])),
)

/** A response that is a stream and not JSON, declared beside the endpoints. */
export interface StreamRoute {
  readonly path: string
  readonly tag: string
  readonly id: string
  readonly summary: string
  readonly query: z.ZodObject
  readonly description: string
}

/** What differs between two deployments. */
export interface DocumentInfo {
  readonly apiUrl: string
  readonly version: string
}

export function serversOf({ apiUrl }: DocumentInfo): readonly { readonly url: string }[] {
  return [{ url: `${apiUrl.replace(/\/+$/, '')}${BASE}` }]
}

export function openApiDocument(
  endpoints: readonly Endpoint[],
  streams: readonly StreamRoute[],
  info: DocumentInfo,
): object {
  const registry = new OpenAPIRegistry()
  registry.registerComponent('securitySchemes', 'bearer', {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
  })
  for (const endpoint of endpoints) registry.registerPath(routeOf(endpoint))
  for (const stream of streams) registry.registerPath(streamRouteOf(stream))
  for (const event of DESCRIBED_EVENTS) registry.registerWebhook(webhookOf(event))
  const document = new OpenApiGeneratorV31(registry.definitions, {
    sortComponents: 'alphabetically',
  }).generateDocument({
    openapi: '3.1.0',
    info: {
      title: 'Toolgate control plane',
      version: info.version,
      description:
        'Manages tenants, APIs, plans, subscriptions, API keys and webhooks. Sends the configuration to the gateways. Returns the status, usage and recorded calls that the gateways report.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [...serversOf(info)],
    security: [{ bearer: [] }],
  })
  describeAuthorities(document)
  separateNull(document)
  addExamples(document)
  return document
}

function routeOf(endpoint: Endpoint): RouteConfig {
  const { success, method, status } = endpoint
  const problemStatuses = ['400', '403', '404', '413', '429', '500', '503']
  if (endpoint.visitors !== true) problemStatuses.push('401')
  if (method !== 'get') problemStatuses.push('409', '415')
  if (endpoint.preconditions === true) problemStatuses.push('412')
  const request = {
    params: paramsOf(endpoint.path),
    headers: headersOf(endpoint),
    ...(endpoint.query === undefined ? {} : { query: endpoint.query as z.ZodObject }),
    ...(endpoint.body === undefined
      ? {}
      : {
          body: {
            required: endpoint.bodyOptional !== true,
            content: { 'application/json': { schema: endpoint.body } },
          },
        }),
  }
  const headers =
    endpoint.preconditions === true && method !== 'delete'
      ? rateLimitHeaders.extend({ ETag: z.string() })
      : rateLimitHeaders
  return {
    method,
    path: endpoint.path,
    operationId: endpoint.id,
    summary: endpoint.summary,
    description: requirementText(endpoint.action),
    tags: [endpoint.tag],
    ...(endpoint.visitors === true ? { security: [] } : {}),
    'x-action': endpoint.action,
    'x-requires': requirementOf(endpoint.action),
    request,
    responses: {
      [status]: {
        description: success.description,
        headers,
        ...(success.schema === undefined ? {} : { content: contentOf(endpoint, success.schema) }),
      },
      ...problems(problemStatuses),
    },
  }
}

/** Lists have their rows in other formats, too. */
function contentOf({ query, success }: Endpoint, schema: z.ZodType) {
  const json = { [success.mediaType ?? 'application/json']: { schema } }
  if (query === undefined || !('format' in (query as z.ZodObject).shape)) return json
  const text = { schema: z.string() }
  return {
    ...json,
    ...Object.fromEntries(Object.values(CONTENT_TYPES).map(type => [type.split(';')[0]!, text])),
  }
}

function streamRouteOf(stream: StreamRoute): RouteConfig {
  return {
    method: 'get',
    path: stream.path,
    operationId: stream.id,
    summary: stream.summary,
    description: requirementText('control.gateways.connect'),
    tags: [stream.tag],
    'x-action': 'control.gateways.connect',
    'x-requires': requirementOf('control.gateways.connect'),
    'x-stream': true,
    request: { query: stream.query },
    responses: {
      200: { description: stream.description, content: { 'text/event-stream': { schema: z.string() } } },
      ...problems(['400', '401', '403', '429', '500', '503']),
    },
  }
}

function problems(statuses: readonly string[]): RouteConfig['responses'] {
  return Object.fromEntries(
    statuses.map(status => [
      status,
      {
        description: PROBLEMS[status]!,
        content: { 'application/json': { schema: problem, example: problemExample(status) } },
      },
    ]),
  )
}

function problemExample(status: string) {
  const code = codesOf(Number(status))[0]!
  const details =
    code === 'validation_error' ? [{ field: 'name', message: 'must have at least 1 character.' }] : []
  return { error: { code, message: `${PROBLEMS[status]}.`, details } }
}

/** A delivery (docs/reference/events.md); the headers with signatures follow the secrets of the webhook. */
function webhookOf({ kind, summary, message }: DescribedEvent): RouteConfig {
  const headers = z.object({
    'X-Platform-Event': z.literal(kind),
    'X-Platform-Delivery': z.string().openapi({
      description: 'Id of the delivery, the same in every attempt. Use the id to discard duplicates.',
    }),
    'X-Platform-Signature': z.string().optional().openapi({
      description:
        '`sha256=` followed by the HMAC-SHA256 of the request body in hex. The HMAC key is the secret of the webhook.',
    }),
    'webhook-id': z.string().optional(),
    'webhook-timestamp': z.string().optional(),
    'webhook-signature': z.string().optional(),
  })
  return {
    method: 'post',
    path: kind,
    operationId: `on_${kind.replace('.', '_')}`,
    summary,
    description:
      'Sent to each enabled webhook of the tenant if the `events` of the webhook contain this event type or `*`.',
    tags: ['webhook'],
    security: [],
    request: { headers, body: { required: true, content: { 'application/json': { schema: message } } } },
    responses: {
      '2XX': {
        description:
          'Accepted. After any other status, or if the response does not end within 5 s, the delivery is retried, up to 5 attempts in total',
      },
    },
  }
}

function paramsOf(path: string): z.ZodObject {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(match => match[1]!)
  return z.object(Object.fromEntries(names.map(name => [name, z.string().min(1)])))
}

function headersOf(endpoint: Endpoint): z.ZodObject {
  if (endpoint.visitors === true) return z.object({})
  const headers: Record<string, z.ZodType> = {
    'X-Tenant-ID': z.string().optional().openapi({
      description: 'Id or name of the tenant for which the request acts.',
    }),
  }
  if (endpoint.method === 'post' && endpoint.idempotencyKey !== false) {
    headers['Idempotency-Key'] = z
      .string()
      .regex(/^[\x21-\x7e]{1,255}$/)
      .optional()
      .openapi({
        description:
          'For 24 hours, a repetition of a successful request with the same Idempotency-Key, query and body gets the first response again.',
      })
  }
  if (endpoint.preconditions === true) {
    headers['If-Match'] = z.string().optional().openapi({
      description:
        'ETag from an earlier response with this resource. If the resource has a different ETag now, the response has the status 412.',
    })
  }
  return z.object(headers)
}
