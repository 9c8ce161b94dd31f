/** A call as a task, whose result the client fetches later (MCP, tasks): what the stages may do with it. */

import type { MaybePromise } from '../../base/and-then.ts'
import type { Principal } from '../../model/principal.ts'
import type { Refusal } from '../../model/refusal.ts'

export interface TaskSide {
  /** `requested`: the client wants a task. `offered`: it takes one where the server makes it. `declined`: it wants the result itself. */
  readonly mode: 'requested' | 'offered' | 'declined'
  readonly begun: boolean
  /** Timeout of the backend call, once it has begun. */
  readonly timeoutMs: number
  /** Stores the task, and has the client receive it in place of the result. @returns why it cannot begin */
  begin(principal: Principal): MaybePromise<Refusal | undefined>
}
