/** Builds Bearer challenges for the header `WWW-Authenticate`, and names the scopes that clients should request first. */

/**
 * What a client should ask for first; without it clients ask for every scope there is, admin included. Reading alone would
 * list no tool, because a list holds only what the caller may call, and the client would not learn that it can request more.
 */
export const FIRST_SCOPES: readonly string[] = ['openid', 'read', 'execute']

interface Challenge {
  /** Absolute address of the protected-resource document (RFC 9728 §5.1). */
  readonly resourceMetadataUrl: string
  /** undefined when no credential was shown (RFC 6750 §3.1 wants no error code then). */
  readonly error?: 'invalid_token' | 'insufficient_scope'
  readonly description?: string
  /** Scopes to ask for, with or without `platform:`. For `insufficient_scope`: granted ∪ required, because clients ask for exactly these. */
  readonly scopes: readonly string[]
}

/** One challenge of the Bearer scheme (RFC 6750 §3). No value can break out of its quotes. */
export function bearerChallenge({ resourceMetadataUrl, error, description, scopes }: Challenge): string {
  const parts: string[] = []
  if (error !== undefined) parts.push(`error="${error}"`)
  if (description !== undefined) parts.push(`error_description="${quotable(description)}"`)
  parts.push(`resource_metadata="${quotable(resourceMetadataUrl)}"`)
  if (scopes.length > 0) parts.push(`scope="${quotable(scopes.map(wireScope).join(' '))}"`)
  return `Bearer ${parts.join(', ')}`
}

const OIDC_SCOPES: ReadonlySet<string> = new Set(['openid', 'profile', 'email', 'offline_access'])

/** The name clients and providers know a scope by; inside the gateway the prefix is dropped. */
function wireScope(scope: string): string {
  return OIDC_SCOPES.has(scope) || scope.includes(':') ? scope : `platform:${scope}`
}

/** RFC 6750 §3: these values hold no quote and no backslash, and header values no control or non-ASCII character at all. */
function quotable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, ' ').replace(/["\\]/g, "'")
}
