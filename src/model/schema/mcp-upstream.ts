/** How gateways reach the MCP server of an API. */
import type { AuthenticationType } from '../tool.ts'
import { httpUrl, shaped, textField, word } from './fields.ts'
import { type ModelOf, toModel } from './names.ts'
import { z } from './zod.ts'

/** Types that need no page of a user. */
const AUTHENTICATION_TYPES = [
  'none',
  'bearer',
  'basic',
  'apiKey',
  'oauth2_client_credentials',
  'token_exchange',
] as const satisfies readonly AuthenticationType[]

const KEY = /^(?!\.{1,2}$)[A-Za-z0-9._-]+$/

/** @param what the parameter of token requests is */
function parameter(description: string) {
  return textField(2048).nullable().default(null).openapi({ description })
}

const authentication = z.strictObject({
  type: word(AUTHENTICATION_TYPES).default('none').openapi({
    description: 'How the gateways authenticate at the MCP server.',
  }),
  secret: shaped(KEY, 253, 'must consist of letters, digits, ".", "_" and "-", and must not be "." or "..".')
    .nullable()
    .default(null)
    .openapi({
      description:
        'Key in the secret `tenant-{name}`, where `{name}` is the name of the tenant. The value of this key is the credential or, with OAuth, the client secret. The key with `.hosts` after its name must list the hosts to which it may be sent. The gateways read the secret; the control plane does not have it.',
      example: 'crm-token',
    }),
  header: shaped(/^[A-Za-z0-9-]+$/, 64, 'must be a header name.')
    .nullable()
    .default(null)
    .openapi({
      description: 'Request header that contains the API key, for the type `apiKey`; null: X-API-Key.',
      example: 'X-API-Key',
    }),
  token_url: httpUrl().nullable().default(null).openapi({
    description:
      'Token endpoint of an authorization server. For `token_exchange`, that of the identity provider, or an address that the operator lists in TOKEN_EXCHANGE_URLS.',
  }),
  client_id: textField(512).nullable().default(null).openapi({
    description: 'Client ID at the authorization server, with OAuth.',
  }),
  client_authentication: word(['basic', 'post', 'none']).default('basic').openapi({
    description: 'How the client secret is sent to the token endpoint (RFC 6749 §2.3.1); `none`: it is not.',
  }),
  scope: parameter('Scopes of the token, separated by spaces.'),
  audience: parameter('Audience of the token (RFC 8693 §2.1).'),
  resource: parameter('Resource for which the token is (RFC 8707).'),
})

export const mcpUpstream = z
  .strictObject({
    transport: word(['auto', 'streamable', 'sse']).default('auto').openapi({
      description: '`auto`: streamable HTTP, else HTTP with SSE.',
    }),
    session: word(['per-caller', 'shared']).default('per-caller').openapi({
      description: '`per-caller`: a session of the server is used for one caller only.',
    }),
    trusted: z.boolean('must be true or false.').default(false).openapi({
      description:
        'true: changed descriptions, arguments and hints of its tools are served at once; false: they wait until an administrator of the tenant accepts them.',
    }),
    authentication: authentication.default(authentication.parse({})),
  })
  .openapi('McpUpstream', {
    description:
      'How gateways reach the MCP server of an API of type `mcp`; `upstream_url` is the address of the server. null: the defaults.',
  })

export type McpUpstream = ModelOf<typeof mcpUpstream>

/** For an API whose owner declares none. */
export const DEFAULT_MCP_UPSTREAM: McpUpstream = toModel(mcpUpstream, mcpUpstream.parse({}))
