/** The request for a code at an authorization server, and what the user returns with. */
import { createHash, randomBytes } from 'node:crypto'
import type { OAuthClient } from '../../../model/tool.ts'

export interface Authorization {
  /** Address of the authorization server for the browser. */
  readonly url: string
  readonly state: string
  readonly verifier: string
  /** Stands for user, ToolSet, client and authorization server. */
  readonly key: string
}

/** What a user returns with from the authorization server, and what it is compared with. */
export interface ReturnedGrant {
  readonly code: string
  /** `iss` (RFC 9207). */
  readonly issuer: string | undefined
  /** From the `Authorization`. */
  readonly verifier: string
  readonly key: string
  readonly redirectUri: string
}

/** RFC 6749 §4.1.1, with PKCE (RFC 7636). */
export function requestCode(client: OAuthClient, redirectUri: string): Omit<Authorization, 'key'> {
  const { authorizationUrl = '', clientId, scope, audience, resource } = client
  const verifier = randomBytes(32).toString('base64url')
  const state = randomBytes(18).toString('base64url')
  const url = new URL(authorizationUrl)
  const parameters = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    scope,
    audience,
    resource,
  }
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) url.searchParams.set(name, value)
  return { url: url.href, state, verifier }
}
