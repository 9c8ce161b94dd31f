/** The form of request ids that callers may send in X-Request-ID. */

export const MAX_REQUEST_ID = 128
const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/

export function isRequestId(text: string): boolean {
  return REQUEST_ID.test(text)
}
