/** What an endpoint is: declared once, it gives routing, authorization, validation and the OpenAPI document. It runs nothing. */
import type { z } from 'zod'
import type { Principal } from '../../../model/principal.ts'
import type { Tenant } from '../../../model/tenant.ts'
import type { Transaction } from '../../store/store.ts'
import type { Services } from '../services.ts'

/** One call of an endpoint, authenticated, authorized and validated, inside its transaction. */
export interface Call<Query, Body> {
  readonly tx: Transaction
  /** As in the path, decoded; each may be any text. */
  readonly params: { readonly [name: string]: string }
  readonly query: Query
  readonly body: Body
  readonly principal: Principal
  /** The tenant of the path or, where the path names none, the one the caller acts in; undefined = all of them. */
  readonly tenant: Tenant | undefined
  /** Set where the endpoint is `narrowable`: only what belongs to this application may be shown. */
  readonly onlyApplication: string | undefined
  /** '' when absent. */
  readonly ifMatch: string
  readonly services: Services
}

export interface EndpointResult {
  readonly status: 200 | 201 | 202 | 204
  readonly body?: unknown
  /** Revision of the thing; becomes the ETag. */
  readonly revision?: number
  /** Path below `/v1` of what was created. */
  readonly location?: string
  /** The body shows a key: it is sealed before it is remembered for `Idempotency-Key`. */
  readonly secret?: boolean
}

/**
 * Whose things the endpoint is about, and so which rows its transaction may see:
 * `path`: those of `{tenant_id}`; `caller`: those of the caller's tenant, or of all for who may act across tenants;
 * `platform`: those that belong to no tenant.
 */
export type Reach = 'path' | 'caller' | 'platform'

/** What the policy has to know beyond the path, found in the transaction before it is asked. */
export interface Subject {
  /** Name of the tenant it belongs to; null = everybody's. Absent: as the reach says. */
  readonly tenant?: string | null
  /** It belongs to the caller's own application. */
  readonly own?: boolean
}

/** What is known before the policy has been asked. */
export interface SubjectQuestion
  extends Pick<Call<unknown, unknown>, 'tx' | 'params' | 'principal' | 'tenant'> {
  /** The caller may act for every tenant. */
  readonly crossesTenants: boolean
  /** Parsed but not validated; undefined when there is none. */
  readonly rawBody: unknown
}

export interface EndpointShape<Query, Body> {
  readonly method: 'get' | 'post' | 'patch' | 'delete'
  /** Below `/v1`, with `{name}` for parameters (OpenAPI 3.1 §4.8.8). */
  readonly path: string
  readonly tag: string
  /** Unique; `operationId` of the document. */
  readonly id: string
  readonly summary: string
  /** `control.<resource>.<verb>`: what the policy is asked. */
  readonly action: string
  readonly reach: Reach
  readonly query?: z.ZodType<Query>
  readonly body?: z.ZodType<Body>
  /** True: a call without a body is fine, and validated as `{}`. */
  readonly bodyOptional?: boolean
  /** Fields of the resource that a body must not set, for the message that says so. */
  readonly readOnly?: readonly string[]
  readonly success: {
    readonly status: EndpointResult['status']
    readonly description: string
    readonly schema?: z.ZodType
  }
  /** POST only: false where repeating a call is harmless or pointless. */
  readonly idempotencyKey?: boolean
  /** The thing has an ETag, and the endpoint heeds `If-Match`. */
  readonly preconditions?: boolean
  /** A list that a caller who may not see all of it gets reduced to what belongs to its own application. */
  readonly narrowable?: boolean
  subject?(question: SubjectQuestion): Promise<Subject>
  run(call: Call<Query, Body>): Promise<EndpointResult>
}

/** An endpoint whose types have been checked at its declaration and are not needed any more. */
export type Endpoint = EndpointShape<unknown, unknown>

/** Declares an endpoint: `query` and `body` of the call get their types from the schemas. */
export function endpoint<Query = Record<string, never>, Body = Record<string, never>>(
  shape: EndpointShape<Query, Body>,
): Endpoint {
  return shape as unknown as Endpoint
}
