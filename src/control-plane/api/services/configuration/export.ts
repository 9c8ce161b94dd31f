/** Exports live resources as a configuration tree. */
import { pathOf } from '../../../../model/configuration.ts'
import { EVERY_TENANT, type Transaction } from '../../../store/store.ts'
import { DEFAULT_OWNER, treeOf } from '../../schemas/configuration-tree.ts'
import { readLive } from './live.ts'

/**
 * A caller acting for one tenant gets the resources of that tenant, without the tenant itself and the global plans.
 * @param owner absent: the resources of every owner, and those without one
 */
export async function exportConfiguration(tx: Transaction, owner: string | undefined): Promise<object> {
  const { resources, applied } = await readLive(
    tx,
    owner === undefined ? {} : { tenants: { names: [], owner } },
  )
  const owners = new Map(applied.map(each => [pathOf(each), each.owner]))
  const shown = resources.filter(resource => {
    if (tx.scope !== EVERY_TENANT && (resource.tenant === null || resource.kind === 'tenant')) return false
    return owner === undefined || owners.get(pathOf(resource)) === owner
  })
  return treeOf(owner === DEFAULT_OWNER ? undefined : owner, shown)
}
