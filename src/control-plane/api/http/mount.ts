/** Mounts endpoints: admits the caller, authorizes, validates and runs the call in a transaction, and responds. */

import type { Context, Hono } from 'hono'
import { writeJson } from '../../../base/json/exact-number.ts'
import { type AuditOrigin, resourceTypeOf } from '../../../model/audit.ts'
import type { Principal } from '../../../model/principal.ts'
import { rateLimitFields } from '../../../model/rate-limit-headers.ts'
import { recordAction, recordActions } from '../../store/audited.ts'
import {
  EVERY_TENANT,
  type Scope,
  type Store,
  StoreConflict,
  type Transaction,
  type UniqueConstraint,
} from '../../store/store.ts'
import type { ControlPlaneOptions } from '../options.ts'
import { requireWritable } from '../services/tenants.ts'
import type { Services } from '../services.ts'
import {
  type AccessQuestion,
  authenticateRequest,
  authorizeList,
  authorizeRequest,
  type CallOrigin,
  locate,
  type Standing,
} from './access.ts'
import { findingsOf } from './access-log.ts'
import type { Endpoint, EndpointCall, EndpointResult } from './endpoint.ts'
import { entityTag } from './entity-tag.ts'
import { CONTENT_TYPES, exportFormat, exportRows, MAX_EXPORT_ROWS } from './export-rows.ts'
import { idsOf } from './headers.ts'
import { onlyOnce } from './idempotency.ts'
import { conflict, type FieldFault, invalid, notFound, Problem } from './problem.ts'
import { type JsonBody, readJsonBody } from './read-body.ts'
import type { TierLimit } from './tier-limit.ts'
import { type Validated, validateInput } from './validate.ts'
import { cacheable, type VisitorLimit } from './visitors.ts'

export interface MountParts {
  readonly options: ControlPlaneOptions
  readonly services: Services
  readonly tierLimit: TierLimit
  readonly visitorLimit: VisitorLimit
  /** For calls that concern many resources. */
  readonly bulkStore: Store
}

export const BASE = '/v1'

/** Path of an endpoint in Hono's notation. */
export function routePath(path: string): string {
  return BASE + path.replace(/\{(\w+)\}/g, ':$1')
}

export function mountEndpoint(app: Hono, endpoint: Endpoint, parts: MountParts): void {
  app.on(endpoint.method.toUpperCase(), routePath(endpoint.path), async context => {
    findingsOf(context).operation = endpoint.id
    const standing =
      endpoint.visitors === true
        ? parts.visitorLimit.admit(context)
        : await admit(context, parts, context.req.param('tenant_id'))
    return serve(context, endpoint, parts, standing)
  })
}

/** Authenticates, resolves the tenants and counts the request against the hourly limit of the tier. @throws Problem */
export async function admit(
  context: Context,
  { options, tierLimit }: MountParts,
  pathTenant: string | undefined,
): Promise<Standing> {
  const request = context.req.raw
  const principal: Principal = await authenticateRequest(
    options.verifier,
    request,
    context.env as CallOrigin,
    options.now(),
  )
  findingsOf(context).principal = principal
  const header = request.headers.get('x-tenant-id') ?? ''
  const standing = await locate(options.store, principal, pathTenant, header)
  const taken = standing.home === undefined ? undefined : await tierLimit.take(standing.home)
  if (taken !== undefined) {
    for (const [name, value] of Object.entries(rateLimitFields(taken))) context.header(name, value)
    if (!taken.allowed) {
      throw new Problem(
        'rate_limited',
        `The tenant of the token has reached its limit of ${taken.limit} requests per hour. Retry when the next hour begins.`,
        [],
        [['retry-after', String(taken.retryAfterSecs)]],
      )
    }
  }
  return standing
}

