/** Makes the audit record of an administrator's action, and declares the function that stores it. */
import type { AdminAction } from '../../../link/report.ts'
import { newId } from '../../../model/id.ts'
import { type Principal, reachesEveryTenant } from '../../../model/principal.ts'
import type { Call } from '../call.ts'

/** Resolves when the action is recorded; an action that cannot be recorded must not run. */
export type RecordAdminAction = (action: AdminAction) => Promise<void>

/** @param before state of the resource; null: it has none */
export function adminAction(
  { receivedAtMs, requestId }: Call,
  caller: Principal,
  action: string,
  resource: AdminAction['resource'],
  before: object | null,
): AdminAction {
  const { kind, subject, consumer, tenant = null } = caller
  return {
    id: newId('audit', receivedAtMs),
    at: new Date(receivedAtMs),
    actor: { kind, subject, consumer, tenant },
    action,
    tenant: reachesEveryTenant(caller) ? null : tenant,
    resource,
    requestId,
    before,
  }
}
