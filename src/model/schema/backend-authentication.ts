/** How the gateway authenticates at a backend, in resources of the catalog. */
import { AUTHENTICATION_TYPES } from '../tool.ts'
import { celRules, choice, formed, keyReference, noted, text, webUrl, z } from './resource-fields.ts'

/** RFC 9110 §5.6.2, token. */
export const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
export const MAX_HEADER_NAME = 64

const CLIENT_ID = {
  description: 'Client ID of the gateway at the authorization server.',
  fix: 'write the client ID in printable ASCII, at most 512 characters',
}
const SCOPE = {
  description: 'Scopes that the gateway requests, separated by spaces.',
  fix: 'write scopes separated by spaces, at most 2048 characters',
}
const OAUTH = {
  tokenUrl: z.exactOptional(webUrl({ description: 'Token endpoint of the authorization server.' })),
  clientId: z.exactOptional(formed(/^[\x20-\x7e]+$/, 512, CLIENT_ID)),
  clientAuthentication: z.exactOptional(
    choice(['basic', 'post', 'none'], {
      description: 'How the gateway authenticates at the token endpoint (RFC 6749 §2.3.1); absent: basic.',
    }),
  ),
  scope: z.exactOptional(formed(/^[\x21\x23-\x5b\x5d-\x7e ]+$/, 2048, SCOPE)),
  audience: z.exactOptional(text(2048, { description: 'Audience of the token (RFC 8693).' })),
  resource: z.exactOptional(text(2048, { description: 'Resource of the token (RFC 8707).' })),
}
const CODE = {
  authorizationUrl: z.exactOptional(
    webUrl({ description: 'Authorization endpoint of the authorization server.' }),
  ),
  revocationUrl: z.exactOptional(webUrl({ description: 'Revocation endpoint (RFC 7009).' })),
  issuer: z.exactOptional(
    webUrl({
      description: 'Issuer of the authorization server, with which `iss` of a return is compared (RFC 9207).',
    }),
  ),
}

/** Fields that apply to some types only. */
export const OAUTH_FIELDS = Object.keys(OAUTH) as readonly (keyof typeof OAUTH)[]
export const CODE_FIELDS = Object.keys(CODE) as readonly (keyof typeof CODE)[]

const COMMON = {
  type: z._default(choice(AUTHENTICATION_TYPES), 'none'),
  secretRef: z.exactOptional(keyReference()),
  ...OAUTH,
  ...CODE,
}
const RULES = celRules(
  [
    "!has(self.type) || self.type == 'none' || has(self.secretRef) || (has(self.clientAuthentication) && self.clientAuthentication == 'none')",
    'name the secret that contains the credential',
  ],
  [
    "!has(self.type) || !(self.type in ['oauth2_client_credentials', 'token_exchange', 'authorization_code']) || (has(self.tokenUrl) && has(self.clientId))",
    'name tokenUrl and clientId',
  ],
  [
    "!has(self.type) || self.type != 'authorization_code' || has(self.authorizationUrl)",
    'name authorizationUrl',
  ],
)

export const backendAuthentication = noted(z.strictObject(COMMON), RULES)

/** At an MCP server, no document names the header of an API key. */
export const serverAuthentication = noted(
  z.strictObject({
    ...COMMON,
    header: z.exactOptional(
      formed(HEADER_NAME, MAX_HEADER_NAME, {
        description: 'Header of a credential of type apiKey.',
        fix: 'write the name of an HTTP header',
      }),
    ),
  }),
  RULES,
)
