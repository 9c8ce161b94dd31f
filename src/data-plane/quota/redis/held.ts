/** Reads what a lease holds in the table: units not spent, and calls in flight. */
import { BUSY, READ_IN_FLIGHT, READ_TOKENS } from '../memory/abi.ts'
import type { TableQuota } from '../memory/table-quota.ts'
import type { ConsumerLease } from './consumer-lease.ts'

/** Zeros for a consumer without a slot in the table. */
export function heldBy(
  { key }: ConsumerLease,
  quota: TableQuota,
): { readonly units: number; readonly inFlight: number } {
  const { table } = quota
  const slot = table.find(key)
  const read = () => table.kernel.quotaRead(slot, quota.monotonicMs(), quota.unixMs())
  return slot >= 0 && table.patiently(read, BUSY) === 1
    ? { units: table.out[READ_TOKENS / 4]!, inFlight: table.out[READ_IN_FLIGHT / 4]! }
    : { units: 0, inFlight: 0 }
}
