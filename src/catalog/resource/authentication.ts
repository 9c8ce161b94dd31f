/** Reads how the gateway authenticates at a backend, in the spec of a resource. */
import {
  AUTHENTICATION_TYPES,
  type AuthenticationType,
  OAUTH_TYPES,
  type OAuthClient,
} from '../../model/tool.ts'
import type { DeclaredAuthentication } from '../../model/tool-set.ts'
import { normalizeBaseUrl } from '../compile/servers.ts'
import type { ResourceFields } from './fields.ts'
import { readReference } from './key-reference.ts'

const CLIENT_ID = {
  max: 512,
  pattern: /^[\x20-\x7e]+$/,
  fix: 'write the client ID in printable ASCII, at most 512 characters',
}
const SCOPE = {
  max: 2048,
  pattern: /^[\x21\x23-\x5b\x5d-\x7e ]+$/,
  fix: 'write scopes separated by spaces, at most 2048 characters',
}

/** The field `authentication`. */
export function readAuthentication(parent: ResourceFields): DeclaredAuthentication | undefined {
  const fields = parent.object('authentication')
  return fields && readAuthenticationFields(fields)
}

/** The fields of an authentication, and no others that were not read before. */
export function readAuthenticationFields(fields: ResourceFields): DeclaredAuthentication {
  const type = fields.oneOf('type', AUTHENTICATION_TYPES) ?? 'none'
  const secretRef = readReference(fields, 'secretRef')
  const oauth = isOAuth(type) ? readClient(fields, type) : undefined
  if (type !== 'none' && !fields.has('secretRef') && oauth?.clientAuthentication !== 'none') {
    const content = oauth === undefined ? 'the credential' : 'the client secret'
    fields.fault('secretRef', `is missing for type ${type}`, `name the secret that contains ${content}`)
  }
  fields.close()
  return {
    type,
    ...(secretRef === undefined ? {} : { secretRef }),
    ...(oauth === undefined ? {} : { oauth }),
  }
}

function isOAuth(type: AuthenticationType): boolean {
  return OAUTH_TYPES.some(one => one === type)
}

function readClient(fields: ResourceFields, type: AuthenticationType): OAuthClient {
  const isCode = type === 'authorization_code'
  const tokenUrl = readEndpoint(fields, 'tokenUrl', true)
  const clientId = fields.string('clientId', CLIENT_ID)
  if (!fields.has('clientId')) fields.fault('clientId', 'is missing', CLIENT_ID.fix)
  const clientAuthentication = fields.oneOf('clientAuthentication', ['basic', 'post', 'none'] as const)
  if (clientAuthentication === 'none' && type === 'oauth2_client_credentials')
    fields.fault(
      'clientAuthentication',
      'is none',
      'write basic or post: the client credentials grant requires the client secret',
    )
  const authorizationUrl = isCode ? readEndpoint(fields, 'authorizationUrl', true) : undefined
  const revocationUrl = isCode ? readEndpoint(fields, 'revocationUrl', false) : undefined
  const texts = {
    scope: fields.string('scope', SCOPE),
    audience: fields.string('audience', { max: 2048 }),
    resource: fields.string('resource', { max: 2048 }),
    authorizationUrl,
    revocationUrl,
  }
  return {
    tokenUrl: tokenUrl ?? '',
    clientId: clientId ?? '',
    clientAuthentication: clientAuthentication ?? 'basic',
    ...Object.fromEntries(Object.entries(texts).filter(([, value]) => value !== undefined)),
  }
}

function readEndpoint(fields: ResourceFields, name: string, isRequired: boolean): string | undefined {
  const value = fields.string(name, { max: 2048 })
  const fix = 'write https://host[:port]/path, without user or password'
  if (isRequired && !fields.has(name)) fields.fault(name, 'is missing', fix)
  if (value === undefined) return undefined
  if (normalizeBaseUrl(value) !== undefined) return value
  fields.fault(name, 'is not an absolute http(s) address', fix)
  return undefined
}
