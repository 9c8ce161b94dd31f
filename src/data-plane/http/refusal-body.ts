/** Renders refusals for REST, JSON-RPC and tool results: bodies, headers and statuses. */
import type { Refusal, RefusalReason } from '../../model/refusal.ts'
import { bearerChallenge, FIRST_SCOPES } from './oauth/challenge.ts'

/** Where the challenge points: the protected-resource document of the endpoint that refused (RFC 9728 §5.1). */
interface ChallengeContext {
  readonly resourceMetadataUrl: string
}

/** `{error, message, request_id}` and what the kind of refusal adds (docs/reference/http.md, Refusal bodies). */
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
    ...(refusal.policyRevision === undefined ? undefined : { policy_revision: refusal.policyRevision }),
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

function challenge(refusal: Refusal, { resourceMetadataUrl }: ChallengeContext): string {
  if (refusal.row.oauth === 'insufficient_scope') {
    return bearerChallenge({ resourceMetadataUrl, error: 'insufficient_scope', scopes: refusal.scopes ?? [] })
  }
  const shown =
    refusal.row.oauth === 'invalid_token'
      ? ({ error: 'invalid_token', description: refusal.message } as const)
      : {}
  return bearerChallenge({ resourceMetadataUrl, ...shown, scopes: FIRST_SCOPES })
}

/** The `error` member of a JSON-RPC response; `data` is the REST body. */
export function rpcError(
  refusal: Refusal,
  requestId: string,
): { code: number; message: string; data: object } {
  return { code: refusal.row.rpcCode, message: refusal.message, data: restBody(refusal, requestId) }
}

/** Key in `_meta` of a refused tool call; its value is the REST body. */
export const ERROR_META_KEY = 'toolgate.dev/error'

/** A load balancer must see these, and nothing has been dispatched yet. */
const BEFORE_DISPATCH: ReadonlySet<RefusalReason> = new Set([
  'not_ready',
  'keys_unavailable',
  'sessions_unavailable',
])

/** True where the client or a load balancer must act on the HTTP status: log in, ask for a scope, initialize again, go to another instance. */
function keepsStatus({ row, reason }: Refusal): boolean {
  return row.oauth !== undefined || reason === 'session_not_found' || BEFORE_DISPATCH.has(reason)
}

/**
 * HTTP status of a JSON-RPC error. All but a few go with 200: several clients end the whole session when a POST gets another status.
 */
export function rpcStatus(refusal: Refusal): number {
  return keepsStatus(refusal) ? refusal.row.status : 200
}

/**
 * True when a refused `tools/call` is a result with `isError: true` (MCP, tools, "Error Handling"), so that the model reads why its
 * call did not run, and the session continues: quota, policy, overload and unavailable parts.
 */
export function isToolError(refusal: Refusal): boolean {
  const { status } = refusal.row
  return !keepsStatus(refusal) && (status === 403 || status === 410 || status === 429 || status === 503)
}
