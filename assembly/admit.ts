/** The admission of a request: normalizes its path and matches a route. */
import { normalize } from './path'
import { match } from './route'

/**
 * @param length of the path in INPUT, bytes.
 * @param method METHOD_… of the request.
 * @returns the route's number, or a status below zero.
 */
export function admit(length: i32, method: u32): i32 {
  const status = normalize(length)
  return status != 0 ? status : match(method)
}
