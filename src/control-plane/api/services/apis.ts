/** Finds, registers, changes and deletes APIs, and checks their documents. It handles no HTTP except `If-Match` and the problems it throws. */
import {
  type Api,
  type ApiStatus,
  apiKeyOf,
  apiTypeFault,
  claimedPaths,
  isSharedWith,
  isVersionLabel,
  moveApi,
  versionConflict,
} from '../../../model/api.ts'
import { hostsFault } from '../../../model/bound-secret.ts'
import { EXCHANGE_REFUSED } from '../../../net/egress/oauth/exchange-endpoints.ts'
import type { Transaction } from '../../store/store.ts'
import { checkIfMatch } from '../http/entity-tag.ts'
import { conflict, invalidField, requireFound, unavailable } from '../http/problem.ts'
import type { Services } from '../services.ts'
import { announce } from './api-event.ts'
import { type AskPolicy, requireAuthority } from './authority.ts'
import { withdrawFromProducts } from './products.ts'
import { applyPatch, newRecord, type Patch } from './records.ts'
import { revokeSubscription } from './subscriptions.ts'

export type ApiFields = Pick<
  Api,
  | 'name'
  | 'description'
  | 'type'
  | 'upstreamUrl'
  | 'mcp'
  | 'path'
  | 'version'
  | 'versioning'
  | 'deprecation'
  | 'authRequired'
  | 'requestsPerHour'
  | 'passthrough'
  | 'traffic'
  | 'spec'
  | 'portalVisibility'
  | 'visibility'
> & {
  /** As in `Sharing`; empty: with none. */
  readonly sharedWith: readonly string[]
}

/** @throws Problem validation_error for a document that is not OpenAPI */
export function requireUsableSpec(spec: string | null | undefined, { specFault }: Services): void {
  const fault = typeof spec === 'string' ? specFault?.(spec) : undefined
  if (fault !== undefined) throw invalidField('spec', `is not a usable OpenAPI document: ${fault}.`)
}

/** @throws Problem validation_error for an address to which no token of a caller may be sent; unavailable while that is not known */
export function requireExchangeUrl(mcp: Api['mcp'] | undefined, { mayExchangeAt }: Services): void {
  const { type, tokenUrl } = mcp?.authentication ?? {}
  if (type !== 'token_exchange' || tokenUrl === undefined || tokenUrl === null) return
  const permission = mayExchangeAt(tokenUrl)
  if (permission === 'refused') throw invalidField('mcp.authentication.token_url', EXCHANGE_REFUSED)
  if (permission === 'unknown')
    throw unavailable('The discovery document of the identity provider has not been read yet.', 1)
}

/** @throws Problem validation_error for a secret that may not be sent to the addresses of the API */
async function requireBoundSecret(
  tx: Transaction,
  { tenantId, upstreamUrl, mcp }: Api,
  { hostsOfSecret }: Pick<Services, 'hostsOfSecret'>,
): Promise<void> {
  const { secret, tokenUrl } = mcp?.authentication ?? {}
  if (secret === undefined || secret === null) return
  const hosts = await hostsOfSecret((await tx.tenants.find(tenantId))!.name, secret)
  const fault = hostsFault(hosts, [upstreamUrl, tokenUrl ?? upstreamUrl])
  if (fault !== undefined) throw invalidField('mcp.authentication.secret', `${fault}.`)
}

/** No list of the server at a new address has been read. */
const NOTHING_READ = { pendingDefinitions: null, acceptedSpecHash: null }

/** @throws Problem validation_error, conflict for a taken address */
export async function createApi(
  tx: Transaction,
  tenantId: string,
  { sharedWith, ...fields }: ApiFields,
  services: Pick<Services, 'hostsOfSecret'>,
): Promise<Api> {
  const api: Api = {
    ...fields,
    ...newRecord(tx, 'api'),
    tenantId,
    sharing: await sharingOf(tx, tenantId, sharedWith),
    status: 'active',
    deprecatedAt: null,
    ...NOTHING_READ,
  }
  requireFittingType(api)
  await requireBoundSecret(tx, api, services)
  await lockAddresses(tx, tenantId)
  await claimAddress(tx, api)
  await tx.apis.insert(api)
  await tx.deployments.complete({ apiId: api.id })
  announce(tx, 'api.created', api)
  return api
}

async function sharingOf(tx: Transaction, tenantId: string, ids: readonly string[]): Promise<Api['sharing']> {
  if (ids.length === 0) return null
  return { by: (await tx.tenants.find(tenantId))!.name, with: ids }
}

/** @throws Problem validation_error */
function requireFittingType(api: Api): void {
  const fault = apiTypeFault(api)
  if (fault !== undefined) throw invalidField(fault.field, fault.message)
}

/** @throws Problem not_found */
export async function findApi(tx: Transaction, id: string): Promise<Api> {
  return requireFound(await tx.apis.find(id), 'API')
}

