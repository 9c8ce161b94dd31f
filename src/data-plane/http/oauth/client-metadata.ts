/** Reads a client's registration request: checks it, and builds the metadata of a public client and the scopes to return. */
import { isLoopback, LOOPBACK_HOSTS } from '../../../base/loopback.ts'
import { SUPPORTED_SCOPES } from './metadata.ts'

/** The wanted client, as it is sent to the identity provider. */
interface ClientMetadata {
  readonly redirect_uris: readonly string[]
  readonly grant_types: readonly string[]
  readonly response_types: readonly string[]
  readonly token_endpoint_auth_method: 'none'
  readonly application_type: 'web' | 'native'
  readonly client_name?: string
  readonly [text: string]: string | readonly string[] | undefined
}

export interface Registration {
  readonly metadata: ClientMetadata
  /**
   * What the client said it will ask for, of the scopes there are. It is returned but **not** forwarded: Keycloak gives a client
   * that names scopes exactly these and none of the realm's defaults, among them the audience mapper its tokens need.
   */
  readonly scope: string | undefined
}

interface RegistrationFault {
  readonly error: 'invalid_redirect_uri' | 'invalid_client_metadata'
  readonly description: string
}

const MAX_REDIRECTS = 20
const MAX_TEXT = 2048
/** Free texts and addresses that are forwarded when they are valid; other members are ignored, as RFC 7591 §2 asks. */
const TEXTS = ['client_name', 'software_id', 'software_version'] as const
const ADDRESSES = ['client_uri', 'logo_uri', 'tos_uri', 'policy_uri'] as const
/** RFC 8252 §7.1: a private-use scheme is a reversed domain name, so it holds a dot; `javascript:` and `data:` hold none. */
const PRIVATE_USE_SCHEME = /^[a-z][a-z0-9-]*(\.[a-z0-9-]+)+:$/
/** Applications in wide use whose scheme is older than that rule (docs/reference/http.md, OAuth and discovery). */
const APPLICATION_SCHEMES = new Set([
  'cursor:',
  'vscode:',
  'vscode-insiders:',
  'vscodium:',
  'windsurf:',
  'zed:',
  'claude:',
  'raycast:',
])
/** Scopes with which a client could administrate the platform: a client that registers itself never gets them. */
const PRIVILEGED = /^(platform:)?(admin|deploy)$/

export function readRegistration(body: Readonly<Record<string, unknown>>): Registration | RegistrationFault {
  const redirects = body.redirect_uris
  if (!Array.isArray(redirects) || redirects.length === 0 || redirects.length > MAX_REDIRECTS)
    return fault('invalid_redirect_uri', `redirect_uris must list 1 to ${MAX_REDIRECTS} URIs.`)
  for (const uri of redirects) {
    const reason = redirectFault(uri)
    if (reason !== undefined) return fault('invalid_redirect_uri', reason)
  }
  const type = body.application_type
  if (type !== undefined && type !== 'web' && type !== 'native')
    return fault('invalid_client_metadata', 'application_type must be "web" or "native".')
  const scope = body.scope
  if (scope !== undefined && typeof scope !== 'string')
    return fault('invalid_client_metadata', 'scope must be a string of scopes separated by spaces.')
  if (scope?.includes('*')) return fault('invalid_client_metadata', 'scope must not contain "*".')
  const given: Record<string, string> = {}
  for (const name of [...TEXTS, ...ADDRESSES]) {
    const value = body[name]
    if (value === undefined || value === null) continue
    const isAddress = (ADDRESSES as readonly string[]).includes(name)
    if (!isText(value) || (isAddress && !/^https?:\/\//.test(value))) {
      const form = isAddress ? 'an http or https URL' : 'a string'
      const bounds = `of 1 to ${MAX_TEXT} characters, without control characters`
      return fault('invalid_client_metadata', `${name} must be ${form} ${bounds}.`)
    }
    given[name] = value
  }
  const uris = redirects as string[]
  return {
    metadata: {
      ...given,
      redirect_uris: uris,
      // What a public client cannot use is omitted; the response shows it (RFC 7591 §3.2.1).
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: type ?? (uris.every(isWeb) ? 'web' : 'native'),
    },
    scope: scope === undefined ? undefined : knownScopes(scope),
  }
}

function fault(error: RegistrationFault['error'], description: string): RegistrationFault {
  return { error, description }
}

/** RFC 9700 §2.1 and RFC 8252 §7: https, a private-use scheme, or http on the user's own machine. */
function redirectFault(uri: unknown): string | undefined {
  if (!isText(uri) || !URL.canParse(uri)) return 'A redirect URI must be an absolute URL.'
  const { protocol, hostname, username, password } = new URL(uri)
  if (uri.includes('*')) return 'A redirect URI must not contain "*".'
  if (uri.includes('#')) return 'A redirect URI must not have a fragment.'
  if (username !== '' || password !== '') return 'A redirect URI must not contain a user name or password.'
  if (protocol === 'https:') return undefined
  if (protocol === 'http:')
    return isLoopback(hostname)
      ? undefined
      : 'A redirect URI with http must have the host localhost, 127.0.0.1 or [::1]. Use https for other hosts.'
  return PRIVATE_USE_SCHEME.test(protocol) || APPLICATION_SCHEMES.has(protocol)
    ? undefined
    : 'A redirect URI must use https, http with a loopback host, or a private-use scheme such as "com.example.app".'
}

/** Private-use schemes and loopback addresses are those of native applications (RFC 8252 §7), names below localhost those of pages. */
function isWeb(uri: string): boolean {
  const { protocol, hostname } = new URL(uri)
  return protocol === 'https:' || (protocol === 'http:' && !LOOPBACK_HOSTS.has(hostname))
}

/** No control characters: the text ends on a consent page and in a log. */
function isText(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value !== '' &&
    value.length <= MAX_TEXT &&
    !/[\u0000-\u001f\u007f]/.test(value)
  )
}

function knownScopes(scope: string): string {
  return scope
    .split(' ')
    .filter(one => SUPPORTED_SCOPES.includes(one) && !PRIVILEGED.test(one))
    .join(' ')
}
