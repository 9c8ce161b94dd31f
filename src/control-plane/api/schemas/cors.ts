/** Schema of the cross-origin rule of an API, and its conversion. */
import { type CorsRule, DEFAULT_ALLOW_HEADERS, isOrigin, MAX_CORS_AGE_SECS } from '../../../model/api-cors.ts'
import { TRAFFIC_METHODS } from '../../../model/traffic.ts'
import { count, shaped, word } from './fields.ts'
import { z } from './zod.ts'

const MAX_ITEMS = 32

function headerNames() {
  return z
    .array(shaped(/^[a-z0-9!#$%&'*+.^_`|~-]+$/, 100, 'must be a header name in lower case.'))
    .max(MAX_ITEMS, `must have at most ${MAX_ITEMS} headers.`)
}

export const cors = z
  .strictObject({
    origins: z
      .array(
        z
          .string()
          .max(300, 'must have at most 300 characters.')
          .refine(
            origin => origin === '*' || isOrigin(origin),
            'must be "*" or an origin such as "https://app.example.com": scheme, host in lower case and, unless it is the default port, the port; no path.',
          ),
      )
      .max(MAX_ITEMS, `must have at most ${MAX_ITEMS} origins.`)
      .openapi({
        description: 'Origins of the pages that may read responses; `*`: every origin.',
        example: ['https://app.example'],
      }),
    methods: z
      .array(word(TRAFFIC_METHODS))
      .min(1, 'must have at least one method.')
      .nullable()
      .default(null)
      .openapi({ description: 'Methods that pages may use; null: all methods that the API allows.' }),
    allow_headers: headerNames()
      .default([...DEFAULT_ALLOW_HEADERS])
      .openapi({ description: 'Request headers that pages may set.' }),
    expose_headers: headerNames().default([]).openapi({
      description:
        'Response headers that pages may read, in addition to X-Request-ID and the headers that the upstream exposes.',
    }),
    credentials: z.boolean('must be true or false.').default(false),
    max_age_secs: count(0, MAX_CORS_AGE_SECS)
      .default(600)
      .openapi({ description: 'Seconds for which browsers may cache the response to a preflight.' }),
  })
  .refine(({ origins }) => origins.length === 1 || !origins.includes('*'), {
    path: ['origins'],
    message: 'must be "*" alone, or origins without "*".',
  })
  .refine(({ credentials, origins }) => !credentials || !origins.includes('*'), {
    path: ['credentials'],
    message:
      'must be false when origins contains "*". Otherwise every page could act for the user of the browser.',
  })
  .openapi('Cors', {
    description: 'The cross-origin (CORS) rule of the API; it replaces the rule of the gateway.',
  })

export function corsFields(body: z.output<typeof cors>): CorsRule {
  return {
    origins: body.origins,
    methods: body.methods,
    allowHeaders: body.allow_headers,
    exposeHeaders: body.expose_headers,
    credentials: body.credentials,
    maxAgeSecs: body.max_age_secs,
  }
}

export function shownCors(rule: CorsRule) {
  return {
    origins: [...rule.origins],
    methods: rule.methods === null ? null : [...rule.methods],
    allow_headers: [...rule.allowHeaders],
    expose_headers: [...rule.exposeHeaders],
    credentials: rule.credentials,
    max_age_secs: rule.maxAgeSecs,
  }
}
