/** The cross-origin (CORS) rule of an API. */
import { count, headerName, methods } from './fields.ts'
import type { ServedOf } from './served.ts'
import { z } from './zod.ts'

const MAX_ITEMS = 32
/** A page needs them for a call with a credential or a body. */
const DEFAULT_ALLOW_HEADERS = ['authorization', 'content-type', 'x-api-key']

function headerNames() {
  return z.array(headerName()).max(MAX_ITEMS, `must have at most ${MAX_ITEMS} headers.`)
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
        'x-label': 'Origins',
        description: 'Origins of the pages that may read responses; `*`: every origin.',
        example: ['https://app.example'],
      }),
    methods: methods().nullable().default(null).openapi({
      'x-label': 'Methods',
      description: 'Methods that pages may use; null: all methods that the API allows.',
    }),
    allow_headers: headerNames().default(DEFAULT_ALLOW_HEADERS).openapi({
      'x-label': 'Allowed request headers',
      description: 'Request headers that pages may set.',
    }),
    expose_headers: headerNames().default([]).openapi({
      'x-label': 'Exposed response headers',
      description:
        'Response headers that pages may read, in addition to X-Request-ID and the headers that the upstream exposes.',
    }),
    credentials: z.boolean('must be true or false.').default(false).openapi({
      'x-label': 'Allow credentials',
      description: 'true: pages may send the credentials that the browser holds for the gateway.',
    }),
    max_age_secs: count(0, 86_400).default(600).openapi({
      'x-label': 'Preflight lifetime in seconds',
      description: 'Seconds for which browsers may cache the response to a preflight.',
    }),
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
    'x-label': 'Cross-origin requests',
    description:
      'The cross-origin (CORS) rule of the API. null: the rule of the gateway (`CORS_ORIGINS`) applies.',
  })

export type CorsRule = ServedOf<typeof cors>

/** True for an origin as browsers write it (RFC 6454 §6.2): scheme, host in lower case, and a port that is not the default. */
function isOrigin(text: string): boolean {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) return false
  return new URL(text).origin === text
}