async function serve(
  context: Context,
  endpoint: Endpoint,
  parts: MountParts,
  standing: Standing,
): Promise<Response> {
  const { options } = parts
  const { method, status } = endpoint
  const request = context.req.raw
  const maxBytes = endpoint.bulk === true ? options.maxBulkBodyBytes : undefined
  const body = await readJsonBody(request, maxBytes ?? options.maxBodyBytes)
  const scope = scopeOf(endpoint, standing)
  const isChange = method !== 'get' && endpoint.audited !== false
  let replayed = false
  const work = async (plain: Transaction): Promise<EndpointResult> => {
    const origin = originOf(context, endpoint, standing)
    const tx = isChange ? recordActions(plain, origin) : plain
    const call = await prepare(context, endpoint, parts, standing, tx, body)
    const run = async () => {
      // A tenant that is being deleted can only lose resources.
      if (endpoint.reach === 'path' && (method === 'post' || method === 'patch'))
        requireWritable(call.tenant!)
      const format = exportFormat(call.query)
      if (format !== undefined) {
        const query = { ...(call.query as object), page: 1, limit: MAX_EXPORT_ROWS }
        const { body } = (await endpoint.run({ ...call, query })) as EndpointResult
        return { text: exportRows(body, format), contentType: CONTENT_TYPES[format] }
      }
      const result = (await endpoint.run(call)) ?? {}
      if (result.dryRun === true) throw new DryRun(result)
      // a repetition, or an action such as a delivery that is sent again
      if (isChange && tx.audit.appended === 0)
        recordAction(tx, origin, targetOf(endpoint, call), result.recorded)
      return result
    }
    const key = request.headers.get('idempotency-key')
    if (key === null || method !== 'post' || endpoint.idempotencyKey === false) return run()
    const { principal } = standing
    const bodyText = body.kind === 'json' ? body.text : ''
    const query = new URL(context.req.url).search
    const repeatable = { key, principal, method, path: context.req.path, query, bodyText, status }
    const once = await onlyOnce(tx, repeatable, run)
    if (once.replayed) {
      replayed = true
      context.header('idempotency-replayed', 'true')
    }
    return once.response
  }
  try {
    const store = endpoint.bulk === true ? parts.bulkStore : options.store
    const run = method === 'get' ? store.read : store.write
    const result = await run(scope, work)
    if (isChange && !replayed) options.onChange?.(endpoint.action, standing.principal.consumer)
    if (result.afterwards === undefined) return respond(context, endpoint, result)
    return respond(context, endpoint, { ...result, body: await result.afterwards() })
  } catch (error) {
    if (error instanceof DryRun) return respond(context, endpoint, error.result)
    throw error instanceof StoreConflict ? conflictOf(error) : error
  }
}

/** Rolls a transaction back after its work. */
class DryRun extends Error {
  readonly result: EndpointResult
  constructor(result: EndpointResult) {
    super('dry run')
    this.result = result
  }
}

function originOf(context: Context, { action }: Endpoint, { principal }: Standing): AuditOrigin {
  const { kind, subject, consumer, tenant = null } = principal
  return {
    actor: { kind, subject, consumer, tenant },
    action,
    requestId: idsOf(context).requestId,
    gateway: null,
  }
}

function targetOf({ tag }: Endpoint, { params, tenant, tx }: EndpointCall<unknown, unknown>) {
  const tenantId = tenant?.id ?? (tx.scope === EVERY_TENANT ? null : tx.scope)
  return { type: resourceTypeOf(tag), id: lastParam(params), tenantId }
}

/** The rows that the transaction may see. @throws Problem forbidden for a caller without a tenant that exists */
function scopeOf(endpoint: Endpoint, { tenant, unknownTenant, crossesTenants }: Standing): Scope {
  if (endpoint.reach === 'platform') return EVERY_TENANT
  if (tenant !== undefined) return tenant.id
  if (crossesTenants && unknownTenant === undefined) return EVERY_TENANT
  return NO_TENANT
}

function guestOf({ home, tenant, crossesTenants }: Standing): Standing['home'] {
  return crossesTenants || tenant === undefined || home?.id === tenant.id ? undefined : home
}

/** A scope without rows: the transaction finds nothing, and authorization decides on the error. */
const NO_TENANT = 'none'

/** All checks before a call runs, in the order of their errors: 403, 404, 400. */
async function prepare(
  context: Context,
  endpoint: Endpoint,
  { options, services }: MountParts,
  standing: Standing,
  tx: Transaction,
  body: JsonBody,
): Promise<EndpointCall<unknown, unknown>> {
  const params = context.req.param() as Record<string, string>
  const { principal, tenant, unknownTenant, crossesTenants } = standing
  const guest = endpoint.reach === 'path' ? guestOf(standing) : undefined
  const rawBody = body.kind === 'json' ? body.value : undefined
  // PostgreSQL text holds no NUL: no row has such an id, and the query would fail.
  const queryable = Object.values(params).every(value => !value.includes('\0'))
  const subject = queryable
    ? await endpoint.subject?.({ tx, params, principal, tenant, guest, crossesTenants, rawBody })
    : undefined
  const byReach = endpoint.reach === 'platform' ? null : (tenant?.name ?? unknownTenant ?? null)
  if (endpoint.reach !== 'platform' && byReach === null && !crossesTenants) {
    throw new Problem('forbidden', 'The token has no tenant, or its tenant does not exist.')
  }
  const question: AccessQuestion = {
    action: endpoint.action,
    resourceId: lastParam(params),
    tenant: subject?.tenant === undefined ? byReach : subject.tenant,
    own: subject?.own ?? false,
    timeMs: tx.now.getTime(),
  }
  let onlyApplication: string | undefined
  if (endpoint.narrowable === true) {
    onlyApplication = await authorizeList(options.policy(), standing, question)
  } else await authorizeRequest(options.policy(), standing, question)
  if (endpoint.method !== 'get') {
    await refuseSuspended(endpoint, standing, tx, question.tenant)
    if (guest !== undefined) await refuseSuspended(endpoint, standing, tx, byReach)
  }
  if (endpoint.reach !== 'platform' && unknownTenant !== undefined) throw notFound('tenant')
  if (!queryable) throw notFound(endpoint.tag)
  const query = validateQuery(endpoint, new URL(context.req.url).searchParams)
  const checked = validateBody(endpoint, body)
  const faults: FieldFault[] = [...(query.ok ? [] : query.faults), ...(checked.ok ? [] : checked.faults)]
  if (!query.ok || !checked.ok) throw invalid(faults)
  return {
    tx,
    params,
    query: query.value,
    body: checked.value,
    principal,
    tenant,
    guest,
    onlyApplication,
    ifMatch: context.req.header('if-match') ?? '',
    services,
    authorize: (action, owner) =>
      authorizeRequest(options.policy(), standing, { ...question, action, tenant: owner, own: false }),
  }
}

