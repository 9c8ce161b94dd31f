/** Refusals of calls: the table of reasons, the details of a refusal, and how one is made. */
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

/** @param rpcCode the status unless given */
function row(status: number, error: string, message: string, rpcCode = status): Row {
  return { status, error, rpcCode, message }
}

function invalidToken(message: string): Row {
  return { ...row(401, 'unauthorized', message), oauth: 'invalid_token' }
}

function forbidden(message: string): Row {
  return row(403, 'forbidden', message)
}

/** Closed and low in number: reasons are metric labels. Causes are free text for logs and never a key. */
export const REFUSALS = {
  route_not_found: row(404, 'not_found', 'This address does not exist.', METHOD_NOT_FOUND),
  method_not_allowed: row(
    405,
    'method_not_allowed',
    'This address does not support the HTTP method.',
    METHOD_NOT_FOUND,
  ),
  overloaded: row(503, 'overloaded', 'Too many requests are in flight. Try again.'),
  share_exceeded: row(
    503,
    'overloaded',
    'As many requests of your tenant or client are in flight as their share of MAX_IN_FLIGHT allows. Try again.',
  ),
  memory_limit: row(
    503,
    'overloaded',
    'The gateway holds as many bytes of requests and responses as it may (HELD_BYTES_MAX). Try again, or request less at once.',
  ),
  not_ready: row(503, 'not_ready', 'This gateway instance has no configuration yet. Try again.'),
  payload_too_large: row(413, 'payload_too_large', 'The request body is larger than this gateway accepts.'),
  unsupported_media_type: row(
    415,
    'unsupported_media_type',
    'Send the request body as application/json.',
    SERVER_ERROR,
  ),
  invalid_request: row(400, 'invalid_request', 'The request is not valid.', INVALID_REQUEST),

  token_missing: { ...row(401, 'unauthorized', 'A bearer token is required.'), oauth: '' },
  token_malformed: invalidToken('The token is not a signed JWT.'),
  token_algorithm: invalidToken('The token is signed with an algorithm that is not accepted.'),
  token_unknown_key: invalidToken(
    'The token is signed with a key that the identity provider does not publish.',
  ),
  token_signature: invalidToken('The signature of the token is not valid.'),
  token_expired: invalidToken('The token has expired.'),
  token_not_yet_valid: invalidToken('The token is not valid yet.'),
  token_claims: invalidToken('The token lacks a required claim.'),
  invalid_issuer: invalidToken('The issuer of the token is not accepted.'),
  invalid_audience: {
    ...row(401, 'invalid_audience', 'Invalid audience: the token is not meant for this gateway.'),
    oauth: 'invalid_token',
  },
  keys_unavailable: row(
    503,
    'identity_unavailable',
    'The signing keys of the identity provider are unavailable. Try again with the same token.',
  ),
  api_key_invalid: invalidToken('The API key is not known, has expired or was revoked.'),

  tenant_mismatch: forbidden('X-Tenant-ID names a different tenant than the credential.'),
  subscription_required: forbidden('The calling application needs an approved subscription to this API.'),
  subscription_suspended: forbidden('The subscription of the calling application is suspended.'),
  subscription_expired: forbidden('The subscription of the calling application has expired.'),
  tenant_suspended: row(
    403,
    'tenant_suspended',
    'This tenant is suspended: its tools and APIs cannot be called until an administrator activates it.',
  ),
  api_gone: row(
    410,
    'gone',
    'This API was shut down on the announced date. Call another version of the API.',
  ),
  key_of_other_api: forbidden('This API key is valid only for the API that it was created for.'),
  consumer_blocked: forbidden('The calling application is blocked.'),
  policy_denied: forbidden('The policy does not allow this request.'),
  insufficient_scope: {
    ...row(403, 'forbidden', 'The token lacks a scope that this request needs.'),
    oauth: 'insufficient_scope',
  },
  // not 403: no rule has denied the call, and clients repeat a 503 only (RFC 9110 §15.6.4)
  policy_unavailable: row(
    503,
    'policy_unavailable',
    'The policy could not be evaluated, so access is denied. Try again.',
  ),

  quota_exceeded: row(429, 'quota_exceeded', 'A rate limit or quota was exceeded.'),

  too_many_attempts: row(
    429,
    'too_many_attempts',
    'Too many attempts from this client address. The gateway limits failed logins, calls to unknown tools, client registrations and discovery requests. Retry later.',
  ),

  session_not_found: row(
    404,
    'session_not_found',
    'The session is not known or has ended. Initialize again.',
  ),
  sessions_unavailable: row(
    503,
    'sessions_unavailable',
    'The session store does not respond, and another gateway instance may have this session. Retry later.',
  ),
  confirmation_unsupported: forbidden(
    'The policy requires input from the client, but the gateway can request input only for tool calls.',
  ),
  confirmation_declined: forbidden('The client did not confirm the call.'),
  confirmation_pending: row(
    403,
    'confirmation_required',
    'The call is pending: the client must first respond to the questions that the gateway sent.',
  ),
  header_mismatch: row(
    400,
    'header_mismatch',
    'A request header has a different value than the argument that the header mirrors.',
    HEADER_MISMATCH,
  ),
  tool_not_found: row(404, 'tool_not_found', 'Tool not found.', INVALID_PARAMS),
  invalid_arguments: row(
    400,
    'invalid_arguments',
    'The arguments do not match the input schema.',
    INVALID_PARAMS,
  ),
  arguments_too_expensive: row(
    400,
    'arguments_too_expensive',
    'Checking the arguments against the input schema takes too long. Send fewer or shorter values, or have the owner of the tool simplify its schema.',
    INVALID_PARAMS,
  ),

  tool_execution_failed: row(
    500,
    'tool_execution_failed',
    'The backend responded with an error.',
    INTERNAL_ERROR,
  ),
  backend_unreachable: row(502, 'backend_unreachable', 'The backend cannot be reached.', INTERNAL_ERROR),
  upstream_unavailable: row(
    503,
    'backend_unreachable',
    'The backend failed several times in a row, so the gateway does not call it for a while. Retry later.',
    INTERNAL_ERROR,
  ),
  upstream_busy: row(
    503,
    'upstream_busy',
    'As many calls to the backend as may run or wait do so already. The backend was not called. Retry later.',
    INTERNAL_ERROR,
  ),
  backend_timeout: row(504, 'backend_timeout', 'The backend did not respond in time.', INTERNAL_ERROR),
  task_required: row(
    400,
    'task_required',
    'This tool runs only as a task. Call it as a task.',
    METHOD_NOT_FOUND,
  ),
  task_unsupported: row(
    400,
    'task_unsupported',
    'This tool does not run as a task. Call it without a task.',
    METHOD_NOT_FOUND,
  ),
  too_many_tasks: row(
    429,
    'too_many_tasks',
    'The caller has the maximum number of tasks. Retry when one of these tasks has expired.',
  ),
  tasks_unavailable: row(503, 'tasks_unavailable', 'The task store cannot be reached. Retry later.'),
  cancelled: row(499, 'cancelled', 'The client cancelled the call.', INTERNAL_ERROR),
  internal_error: row(500, 'internal_error', 'Internal error.', INTERNAL_ERROR),
} satisfies Record<string, Row>

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
