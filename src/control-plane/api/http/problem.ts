/** Errors of the control plane: code, HTTP status, body and headers, and the conversion of other errors. */

import { StoreUnavailable } from '../../store/store.ts'

/**
 * The codes up to `internal_error` are specified, except `tenant_suspended`; the others are HTTP statuses missing there (RFC 9110 §15.5.6,
 * §15.5.13, §15.5.14, §15.5.16, §15.6.4).
 */
const STATUS = {
  validation_error: 400,
  unauthorized: 401,
  forbidden: 403,
  tenant_suspended: 403,
  not_found: 404,
  conflict: 409,
  rate_limited: 429,
  internal_error: 500,
  method_not_allowed: 405,
  precondition_failed: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  unavailable: 503,
} as const

type ProblemCode = keyof typeof STATUS

export const PROBLEM_CODES = Object.keys(STATUS) as readonly ProblemCode[]

/** The codes that go with an HTTP status; the first is the usual one. */
export function codesOf(status: number): readonly ProblemCode[] {
  return PROBLEM_CODES.filter(code => STATUS[code] === status)
}

/** One invalid field: its path such as `rate_limit.requests_per_hour`, and the reason. */
export interface FieldFault {
  readonly field: string
  readonly message: string
}

type Headers = readonly (readonly [name: string, value: string])[]

/** Thrown to refuse a request: the transaction is rolled back, and the problem becomes the response. */
export class Problem extends Error {
  readonly code: ProblemCode
  readonly details: readonly FieldFault[]
  readonly headers: Headers

  constructor(
    code: ProblemCode,
    message: string,
    details: readonly FieldFault[] = [],
    headers: Headers = [],
  ) {
    super(message)
    this.name = 'Problem'
    this.code = code
    this.details = details
    this.headers = headers
  }

  get status(): number {
    return STATUS[this.code]
  }

  body(): { error: { code: ProblemCode; message: string; details: readonly FieldFault[] } } {
    return { error: { code: this.code, message: this.message, details: this.details } }
  }
}

export function invalid(details: readonly FieldFault[]): Problem {
  const fields = details.map(fault => fault.field).join(', ')
  return new Problem('validation_error', `The request is not valid. Check these fields: ${fields}.`, details)
}

export function invalidField(field: string, message: string): Problem {
  return invalid([{ field, message }])
}

/** @param resource such as `API`; the id is not repeated, since a caller may send any text */
export function notFound(resource: string): Problem {
  return new Problem('not_found', `The ${resource} does not exist.`)
}

/** The value that a query found. @throws Problem not_found when it found none */
export function requireFound<T>(value: T | undefined, resource: string): T {
  if (value === undefined) throw notFound(resource)
  return value
}

export function conflict(message: string, details: readonly FieldFault[] = []): Problem {
  return new Problem('conflict', message, details)
}

/** The request is valid and may be repeated after `retryAfterSecs` (RFC 9110 §10.2.3). */
export function unavailable(message: string, retryAfterSecs: number): Problem {
  return new Problem('unavailable', message, [], [['retry-after', String(retryAfterSecs)]])
}

/** The problem of any error; the caller never sees the message of an unexpected one. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (error instanceof StoreUnavailable) {
    return unavailable('The database is unavailable. Repeat the request later.', error.retryAfterSecs)
  }
  return new Problem('internal_error', 'Internal error.')
}
