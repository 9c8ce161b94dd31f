/** Refused requests of the control plane: code, HTTP status and body exactly as specified ("Errors, Control plane API"). It refuses nothing itself. */

import { StoreUnavailable } from '../../store/store.ts'

/**
 * The first seven are the specification's. The others are statuses of HTTP that its table leaves out: RFC 9110 §15.5.6 (405),
 * §13.1.1 (412), §15.5.14 (413), §15.5.16 (415), §15.6.4 (503).
 */
const STATUS = {
  validation_error: 400,
  unauthorized: 401,
  forbidden: 403,
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

export type ProblemCode = keyof typeof STATUS

/** One bad field: its path such as `rate_limit.requests_per_hour`, and what is wrong with it. */
export interface FieldFault {
  readonly field: string
  readonly message: string
}

/** Thrown by whatever refuses a request; rolls the transaction back and becomes the answer. */
export class Problem extends Error {
  readonly code: ProblemCode
  readonly details: readonly FieldFault[]
  /** Flat: name, value … */
  readonly headers: readonly (readonly [string, string])[]

  constructor(
    code: ProblemCode,
    message: string,
    details: readonly FieldFault[] = [],
    headers: readonly (readonly [string, string])[] = [],
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
  return new Problem('validation_error', `The request is not valid: see ${fields}.`, details)
}

/** `what` in words, such as `API`; the id is not repeated, since it may be anything a caller sent. */
export function notFound(what: string): Problem {
  return new Problem('not_found', `There is no such ${what}.`)
}

export function conflict(message: string, details: readonly FieldFault[] = []): Problem {
  return new Problem('conflict', message, details)
}

/** The request is good, and may be repeated after `retryAfterSecs` (RFC 9110 §10.2.3). */
export function unavailable(message: string, retryAfterSecs: number): Problem {
  return new Problem('unavailable', message, [], [['retry-after', String(retryAfterSecs)]])
}

/** What a failed request is refused with; what failed inside is not shown to the caller. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (error instanceof StoreUnavailable) {
    return unavailable('The database is unavailable. Repeat the request later.', error.retryAfterSecs)
  }
  return new Problem('internal_error', 'Internal error.')
}
