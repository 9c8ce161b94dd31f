/** The admission of a request: normalizes its path, matches a route and takes a token if the route has a bucket. It reads no clock. */
import { BUCKET_EMPTY, RESULT_RETRY_AFTER } from './abi'
import { spend, waitMs } from './bucket'
import { arena } from './memory'
import { normalize } from './path'
import { match, routeBucket } from './route'

/**
 * @param length of the path in INPUT, bytes.
 * @param method METHOD_… of the request.
 * @param nowMs Unix milliseconds.
 * @returns the route's number, or a status below zero.
 */
export function admit(length: i32, method: u32, nowMs: f64): i32 {
  const status = normalize(length)
  if (status != 0) return status
  const route = match(method)
  if (route < 0 || routeBucket < 0) return route
  const short = spend(routeBucket, 1, nowMs)
  if (short == 0) return route
  store<i32>(arena + RESULT_RETRY_AFTER, waitMs(short))
  return BUCKET_EMPTY
}
