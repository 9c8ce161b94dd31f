/** The one table of refusals: reason → HTTP status, JSON-RPC code, OAuth error. It renders nothing: `data-plane/http` does. */
import {
  HEADER_MISMATCH,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  METHOD_NOT_FOUND,
  SERVER_ERROR,
} from './rpc-errors.ts'

interface Row {
  /** `error` of the REST body (docs/reference/http.md, Status per refusal reason). */
  readonly error: string
  readonly status: number
  /** JSON-RPC code; positive codes are ours, outside the range the standard reserves. */
  readonly rpcCode: number
  readonly message: string
  /** `error` parameter of the `WWW-Authenticate` challenge (RFC 6750 §3.1); '' = challenge without it (§3, no credential shown). */
  readonly oauth?: 'invalid_token' | 'insufficient_scope' | ''
}

/** Closed and low in number: reasons are metric labels. Causes are free text for logs and never a key. */
export const REFUSALS = {
  route_not_found: {
    error: 'not_found',
    status: 404,
    rpcCode: METHOD_NOT_FOUND,
    message: 'No such address.',
  },
  method_not_allowed: {
    error: 'method_not_allowed',
    status: 405,
    rpcCode: METHOD_NOT_FOUND,
    message: 'This address does not support the method.',
  },
  overloaded: {
    error: 'overloaded',
    status: 503,
    rpcCode: 503,
    message: 'Too many requests are in flight. Try again.',
  },
  draining: {
    error: 'draining',
    status: 503,
    rpcCode: 503,
    message: 'This instance is shutting down. Try again.',
  },
  not_ready: {
    error: 'not_ready',
    status: 503,
    rpcCode: 503,
    message: 'This instance has no configuration yet. Try again.',
  },
  payload_too_large: {
    error: 'payload_too_large',
    status: 413,
    rpcCode: 413,
    message: 'The body is larger than this gateway accepts.',
  },
  unsupported_media_type: {
    error: 'unsupported_media_type',
    status: 415,
    rpcCode: SERVER_ERROR,
    message: 'Send the body as application/json.',
  },
  invalid_request: {
    error: 'invalid_request',
    status: 400,
    rpcCode: INVALID_REQUEST,
    message: 'The request is not valid.',
  },

  token_missing: {
    error: 'unauthorized',
    status: 401,
    rpcCode: 401,
    oauth: '',
    message: 'A bearer token is needed.',
  },
  token_malformed: {
    error: 'unauthorized',
    status: 401,
    rpcCode: 401,
    oauth: 'invalid_token',
    message: 'The token is not a signed JWT.',
  },
  token_algorithm: {
    error: 'unauthorized',
    status: 401,
    rpcCode: 401,
    oauth: 'invalid_token',
    message: 'The token is signed with an algorithm that is not accepted.',
  },
  token_unknown_key: {
    error: 'unauthorized',
    status: 401,
    rpcCode: 401,
    oauth: 'invalid_token',
    message: 'The token is signed with a key the identity provider does not publish.',
  },
  token_signature: {
    error: 'unauthorized',
    status: 401,
    rpcCode: 401,
    oauth: 'invalid_token',
    message: 'The signature of the token is not valid.',
  },
  token_expired: {
    error: 'unauthorized',
    status: 401,
    rpcCode: 401,
    oauth: 'invalid_token',
    message: 'The token has expired.',
  },
  token_not_yet_valid: {
    error: 'unauthorized',
    status: 401,
    rpcCode: 401,
    oauth: 'invalid_token',
    message: 'The token is not valid yet.',
  },
  token_claims: {
    error: 'unauthorized',
    status: 401,
    rpcCode: 401,
    oauth: 'invalid_token',
    message: 'The token lacks a claim it must have.',
  },
  invalid_issuer: {
    error: 'unauthorized',
    status: 401,
    rpcCode: 401,
    oauth: 'invalid_token',
    message: 'The token comes from an issuer that is not accepted.',
  },
  invalid_audience: {
    error: 'invalid_audience',
    status: 401,
    rpcCode: 401,
    oauth: 'invalid_token',
    message: 'Invalid audience: the token is not meant for this gateway.',
  },
  keys_unavailable: {
    error: 'identity_unavailable',
    status: 503,
    rpcCode: 503,
    message: 'The signing keys of the identity provider are unavailable. Keep the token and try again.',
  },
  api_key_invalid: {
    error: 'unauthorized',
    status: 401,
    rpcCode: 401,
    oauth: 'invalid_token',
    message: 'The API key is not known, has expired or was revoked.',
  },

  tenant_mismatch: {
    error: 'forbidden',
    status: 403,
    rpcCode: 403,
    message: 'X-Tenant-ID names another tenant than the credential.',
  },
  subscription_required: {
    error: 'forbidden',
    status: 403,
    rpcCode: 403,
    message: 'This API needs an approved subscription of the calling application.',
  },
  consumer_blocked: { error: 'forbidden', status: 403, rpcCode: 403, message: 'This consumer is blocked.' },
  policy_denied: {
    error: 'forbidden',
    status: 403,
    rpcCode: 403,
    message: 'The policy does not allow this.',
  },
  insufficient_scope: {
    error: 'forbidden',
    status: 403,
    rpcCode: 403,
    oauth: 'insufficient_scope',
    message: 'The token lacks a scope that this needs.',
  },
  // not 403: no rule has denied the call, and clients repeat a 503 only (RFC 9110 §15.6.4)
  policy_unavailable: {
    error: 'policy_unavailable',
    status: 503,
    rpcCode: 503,
    message: 'The policy could not be evaluated, so access is denied. Try again.',
  },

  quota_exceeded: { error: 'quota_exceeded', status: 429, rpcCode: 429, message: 'A limit was exceeded.' },

  too_many_attempts: {
    error: 'too_many_attempts',
    status: 429,
    rpcCode: 429,
    message:
      'Too many attempts from this address: failed logins, unknown tools, registrations and discovery requests are limited. Retry later.',
  },

  session_not_found: {
    error: 'session_not_found',
    status: 404,
    rpcCode: 404,
    message: 'The session is not known or has ended. Initialize again.',
  },
  confirmation_unsupported: {
    error: 'forbidden',
    status: 403,
    rpcCode: 403,
    message:
      'The policy requires input from the client before this call, and this client does not support it.',
  },
  confirmation_declined: {
    error: 'forbidden',
    status: 403,
    rpcCode: 403,
    message: 'The call was not confirmed.',
  },
  confirmation_pending: {
    error: 'confirmation_required',
    status: 403,
    rpcCode: 403,
    message: 'The call is pending: the client must respond to the questions first.',
  },
  header_mismatch: {
    error: 'header_mismatch',
    status: 400,
    rpcCode: HEADER_MISMATCH,
    message: 'A header differs from the argument it mirrors.',
  },
  tool_not_found: {
    error: 'tool_not_found',
    status: 404,
    rpcCode: INVALID_PARAMS,
    message: 'Tool not found.',
  },
  invalid_arguments: {
    error: 'invalid_arguments',
    status: 400,
    rpcCode: INVALID_PARAMS,
    message: 'The arguments do not match the input schema.',
  },

  tool_execution_failed: {
    error: 'tool_execution_failed',
    status: 500,
    rpcCode: INTERNAL_ERROR,
    message: 'The backend responded with an error.',
  },
  backend_unreachable: {
    error: 'backend_unreachable',
    status: 502,
    rpcCode: INTERNAL_ERROR,
    message: 'The backend cannot be reached.',
  },
  upstream_unavailable: {
    error: 'backend_unreachable',
    status: 503,
    rpcCode: INTERNAL_ERROR,
    message: 'The backend failed several times in a row and is not called for a while. Retry later.',
  },
  backend_timeout: {
    error: 'backend_timeout',
    status: 504,
    rpcCode: INTERNAL_ERROR,
    message: 'The backend did not respond in time.',
  },
  cancelled: {
    error: 'cancelled',
    status: 499,
    rpcCode: INTERNAL_ERROR,
    message: 'The client cancelled the call.',
  },
  internal_error: {
    error: 'internal_error',
    status: 500,
    rpcCode: INTERNAL_ERROR,
    message: 'Internal error.',
  },
} as const satisfies Record<string, Row>