/** @throws Problem forbidden, not_found, precondition_failed, validation_error, conflict for an invalid status change or a taken address */
export async function patchApi(
  tx: Transaction,
  id: string,
  patch: Patch<ApiFields & { status: ApiStatus }>,
  ifMatch: string,
  ask: AskPolicy,
  services: Pick<Services, 'hostsOfSecret'>,
): Promise<Api> {
  const claims = patch.path !== undefined || patch.version !== undefined || patch.versioning !== undefined
  // another change of an address changes this API too, once it has the tenant
  if (claims) await lockAddresses(tx, requireFound(await tx.apis.find(id), 'API').tenantId)
  // subscriptions that are being created are found below, or see the change
  const mayRevoke = patch.status !== undefined || patch.sharedWith !== undefined
  const api = requireFound(await tx.apis.find(id, mayRevoke ? 'exclusive' : 'lock'), 'API')
  const { status = api.status, sharedWith, ...fields } = patch
  await requireAuthority('api', { ...api, sharedWith: api.sharing?.with ?? [] }, patch, ask)
  checkIfMatch(ifMatch, api.revision)
  const move = moveApi(api, status, tx.now)
  if (!move.ok) throw conflict(move.reason, [{ field: 'status', message: move.reason }])
  const sharing = sharedWith && (await sharingOf(tx, api.tenantId, sharedWith))
  const isOtherServer = fields.upstreamUrl !== undefined && fields.upstreamUrl !== api.upstreamUrl
  const isComparedNoMore = isOtherServer || fields.mcp?.trusted === true
  const wanted = {
    ...applyPatch(move.value, { ...fields, sharing }),
    ...(isComparedNoMore ? NOTHING_READ : {}),
  }
  requireFittingType(wanted)
  if (patch.upstreamUrl !== undefined || patch.mcp !== undefined)
    await requireBoundSecret(tx, wanted, services)
  if (apiKeyOf(wanted) !== apiKeyOf(api) || wanted.versioning !== api.versioning)
    await claimAddress(tx, wanted)
  const updated = await tx.apis.update(wanted)
  announce(tx, 'api.updated', updated)
  if (sharing !== undefined && api.sharing !== null) await revokeUnshared(tx, updated)
  return updated
}

/** Ends the subscriptions of tenants with which the API is not shared any more. */
async function revokeUnshared(tx: Transaction, api: Api): Promise<void> {
  for (const subscription of await tx.subscriptions.openOf({ apiId: api.id })) {
    const { subscriberTenantId } = subscription
    if (subscriberTenantId !== null && !isSharedWith(api, subscriberTenantId))
      await revokeSubscription(tx, subscription, 'The API is not shared with this tenant.', api)
  }
}

/**
 * Makes sure that the addresses of an API lead to it alone; a version that becomes the default replaces the one before. The caller has
 * called `lockAddresses`.
 * @throws Problem validation_error, conflict
 */
async function claimAddress(tx: Transaction, api: Api): Promise<void> {
  if (api.versioning !== null && !isVersionLabel(api.version))
    throw invalidField(
      'version',
      'must consist of letters, digits, ".", "_", "~" and "-", and must not start with ".": callers send the version in the path or in a header.',
    )
  const paths = claimedPaths(api)
  const parents = paths.map(path => path.slice(0, path.lastIndexOf('/')) || '/')
  for (const other of await tx.apis.atPaths(api.tenantId, [...new Set([...paths, ...parents])])) {
    if (other.id === api.id) continue
    const fault = versionConflict(api, other)
    if (fault !== undefined) throw conflict(fault, [{ field: 'path', message: 'is taken.' }])
    if (api.versioning?.default !== true || other.path !== api.path || other.versioning === null) continue
    if (!other.versioning.default) continue
    const versioning = { ...other.versioning, default: false }
    announce(tx, 'api.updated', await tx.apis.update({ ...other, versioning }))
  }
}

/** Two changes of the same tenant see each other's addresses. Taken before the lock of an API, in the same order by all. */
async function lockAddresses(tx: Transaction, tenantId: string): Promise<void> {
  await tx.tenants.find(tenantId, 'lock')
}

/** Removes the API from the gateways and revokes its subscriptions. @throws Problem not_found, precondition_failed */
export async function deleteApi(tx: Transaction, id: string, ifMatch = ''): Promise<void> {
  const api = requireFound(await tx.apis.find(id, 'exclusive'), 'API')
  checkIfMatch(ifMatch, api.revision)
  for (const subscription of await tx.subscriptions.openOf({ apiId: id })) {
    await revokeSubscription(tx, subscription, 'The API was deleted.', api)
  }
  await withdrawFromProducts(tx, id)
  await tx.apis.remove(id)
  announce(tx, 'api.deleted', api)
}
