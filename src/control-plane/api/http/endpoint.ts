/** The declaration of an endpoint, and the types of its call and result. `mount.ts` runs endpoints. */

import type { Principal } from '../../../model/principal.ts'
import type { z } from '../../../model/schema/zod.ts'
import type { Tenant } from '../../../model/tenant.ts'
import type { ActionRecord } from '../../store/audited.ts'
import type { Transaction } from '../../store/store.ts'
import type { Services } from '../services.ts'

/** One call of an endpoint, authenticated, authorized and validated, inside its transaction. */
export interface EndpointCall<Query, Body> {
  readonly tx: Transaction
  /** Path parameters, decoded but not validated. */
  readonly params: { readonly [name: string]: string }
  readonly query: Query
  readonly body: Body
  readonly principal: Principal
  /** The tenant of the path or, where the path names none, the one the caller acts in; undefined = all of them. */
  readonly tenant: Tenant | undefined
  /** The caller's tenant, where the path names another one and the caller may not act for every tenant. */
  readonly guest: Tenant | undefined
  /** Set by a `narrowable` endpoint when the policy does not allow the whole list: the response must be limited to this application. */
  readonly onlyApplication: string | undefined
  /** '' when absent. */
  readonly ifMatch: string
  readonly services: Services
  /**
   * Asks the policy about a further action that the call includes.
   * @param tenant name of the owner; null = the resource belongs to no tenant
   * @throws Problem forbidden, unavailable
   */
  readonly authorize: (action: string, tenant: string | null) => Promise<void>
}

/** The status is the one that the endpoint declares; 200 with `text`, 204 without a body. */
export interface EndpointResult {
  readonly body?: unknown
  /** Instead of `body`, as it is sent. */
  readonly text?: string
  readonly contentType?: string
  /** Revision of the resource; becomes the ETag. */
  readonly revision?: number | string
  /** Path below `/v1` of the created resource. */
  readonly location?: string
  /** The body contains a key: it is encrypted before it is stored for `Idempotency-Key`. */
  readonly secret?: boolean
  /** What the audit records about an action that changes no resource of the database. */
  readonly recorded?: ActionRecord
  /** Makes the body when the transaction has ended, because it takes long. */
  readonly afterwards?: () => Promise<unknown>
  /** The transaction is rolled back after the work is done. */
  readonly dryRun?: boolean
}

/** Media type of `lines`. */
export const NDJSON = 'application/x-ndjson'

export type SuccessStatus = 200 | 201 | 202 | 204

/**
 * Which rows the transaction of an endpoint may see. `path`: those of `{tenant_id}`; `caller`: those of the caller's tenant, or of all
 * tenants for a caller who may cross tenants; `platform`: those that belong to no tenant.
 */
type Reach = 'path' | 'caller' | 'platform'

/** Policy input beyond the path, read in the transaction before the policy decides. */
export interface Subject {
  /** Name of the owning tenant; null = the resource belongs to no tenant. Absent: as the reach says. */
  readonly tenant?: string | null
  /** The resource belongs to the caller's application. */
  readonly own?: boolean
}

/** The part of a call that is known before authorization. */
export interface SubjectQuestion
  extends Pick<EndpointCall<unknown, unknown>, 'tx' | 'params' | 'principal' | 'tenant' | 'guest'> {
  /** The caller may act for every tenant. */
  readonly crossesTenants: boolean
  /** Parsed but not validated; undefined without a body, or with one that is not valid JSON. */
  readonly rawBody: unknown
}

export type EndpointMethod = 'get' | 'post' | 'patch' | 'delete'

interface EndpointDeclaration<Query, Body> {
  readonly summary: string
  /** `control.<resource>.<verb>`: the action of the policy input. */
  readonly action: string
  /** A further action that the policy is asked about when the call changes fields that decide about other callers. */
  readonly governs?: string
  /** Absent: `path`, for which the path must have `{tenant_id}`. */
  readonly reach?: Exclude<Reach, 'path'>
  readonly query?: z.ZodType<Query>
  readonly body?: z.ZodType<Body>
  /** True: a call without a body is valid, and validated as `{}`. */
  readonly bodyOptional?: boolean
  /** Fields of the resource for which the error message is `is read-only.`; those that the body schema has are ignored. */
  readonly readOnly?: readonly string[]
  readonly success: {
    /** Absent: 201 for POST, 204 for DELETE, otherwise 200. */
    readonly status?: SuccessStatus
    readonly description: string
    readonly schema?: z.ZodType
    /** Absent: JSON. */
    readonly mediaType?: typeof NDJSON
  }
  /** The call concerns many resources: its body may be larger and its transaction longer. */
  readonly bulk?: boolean
  /** POST only: false where repeating a call is harmless or pointless. */
  readonly idempotencyKey?: boolean
  /** The resource has an ETag, and the endpoint evaluates `If-Match`. */
  readonly preconditions?: boolean
  /** False: its changes are those of a machine, such as a report, and are not recorded for the audit. */
  readonly audited?: false
  /** True: it is for visitors. Tokens are not read, requests are limited for each address, and responses may be cached. */
  readonly visitors?: true
  /** A list that is limited to the caller's application when the policy does not allow all of it. */
  readonly narrowable?: boolean
  subject?(question: SubjectQuestion): Promise<Subject>
  run(call: EndpointCall<Query, Body>): Promise<EndpointResult> | Promise<void>
}

/** A declared endpoint with its defaults filled in; the types of query and body were checked at the declaration. */
export interface Endpoint extends Omit<EndpointDeclaration<unknown, unknown>, 'reach'> {
  readonly method: EndpointMethod
  /** Below `/v1`, with `{name}` for parameters (OpenAPI 3.1 §4.8.8). */
  readonly path: string
  readonly tag: string
  /** Unique; `operationId` of the document. */
  readonly id: string
  readonly reach: Reach
  readonly status: SuccessStatus
}

const DEFAULT_STATUS = { get: 200, post: 201, patch: 200, delete: 204 } as const

/** Declares the endpoints with one tag: `query` and `body` of the call get their types from the schemas. */
export function endpointsTagged(tag: string) {
  return <Query = Record<string, never>, Body = Record<string, never>>(
    id: string,
    method: EndpointMethod,
    path: string,
    declaration: EndpointDeclaration<Query, Body>,
  ): Endpoint => {
    const { reach = 'path', success } = declaration
    if ((reach === 'path') !== path.includes('{tenant_id}')) {
      throw new Error(
        `${method} ${path}: reach is "${reach}". Omit reach if the path contains {tenant_id}; otherwise, set reach to "caller" or "platform".`,
      )
    }
    const status = success.status ?? DEFAULT_STATUS[method]
    const declared = declaration as unknown as EndpointDeclaration<unknown, unknown>
    return { ...declared, id, method, path, tag, reach, status }
  }
}
