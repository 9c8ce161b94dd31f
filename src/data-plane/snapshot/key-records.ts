/** API keys as the current snapshot knows them. It verifies nothing: `api-keys.ts` does. */

import type { ApiKeyRecord } from '../../shared/identity/api-keys.ts'
import type { KeyEntry, Snapshot } from './snapshot.ts'

/** Keys are found in the snapshot; a call of an approved subscription may read and execute, nothing more. */
export function keyLookup(
  snapshot: () => Snapshot | undefined,
): (prefix: string) => ApiKeyRecord | undefined {
  const records = new WeakMap<KeyEntry, ApiKeyRecord>()
  return prefix => {
    const entry = snapshot()?.keyOf(prefix)
    if (entry === undefined) return undefined
    const known = records.get(entry)
    if (known !== undefined) return known
    const { id, hash, application, tenant, subscriptionId, apiId } = entry
    const expiresAtMs = Number.isFinite(entry.expiresAtMs) ? entry.expiresAtMs : undefined
    const record: ApiKeyRecord = {
      id,
      hash,
      status: 'active',
      expiresAtMs,
      application,
      tenant,
      subscriptionId,
      apiId,
      roles: [],
      scopes: ['read', 'execute'],
    }
    records.set(entry, record)
    return record
  }
}
