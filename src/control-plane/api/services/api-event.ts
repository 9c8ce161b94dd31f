/** Appends the event of a created, changed or deleted API. */
import type { Api } from '../../../model/api.ts'
import type { Transaction } from '../../store/store.ts'

export function announce(
  tx: Transaction,
  kind: 'api.created' | 'api.updated' | 'api.deleted',
  { id, tenantId, name, status }: Api,
): void {
  tx.events.append({ kind, tenantId, resourceId: id, data: { api_id: id, api_name: name, status } })
}
