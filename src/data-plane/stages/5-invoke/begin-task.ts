/** Begins a task for a call or refuses one, as tool and client require, and gives the timeout of a backend call. */
import { refuse } from '../../../model/refusal.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import { isCall } from '../../pipeline/operation.ts'
import type { Stage } from '../../pipeline/stage.ts'

export function beginTask(): Stage {
  return {
    id: 'begin-task',
    phase: 'invoke',
    run(exchange) {
      const { task } = exchange.transport
      if (task === undefined || !isCall(exchange.operation)) return undefined
      const support = exchange.tool!.tool.tasks
      if (task.mode === 'declined') return support === 'required' ? refuse('task_required') : undefined
      if (support === undefined) return task.mode === 'requested' ? refuse('task_unsupported') : undefined
      return task.begin(exchange.principal!)
    },
  }
}

/** For the backend call: a task may take longer than a call that a client waits for. */
export function callTimeoutMs({ tool, transport: { task } }: Exchange): number {
  return task?.begun === true ? task.timeoutMs : tool!.tool.timeoutMs
}
