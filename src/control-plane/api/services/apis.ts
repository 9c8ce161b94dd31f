/** Registers, changes and deletes APIs. It handles no HTTP except the problems it throws. */
import { type Api, type ApiStatus, moveApi } from '../../../model/api.ts'
import type { Transaction } from '../../store/store.ts'
import { checkIfMatch } from '../http/entity-tag.ts'
import { conflict, found, invalidField } from '../http/problem.ts'
import type { Services } from '../services.ts'
import { newRecord, type Patch, patched } from './records.ts'
import { revokeSubscription } from './subscriptions.ts'

export type ApiFields = Pick<
  Api,
  | 'name'
  | 'description'
  | 'upstreamUrl'
  | 'path'
  | 'version'
  | 'authRequired'
  | 'requestsPerHour'
  | 'passthrough'
  | 'spec'
  | 'portalVisibility'
  | 'visibility'
>

/** @throws Problem validation_error for a document that is not OpenAPI */
export function requireUsableSpec(spec: string | null | undefined, { specFault }: Services): void {
  const fault = typeof spec === 'string' ? specFault?.(spec) : undefined
  if (fault !== undefined) throw invalidField('spec', `is not a usable OpenAPI document: ${fault}.`)
}

export async function createApi(tx: Transaction, tenantId: string, fields: ApiFields): Promise<Api> {
  const api: Api = {
    ...fields,
    ...newRecord(tx, 'api'),
    tenantId,
    status: 'active',
  }
  await tx.apis.insert(api)
  await tx.deployments.complete({ apiId: api.id })
  announce(tx, 'api.created', api)
  return api
}

/** @throws Problem not_found */
export async function findApi(tx: Transaction, id: string): Promise<Api> {
  return found(await tx.apis.find(id), 'API')
}

/** @throws Problem not_found, precondition_failed, conflict for an invalid status change */
export async function patchApi(
  tx: Transaction,
  id: string,
  patch: Patch<ApiFields & { status: ApiStatus }>,
  ifMatch: string,
): Promise<Api> {
  const api = found(await tx.apis.find(id, 'lock'), 'API')
  checkIfMatch(ifMatch, api.revision)
  const { status = api.status, ...fields } = patch
  const move = moveApi(api, status)
  if (!move.ok) throw conflict(move.reason, [{ field: 'status', message: move.reason }])
  const updated = await tx.apis.update(patched(move.value, fields))
  announce(tx, 'api.updated', updated)
  return updated
}

/** Removes the API from the gateways and revokes its subscriptions. @throws Problem not_found */
export async function deleteApi(tx: Transaction, id: string): Promise<void> {
  const api = found(await tx.apis.find(id, 'lock'), 'API')
  for (const subscription of await tx.subscriptions.openOf(id)) {
    await revokeSubscription(tx, subscription, 'The API was deleted.', api)
  }
  await tx.apis.remove(id)
  announce(tx, 'api.deleted', api)
}

function announce(
  tx: Transaction,
  kind: 'api.created' | 'api.updated' | 'api.deleted',
  { id, tenantId, name, status }: Api,
): void {
  tx.events.append({ kind, tenantId, resourceId: id, data: { api_id: id, api_name: name, status } })
}
