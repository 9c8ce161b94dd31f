/** The spec of a Tool resource, and the fields that a ToolSet has in common with it. */
import { TASK_SUPPORT } from '../tool.ts'
import { isUnixUrl, readUnixUrl } from '../upstream-url.ts'
import { backendAuthentication } from './backend-authentication.ts'
import {
  anyObject,
  choice,
  duration,
  flag,
  integer,
  isWebUrl,
  noted,
  text,
  texts,
  z,
} from './resource-fields.ts'

const MAX_RATE = 10_000_000
const DAY_MS = 24 * 3_600_000

/** Fields of one tool, and of the defaults of a ToolSet. */
export const TOOL_FIELDS = {
  tags: z.exactOptional(texts()),
  timeout: z.exactOptional(duration(1, 600_000)),
  maxResultKiB: z.exactOptional(
    integer(1, 1_048_576, { description: 'Maximum size of one result for an MCP client.' }),
  ),
  tasks: z.exactOptional(choice(TASK_SUPPORT, { description: 'Calls can, or must, run as tasks of MCP.' })),
  rateLimit: z.exactOptional(
    z.strictObject({
      requestsPerMinute: integer(1, MAX_RATE),
      burst: z.exactOptional(
        integer(1, MAX_RATE, { description: 'Absent: the requests of one second, at least 1.' }),
      ),
    }),
  ),
  cache: z.exactOptional(z.strictObject({ ttl: duration(1, DAY_MS) })),
  authentication: z.exactOptional(backendAuthentication),
}

/** The hints of MCP. */
export const HINTS = {
  readOnlyHint: z.exactOptional(flag()),
  destructiveHint: z.exactOptional(flag()),
  idempotentHint: z.exactOptional(flag()),
  openWorldHint: z.exactOptional(flag()),
}

const SCHEMA = { fix: 'write a JSON Schema (2020-12)' }

const endpoint = noted(
  z.string().check(
    z.maxLength(2048),
    z.superRefine<string>((value, { addIssue }) => {
      const plain = value.replace(/\{[^{}]+\}/g, 'x')
      const unix = isUnixUrl(plain) ? readUnixUrl(plain) : undefined
      if (typeof unix === 'string')
        addIssue({
          code: 'custom',
          params: { reason: `is not usable: ${unix}`, fix: 'write http+unix://%2Frun%2Fshop.sock/path' },
        })
      else if (
        (unix === undefined && !isWebUrl(plain)) ||
        /[?#]/.test(value) ||
        /^[^/]*\/\/[^/]*\{/.test(value)
      )
        addIssue({ code: 'custom', params: { reason: 'is not a valid endpoint URL' } })
    }),
  ),
  {
    description: 'Absolute address of http(s) or a Unix socket, with {placeholders} in its path.',
    fix: 'write https://host/path, with {placeholders} in the path only and without a query',
    kubernetes: { pattern: '^(https?|http\\+unix)://[^\\s?#]+$' },
  },
)

export const toolSpec = z.strictObject({
  displayName: z.exactOptional(text(120)),
  description: z.exactOptional(text(4096)),
  endpoint: z.exactOptional(endpoint),
  method: z.exactOptional(choice(['GET', 'PUT', 'POST', 'DELETE', 'OPTIONS', 'HEAD', 'PATCH'])),
  inputSchema: z.exactOptional(anyObject({ ...SCHEMA, description: 'JSON Schema of the arguments.' })),
  outputSchema: z.exactOptional(anyObject({ ...SCHEMA, description: 'JSON Schema of the result.' })),
  annotations: z.exactOptional(z.strictObject({ title: z.exactOptional(text(120)), ...HINTS })),
  version: z.exactOptional(text(64)),
  apiRef: z.exactOptional(text(128, { description: 'ID of the API of the control plane.' })),
  enabled: z.exactOptional(flag()),
  ...TOOL_FIELDS,
})

export type ToolSpec = z.output<typeof toolSpec>
