/** Finds API keys in the current snapshot, as records for the verifier. */

import { oncePer } from '../../base/once-per.ts'
import type { ApiKeyRecord } from '../../identity/api-keys.ts'
import type { KeyEntry, Snapshot } from './snapshot.ts'

/** Keys are found in the snapshot; a call of an approved subscription may read and execute, nothing more. */
export function keyLookup(
  snapshot: () => Snapshot | undefined,
): (prefix: string) => ApiKeyRecord | undefined {
  const recordOf = oncePer(
    ({
      id,
      hash,
      expiresAtMs,
      application,
      subscriber,
      tenant,
      subscriptionId,
      apiIds,
    }: KeyEntry): ApiKeyRecord => ({
      id,
      hash,
      status: 'active',
      expiresAtMs: Number.isFinite(expiresAtMs) ? expiresAtMs : undefined,
      application,
      subscriber,
      tenant,
      subscriptionId,
      apiIds,
      roles: [],
      scopes: ['read', 'execute'],
    }),
  )
  return prefix => {
    const entry = snapshot()?.keyOf(prefix)
    return entry && recordOf(entry)
  }
}
