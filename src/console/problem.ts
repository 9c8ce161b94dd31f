/** Errors of the server side of console and portal, in the form of the control plane, and the headers of private responses. */

const STATUS = {
  invalid_request: 400,
  signed_out: 401,
  foreign_page: 403,
  not_found: 404,
  method_not_allowed: 405,
  unavailable: 502,
  sessions_unavailable: 503,
} as const

/** Headers of every response that depends on the caller. */
export const PRIVATE = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const

export function problem(code: keyof typeof STATUS, message: string): Response {
  return Response.json({ error: { code, message, details: [] } }, { status: STATUS[code], headers: PRIVATE })
}
