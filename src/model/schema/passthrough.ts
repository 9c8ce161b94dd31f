/** Headers and paths that an API allows beyond the defaults. */
import { ALLOWABLE_RESPONSE_HEADERS, mayAllowRequestHeader } from '../passthrough.ts'
import { headerName, word } from './fields.ts'
import type { ServedOf } from './served.ts'
import { z } from './zod.ts'

const MAX_HEADERS = 32

export const passthrough = z
  .strictObject({
    request_headers: z
      .array(
        headerName().refine(
          mayAllowRequestHeader,
          'cannot be allowed. Use a request header that the gateway removes by default, such as "x-http-method-override".',
        ),
      )
      .max(MAX_HEADERS, `must have at most ${MAX_HEADERS} headers.`)
      .default([])
      .openapi({
        description: 'Request headers that the gateway forwards; otherwise it removes them.',
        example: ['x-http-method-override'],
      }),
    response_headers: z
      .array(
        z.enum(
          ALLOWABLE_RESPONSE_HEADERS,
          `cannot be allowed: only the effect of ${ALLOWABLE_RESPONSE_HEADERS.join(' and ')} stays within the addresses of the API. Remove the other headers.`,
        ),
      )
      .max(MAX_HEADERS, `must have at most ${MAX_HEADERS} headers.`)
      .default([])
      .openapi({ description: 'Response headers that the gateway returns; otherwise it removes them.' }),
    paths: word(['strict', 'lenient']).default('strict').openapi({
      description:
        '`strict`: the gateway refuses paths that contain dot segments with parameters (`..;`) or reserved characters that are encoded twice. `lenient`: the gateway forwards these paths.',
    }),
  })
  .openapi('Passthrough', {
    description:
      'Exceptions for this API: headers that the gateway otherwise removes, and paths that the gateway otherwise refuses. null: no exceptions.',
  })

export type Passthrough = ServedOf<typeof passthrough>
