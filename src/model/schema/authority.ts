/** The authorities that change fields of resources, and where schemas declare them. */

/**
 * `member`: a caller that may write in the tenant. `owner`: the application that the resource belongs to. `tenant-admin`: an administrator of
 * the tenant. `operator`: the platform. Each may also do what those before it may.
 */
export type Authority = 'member' | 'owner' | 'tenant-admin' | 'operator'

/** A resource whose table lacks a field does not compile. */
export type Authorities<Fields> = { readonly [Field in keyof Fields]: Authority }

/** Extension of an object schema with a table; the served document has the authority at each field in its place. */
export const AUTHORITIES = 'x-authorities'
export const AUTHORITY = 'x-authority'

/** @returns metadata for `.openapi()` of an object schema with these fields, or with some of them */
export function changedBy<Fields>(authorities: Authorities<Fields>): {
  readonly [AUTHORITIES]: Authorities<Fields>
} {
  return { [AUTHORITIES]: authorities }
}