export type RefusalReason = keyof typeof REFUSALS

/** One reason of a policy denial; `code` comes from the rule's METADATA, `scopes` says which scopes would have sufficed. */
export interface DenialReason {
  readonly code: string
  readonly message: string
  readonly scopes?: readonly string[]
}

/** Details beside the row: optional, and safe to show to the caller. */
interface RefusalDetail {
  readonly message?: string
  readonly reasons?: readonly DenialReason[]
  readonly decisionId?: string
  /** Revision of the policy that denied. */
  readonly policyRevision?: string
  /** Scopes that would be enough: granted ∪ required (docs/reference/http.md). */
  readonly scopes?: readonly string[]
  /** Client capabilities (MCP) the call would need. */
  readonly requiredCapabilities?: readonly string[]
  /** Seconds for the `Retry-After` header. */
  readonly retryAfterSecs?: number
  /** `retry_after_secs` of the 429 body: null for daily and monthly refusals. */
  readonly retryAfterSecsInBody?: number | null
  /** Extra response headers, lower case names. */
  readonly headers?: { readonly [name: string]: string }
}

export interface Refusal extends RefusalDetail {
  readonly kind: 'refusal'
  readonly reason: RefusalReason
  readonly row: Row
  readonly message: string
}

/** A frozen refusal; without detail the same object each time, so that common ones cost nothing. */
export function refuse(reason: RefusalReason, detail?: RefusalDetail): Refusal {
  if (detail === undefined) return BARE[reason]
  const row = REFUSALS[reason]
  return Object.freeze({ kind: 'refusal', reason, row, ...detail, message: detail.message ?? row.message })
}

const BARE = Object.fromEntries(
  Object.entries(REFUSALS).map(([reason, row]) => [
    reason,
    Object.freeze({ kind: 'refusal', reason, row, message: row.message }),
  ]),
) as Record<RefusalReason, Refusal>
