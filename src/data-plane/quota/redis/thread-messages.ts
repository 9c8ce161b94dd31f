/** What a thread asks the one that holds the connection to Redis, and what that answers: plain data, and nothing that acts on it. */
import type { PlanLimits } from '../../../model/plan.ts'
import type { ToolRateLimit } from '../../../model/tool.ts'
import { HashedKey } from '../memory/table.ts'
import type { Lacking } from '../memory/table-quota.ts'
import type { QuotaRefusal, QuotaRequest, QuotaStatistics } from '../quota.ts'
import type { Denial } from './consumer-lease.ts'

/** A prepared key, as it can be posted. */
interface KeyData {
  readonly name: string
  readonly words: readonly [number, number, number, number]
}

/** A request without its time: for whom, and how much they may have. */
export interface Caller {
  readonly key: KeyData
  readonly limits: PlanLimits
  readonly tool?: { readonly key: KeyData; readonly rateLimit: ToolRateLimit }
}

/** Calls decided in the thread since it last told of them. */
export interface Decided {
  readonly caller: Caller
  readonly granted: number
  /** By a denial that is remembered. */
  readonly refused: number
  /** Of the consumer, when the last was granted. */
  readonly unitsLeft: number
}

export type Question =
  | { readonly kind: 'reserve'; readonly id: number; readonly caller: Caller; readonly lacking: Lacking }
  | { readonly kind: 'decided'; readonly calls: readonly Decided[] }
  | { readonly kind: 'statistics'; readonly id: number }
  | { readonly kind: 'reset'; readonly id: number; readonly key: string }
  | { readonly kind: 'clear'; readonly id: number }

export type ThreadReply =
  /** `value` is what the question asks for; `fault` when it could not be answered. */
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown; readonly fault?: string }
  /** Nothing is known to be used up any more. */
  | { readonly kind: 'forgive'; readonly name: string }
  | { readonly kind: 'store'; readonly up: boolean }

/** Answer to `reserve`. The denial holds for later calls too. */
export interface Reserved {
  readonly outcome: true | QuotaRefusal
  readonly denial: Denial | undefined
  /** Redis had to be asked for it. */
  readonly waited: boolean
}

/** By kind of question. */
export interface Values {
  reserve: Reserved
  statistics: readonly QuotaStatistics[]
  reset: boolean
  clear: true
}

export function keyData({ name, a, b, c, d }: HashedKey): KeyData {
  return { name, words: [a, b, c, d] }
}

/** @param nowMs Unix ms */
export function requestOf({ key, limits, tool }: Caller, nowMs: number): QuotaRequest {
  const request = { key: hashed(key), limits, nowMs }
  return tool === undefined
    ? request
    : { ...request, tool: { key: hashed(tool.key), rateLimit: tool.rateLimit } }
}

function hashed({ name, words }: KeyData): HashedKey {
  return new HashedKey(name, words)
}
