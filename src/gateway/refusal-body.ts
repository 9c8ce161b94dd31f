/** Renders refusals: REST body, headers, JSON-RPC error. The only place where a refusal gets its form on the wire. */
import type { Refusal } from '../pipeline/refusal.ts'

/** Where the challenge points: the protected-resource document of the endpoint that refused (RFC 9728 §5.1). */
export interface ChallengeContext {
  readonly resourceMetadataUrl: string
}

/** Scopes a client should ask for first; without them clients ask for everything, admin included (mcp-wire §3). */
const FIRST_SCOPES = 'openid platform:read platform:execute'

/** `{error, message, request_id}` and what the kind of refusal adds (contract §3); the 429 body is the specification's own. */
export function restBody(refusal: Refusal, requestId: string): object {
  if (refusal.reason === 'quota_exceeded') {
    return {
      error: refusal.row.error,
      message: refusal.message,
      retry_after_secs: refusal.retryAfterSecsInBody ?? null,
    }
  }
  return {
    error: refusal.row.error,
    message: refusal.message,
    request_id: requestId,
    ...(refusal.reasons === undefined ? undefined : { reasons: refusal.reasons }),
    ...(refusal.decisionId === undefined ? undefined : { decision_id: refusal.decisionId }),
  }
}

/** Flat header list: challenge, Retry-After, and what the stage added. */
export function refusalHeaders(refusal: Refusal, context: ChallengeContext): string[] {
  const headers: string[] = []
  if (refusal.row.oauth !== undefined) headers.push('www-authenticate', challenge(refusal, context))
  if (refusal.retryAfterSecs !== undefined) headers.push('retry-after', String(refusal.retryAfterSecs))
  for (const [name, value] of Object.entries(refusal.headers ?? {})) headers.push(name, value)
  return headers
}

/** RFC 6750 §3 and RFC 9728 §5.1. */
function challenge(refusal: Refusal, context: ChallengeContext): string {
  const parts = [`resource_metadata="${context.resourceMetadataUrl}"`]
  if (refusal.row.oauth === 'insufficient_scope') {
    const scopes = (refusal.scopes ?? []).map(scope =>
      OPENID_SCOPES.has(scope) ? scope : `platform:${scope}`,
    )
    parts.unshift('error="insufficient_scope"')
    parts.push(`scope="${scopes.join(' ')}"`)
  } else {
    if (refusal.row.oauth === 'invalid_token')
      parts.unshift('error="invalid_token"', `error_description="${refusal.message}"`)
    parts.push(`scope="${FIRST_SCOPES}"`)
  }
  return `Bearer ${parts.join(', ')}`
}

const OPENID_SCOPES: ReadonlySet<string> = new Set(['openid', 'profile', 'email', 'offline_access'])

/** The `error` member of a JSON-RPC response; `data` is the REST body. */
export function rpcError(
  refusal: Refusal,
  requestId: string,
): { code: number; message: string; data: object } {
  return { code: refusal.row.rpcCode, message: refusal.message, data: restBody(refusal, requestId) }
}

/** Refusals of authentication, policy, quota and session keep their HTTP status; all other JSON-RPC errors go with 200 (mcp-wire §2). */
export function rpcStatus(refusal: Refusal): number {
  const { status } = refusal.row
  const kept =
    status === 401 ||
    status === 403 ||
    status === 429 ||
    status === 503 ||
    refusal.reason === 'session_not_found'
  return kept ? status : 200
}
