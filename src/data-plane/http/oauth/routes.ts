/** Routes of the OAuth endpoints and the preflight of public documents, with limits on attempts and body sizes. `router.ts` mounts them. */

import { Cancellation } from '../../../base/cancellation.ts'
import type { Call } from '../call.ts'
import type { GatewayParts } from '../gateway.ts'
import { JSON_RPC_PATHS } from '../mcp/paths.ts'
import type { OAuthFront } from './front.ts'
import { DOCUMENT_PREFLIGHT } from './metadata.ts'
import { type OAuthResponse, oauthError } from './oauth-response.ts'
import { MAX_REGISTRATION_BYTES } from './register-proxy.ts'
import { MAX_TOKEN_FORM_BYTES, type TokenRequest } from './token-proxy.ts'

const PROTECTED_RESOURCE = '/.well-known/oauth-protected-resource'

type OAuthParts = Pick<GatewayParts, 'attempts' | 'registrations' | 'recordOAuth'>

interface OAuthRoute {
  readonly method: 'GET' | 'POST'
  readonly pattern: string
  readonly endpoint: (call: Call) => void
}

/** True for the documents: their preflight is open to every origin. */
export function isPublicDocument(path: string): boolean {
  return path.startsWith('/.well-known/')
}

export function documentPreflight(call: Call): void {
  call.sendWithOwnCors(DOCUMENT_PREFLIGHT.status, DOCUMENT_PREFLIGHT.body, DOCUMENT_PREFLIGHT.headers)
}

/** `attempts` counts each request that anyone may repeat without a credential, and each failed login. */
export function oauthRoutes(front: OAuthFront, parts: OAuthParts): readonly OAuthRoute[] {
  const { attempts } = parts
  const onAttempt = (call: Call): void => attempts.count(call)
  const document = (
    pattern: string,
    respond: (call: Call) => OAuthResponse | Promise<OAuthResponse>,
  ): OAuthRoute => ({
    method: 'GET',
    pattern,
    async endpoint(call) {
      onAttempt(call)
      const { status, body, headers } = await respond(call)
      call.sendWithOwnCors(status, body, headers)
    },
  })
  // of a public address with a path, clients derive addresses with that path behind the well-known name (RFC 8414 §3.1, RFC 9728 §3.1)
  const documents = [...new Set(['', front.pathPrefix])].flatMap(prefix => [
    ...['', '/', ...JSON_RPC_PATHS].map(pattern =>
      document(
        `${PROTECTED_RESOURCE}${prefix}${pattern}`,
        ({ request }) =>
          front.protectedResource(request.path.slice(PROTECTED_RESOURCE.length + prefix.length)) ??
          oauthError(404, 'invalid_request', 'No protected resource has this address.'),
      ),
    ),
    document(`/.well-known/oauth-authorization-server${prefix}`, () => front.authorizationServer()),
    document(`/.well-known/openid-configuration${prefix}`, () => front.openidConfiguration()),
  ])
  return [
    ...documents,
    {
      method: 'POST',
      pattern: '/oauth/token',
      endpoint: forwardForm(request => front.token(request), parts),
    },
    {
      method: 'POST',
      pattern: '/oauth/revoke',
      endpoint: forwardForm(request => front.revoke(request), parts),
    },
    {
      method: 'POST',
      pattern: '/oauth/register',
      endpoint: call => register(front, call, parts),
    },
  ]
}

function forwardForm(
  forward: (request: TokenRequest) => Promise<OAuthResponse>,
  parts: OAuthParts,
): (call: Call) => void {
  return call => {
    const cancellation = new Cancellation()
    call.response.onAbort(() => cancellation.cancel())
    const contentType = call.request.header('content-type')
    const { authorization } = call
    readBounded(call, MAX_TOKEN_FORM_BYTES, parts, async body => {
      const response = await forward({ contentType, authorization, body, cancellation })
      if (response.status >= 400 && response.status < 500) parts.attempts.count(call)
      return response
    })
  }
}

function register(front: OAuthFront, call: Call, parts: OAuthParts): void {
  const refusal = parts.registrations.take(call)
  if (refusal !== undefined) {
    const { status, body, headers } = tooManyRegistrations(refusal.retryAfterSecs ?? 1)
    return call.respondAs(status, body, headers)
  }
  parts.attempts.count(call)
  const contentType = call.request.header('content-type')
  readBounded(call, MAX_REGISTRATION_BYTES, parts, body => front.register(contentType, body))
}

function tooManyRegistrations(retryAfterSecs: number): OAuthResponse {
  const message = 'Too many clients were registered from this IP address. Retry later.'
  const { status, body, headers } = oauthError(429, 'temporarily_unavailable', message)
  return { status, body, headers: [...headers, 'retry-after', String(retryAfterSecs)] }
}

function readBounded(
  call: Call,
  maxBytes: number,
  { recordOAuth }: OAuthParts,
  respond: (body: Uint8Array) => Promise<OAuthResponse>,
): void {
  call.request.readBody(
    maxBytes,
    bytes =>
      void respond(bytes).then(response => {
        recordOAuth(call, response)
        call.respondAs(response.status, response.body, response.headers)
      }),
    () =>
      call.respond(413, {
        error: 'invalid_request',
        error_description: `The body is larger than ${maxBytes} bytes.`,
      }),
  )
}