/**
 * Writes of a suspended tenant, and to one, are refused; a caller who may cross tenants can still activate or delete it.
 * @throws Problem tenant_suspended
 */
async function refuseSuspended(
  endpoint: Endpoint,
  { principal, home, tenant, crossesTenants }: Standing,
  tx: Transaction,
  owner: string | null,
): Promise<void> {
  const known = owner === null || owner === tenant?.name || owner.includes('\0')
  const target = known ? tenant : await tx.tenants.resolve(owner)
  const ofCaller = principal.tenant !== undefined && !crossesTenants && home?.status === 'suspended'
  if (ofCaller || (target?.status === 'suspended' && endpoint.tag !== 'tenant'))
    throw new Problem('tenant_suspended', 'The tenant is suspended: its resources are read-only.')
}

function lastParam(params: Readonly<Record<string, string>>): string {
  return Object.values(params).at(-1) ?? '*'
}

/** Unknown parameters are ignored, since proxies and tracking tools add some; a repeated one is refused. */
function validateQuery(endpoint: Endpoint, search: URLSearchParams): Validated<unknown> {
  if (endpoint.query === undefined) return { ok: true, value: {} }
  const input: Record<string, string> = {}
  const faults: FieldFault[] = []
  for (const [name, value] of search) {
    if (Object.hasOwn(input, name)) faults.push({ field: name, message: 'must be given only once.' })
    // A plain assignment to __proto__ would vanish.
    Object.defineProperty(input, name, { value, enumerable: true, configurable: true, writable: true })
  }
  const result = validateInput(endpoint.query, input, 'query')
  if (result.ok && faults.length === 0) return result
  return { ok: false, faults: [...faults, ...(result.ok ? [] : result.faults)] }
}

function validateBody(endpoint: Endpoint, body: JsonBody): Validated<unknown> {
  if (body.kind === 'invalid') return { ok: false, faults: body.faults }
  if (endpoint.body === undefined) {
    const empty = body.kind === 'none' || isEmptyObject(body.value)
    return empty
      ? { ok: true, value: {} }
      : { ok: false, faults: [{ field: 'body', message: 'must be absent: this request takes no body.' }] }
  }
  if (body.kind === 'none' && endpoint.bodyOptional !== true) {
    return { ok: false, faults: [{ field: 'body', message: 'is required.' }] }
  }
  return validateInput(endpoint.body, body.kind === 'none' ? {} : body.value, 'body', endpoint.readOnly)
}

function isEmptyObject(value: unknown): boolean {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0
  )
}

function respond(context: Context, endpoint: Endpoint, result: EndpointResult): Response {
  if (result.revision !== undefined) context.header('etag', entityTag(result.revision))
  if (result.location !== undefined) context.header('location', BASE + result.location)
  if (result.text !== undefined)
    return context.body(result.text, 200, {
      'content-type': result.contentType ?? 'text/plain; charset=utf-8',
    })
  if (endpoint.visitors === true) return cacheable(context, writeJson(result.body))
  return result.body === undefined
    ? context.body(null, 204)
    : context.body(writeJson(result.body), endpoint.status as 200, { 'content-type': 'application/json' })
}

/** Unique constraint → message, field and reason. */
const CONFLICTS: { readonly [name in UniqueConstraint]: readonly [string, string, string] } = {
  tenants_name_key: ['A tenant with this name already exists.', 'name', 'is taken.'],
  apis_path_key: ['This tenant already has an API with this path.', 'path', 'is taken.'],
  plans_slug_key: ['A plan with this slug already exists.', 'slug', 'is taken.'],
  subscriptions_application_key: [
    'This application already has a subscription to this API.',
    'application',
    'is already subscribed.',
  ],
  subscriptions_product_key: [
    'This application already has a subscription to this product.',
    'application',
    'is already subscribed.',
  ],
  products_slug_key: ['This tenant already has a product with this slug.', 'slug', 'is taken.'],
  consumers_subject_key: ['This tenant already has a consumer with this subject.', 'subject', 'is taken.'],
  webhooks_name_key: ['This tenant already has a webhook with this name.', 'name', 'is taken.'],
}

function conflictOf({ constraint }: StoreConflict): Problem {
  const [message, field, reason] = CONFLICTS[constraint]
  return conflict(message, [{ field, message: reason }])
}
