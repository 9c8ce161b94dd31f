/** Data of messages between a thread and the thread that holds the connection to Redis, and its conversion. */
import type { PlanLimits } from '../../../model/plan.ts'
import type { ToolRateLimit } from '../../../model/tool.ts'
import { HashedKey } from '../memory/table.ts'
import type { QuotaRefusal, QuotaRequest } from '../quota.ts'
import type { Denial } from './consumer-lease.ts'

/** A prepared key in a form that can be posted. */
interface KeyData {
  readonly name: string
  readonly words: readonly [number, number, number, number]
}

/** A quota request without its time. */
export interface Caller {
  readonly key: KeyData
  readonly limits: PlanLimits
  readonly tool?: { readonly key: KeyData; readonly rateLimit: ToolRateLimit }
}

/** Calls decided in a thread since its last report. */
export interface Decided {
  readonly caller: Caller
  readonly granted: number
  /** By a cached denial. */
  readonly refused: number
  /** Units of the consumer after the last grant. */
  readonly unitsLeft: number
}

/** Response to a reservation. The denial also holds for later calls. */
export interface Reserved {
  readonly outcome: true | QuotaRefusal
  readonly denial: Denial | undefined
  /** A request to Redis was necessary. */
  readonly waited: boolean
}

export function keyData({ name, a, b, c, d }: HashedKey): KeyData {
  return { name, words: [a, b, c, d] }
}

/** @param nowMs Unix ms */
export function requestOf({ key, limits, tool }: Caller, nowMs: number): QuotaRequest {
  const request = { key: hash(key), limits, nowMs }
  return tool === undefined
    ? request
    : { ...request, tool: { key: hash(tool.key), rateLimit: tool.rateLimit } }
}

function hash({ name, words }: KeyData): HashedKey {
  return new HashedKey(name, words)
}
