/** The interface of the task store, with the form, the states and the limits of tasks. `memory/`, `redis/` and `threads/` implement it. */
import type { MaybePromise } from '../../base/and-then.ts'

export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

/** Plain JSON. */
export interface TaskRecord {
  readonly id: string
  /** `ownerOf` the caller: a task of another caller is not found. */
  readonly owner: string
  /** Unix ms. */
  readonly createdAtMs: number
  readonly updatedAtMs: number
  /** Time from its creation to its removal. */
  readonly ttlMs: number
  /** Unix ms; the instance that runs the call renews it, and afterwards the call is lost. */
  readonly aliveUntilMs: number
  readonly status: TaskStatus
  readonly statusMessage?: string
  /** Open questions by name (MCP 2026-07-28, `inputRequests`). */
  readonly inputRequests?: { readonly [name: string]: object }
  /** The member `result` or `error` of the response, serialized with its name. */
  readonly outcome?: string
}

export interface TaskLimits {
  /** For one task, from its creation; a client may ask for less. */
  readonly maxTtlMs: number
  /** Tasks that are kept for one caller. */
  readonly maxPerCaller: number
  /** For one stored result. */
  readonly maxResultBytes: number
}

/** UTF-16 code units. */
export const MAX_SHORT_OUTCOME = 1_024

/** `unavailable`: the store did not respond. */
export type TaskCreation = 'created' | 'too_many' | 'unavailable'

export interface TaskStore {
  /** @param maxOfOwner tasks of one owner */
  create(task: TaskRecord, maxOfOwner: number): MaybePromise<TaskCreation>
  /** undefined: unknown or expired. `unavailable`: the store did not respond, so the task may be there. */
  get(owner: string, id: string): MaybePromise<TaskRecord | 'unavailable' | undefined>
  /**
   * Replaces a task that is known; false: it is not, or the store did not respond. `full`: the outcome does not fit into the memory for
   * outcomes; one of up to `MAX_SHORT_OUTCOME` characters always does.
   */
  put(task: TaskRecord): MaybePromise<boolean | 'full'>
  /** The oldest first, without outcomes. */
  list(owner: string): MaybePromise<readonly TaskRecord[] | 'unavailable'>
}

export function isEnded(status: TaskStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}
