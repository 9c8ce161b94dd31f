/** Takes what gateways report of the definitions of MCP servers, and accepts changes of them. */
import type { ReportedDefinitions } from '../../../link/report.ts'
import type { Api } from '../../../model/api.ts'
import { systemOrigin } from '../../../model/audit.ts'
import { recordActions } from '../../store/audited.ts'
import type { Transaction } from '../../store/store.ts'
import { conflict, requireFound } from '../http/problem.ts'
import { announce } from './api-event.ts'

/** @param gateway name of the reporter */
export async function takeDefinitions(
  tx: Transaction,
  gateway: string,
  reported: readonly ReportedDefinitions[],
): Promise<void> {
  const recorded = recordActions(tx, systemOrigin('system.apis.definitions'))
  // in the same order by all reports
  for (const { apiId, specHash, pending } of [...reported].sort((a, b) => (a.apiId < b.apiId ? -1 : 1))) {
    const api = await recorded.apis.find(apiId, 'lock')
    if (api?.type !== 'mcp' || api.mcp?.trusted === true) continue
    const { pendingDefinitions: known, acceptedSpecHash } = api
    // the gateway has not received the acceptance yet
    if (pending !== null && pending.specHash === acceptedSpecHash) continue
    if (pending === null) {
      // at another gateway the changes wait
      if (known !== null && known.gateway !== gateway) continue
      if (known === null && acceptedSpecHash === specHash) continue
      const updated = { ...api, pendingDefinitions: null, acceptedSpecHash: specHash }
      announce(recorded, 'api.updated', await recorded.apis.update(updated))
    } else if (known?.specHash !== pending.specHash) {
      const pendingDefinitions = { ...pending, gateway, at: tx.now.toISOString() }
      // gateways that have no list yet then know that another one was accepted
      const updated = { ...api, pendingDefinitions, acceptedSpecHash: acceptedSpecHash ?? specHash }
      announce(recorded, 'api.updated', await recorded.apis.update(updated))
      // one event until the changes are accepted or taken back: a server may change its list at any time
      if (known === null) announceChanged(recorded, api, pending)
    }
  }
}

function announceChanged(
  tx: Transaction,
  { id, tenantId, name }: Api,
  { specHash, changes, more }: NonNullable<ReportedDefinitions['pending']>,
): void {
  const tools = [...new Set(changes.map(({ tool }) => tool))]
  const data = { api_id: id, api_name: name, spec_hash: specHash, tools, changes: changes.length + more }
  tx.events.append({ kind: 'api.definitions_changed', tenantId, resourceId: id, data })
}

/** @param specHash of the list that the caller has seen. @throws Problem not_found, conflict when another list, or none, waits */
export async function acceptDefinitions(tx: Transaction, id: string, specHash: string): Promise<Api> {
  const api = requireFound(await tx.apis.find(id, 'lock'), 'API')
  const { pendingDefinitions } = api
  if (pendingDefinitions === null && api.acceptedSpecHash === specHash) return api
  if (pendingDefinitions?.specHash !== specHash)
    throw conflict(
      pendingDefinitions === null
        ? 'No changed definitions wait to be accepted.'
        : 'The server has changed its definitions again. Read the API, and accept the spec_hash of the changes that it shows now.',
      [{ field: 'spec_hash', message: 'is not the hash of the list that waits.' }],
    )
  const updated = await tx.apis.update({ ...api, pendingDefinitions: null, acceptedSpecHash: specHash })
  announce(tx, 'api.updated', updated)
  return updated
}
