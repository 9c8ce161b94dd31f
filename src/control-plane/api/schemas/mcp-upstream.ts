/** Schema of the MCP server of an API, and its conversion. */
import {
  API_AUTHENTICATION_TYPES,
  CLIENT_AUTHENTICATIONS,
  DEFAULT_MCP_UPSTREAM,
  MCP_SESSIONS,
  MCP_TRANSPORTS,
  type McpUpstream,
} from '../../../model/mcp-upstream.ts'
import { changeText } from '../http/requirements.ts'
import { httpUrl, shaped, textField, word } from './fields.ts'
import { z } from './zod.ts'

const KEY = /^(?!\.{1,2}$)[A-Za-z0-9._-]+$/
const text = () => textField(2048).nullable().default(null)

const authentication = z.strictObject({
  type: word(API_AUTHENTICATION_TYPES).default('none'),
  secret: shaped(KEY, 253, 'must consist of letters, digits, ".", "_" and "-", and must not be "." or "..".')
    .nullable()
    .default(null)
    .openapi({
      description:
        'Key in the secret `tenant-{name}`, where `{name}` is the name of the tenant. The value of this key is the credential or, with OAuth, the client secret. The gateways read the secret; the control plane does not have it.',
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
  client_id: textField(512).nullable().default(null),
  client_authentication: word(CLIENT_AUTHENTICATIONS).default('basic'),
  scope: text(),
  audience: text(),
  resource: text(),
})

export const mcpUpstream = z
  .strictObject({
    transport: word(MCP_TRANSPORTS).default('auto'),
    session: word(MCP_SESSIONS).default('per-caller'),
    authentication: authentication.default(shownMcpUpstream(DEFAULT_MCP_UPSTREAM).authentication),
  })
  .openapi('McpUpstream', {
    description: `How gateways reach the MCP server of an API of type \`mcp\`; \`upstream_url\` is the address of the server. ${changeText('control.apis.govern', 'A change, and another value than the defaults in a new API,')}`,
  })

export function mcpUpstreamFields(body: z.output<typeof mcpUpstream>): McpUpstream {
  const { token_url, client_id, client_authentication, ...rest } = body.authentication
  return {
    transport: body.transport,
    session: body.session,
    authentication: {
      ...rest,
      tokenUrl: token_url,
      clientId: client_id,
      clientAuthentication: client_authentication,
    },
  }
}

export function shownMcpUpstream({ transport, session, authentication: given }: McpUpstream) {
  const { tokenUrl, clientId, clientAuthentication, ...rest } = given
  return {
    transport,
    session,
    authentication: {
      type: rest.type,
      secret: rest.secret,
      header: rest.header,
      token_url: tokenUrl,
      client_id: clientId,
      client_authentication: clientAuthentication,
      scope: rest.scope,
      audience: rest.audience,
      resource: rest.resource,
    },
  }
}
