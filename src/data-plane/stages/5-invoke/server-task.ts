/** Recognizes a task in the result of an MCP server, waits for it, passes its questions to the client, and can cancel it. */

import { Cancellation } from '../../../base/cancellation.ts'
import { isObject } from '../../../base/json/is-object.ts'
import type { CircuitOpen } from '../../../mcp/client/sessions.ts'
import { failure, type RpcOutcome } from '../../../mcp/protocol.ts'
import { INTERNAL_ERROR } from '../../../model/rpc-errors.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import { MAX_ROUNDS } from '../../pipeline/inquiry.ts'
import { callTimeoutMs } from './begin-task.ts'
import { pause } from './pause.ts'
import { askInputs } from './server-questions.ts'

type Dict = { readonly [name: string]: unknown }
export type ServerOutcome = RpcOutcome | CircuitOpen

/** One request to the server of the task. */
export type SendToServer = (
  method: string,
  params: Dict,
  cancellation: Cancellation,
  timeoutMs: number,
) => Promise<ServerOutcome>

const POLL_MS = { default: 1_000, min: 100, max: 10_000 }
const STATE_WITHIN_MS = 10_000
const CANCEL_WITHIN_MS = 5_000
/** For states in a row that could not be read. */
const MAX_FAILURES = 10
const DECLINED = { action: 'decline' }

/** The task that a result stands for; undefined: it is the result itself. */
export function serverTaskOf(
  result: Dict,
): { readonly taskId: string; readonly legacy: boolean } | undefined {
  const { task, taskId, resultType } = result
  if (resultType === 'task' && typeof taskId === 'string') return { taskId, legacy: false }
  if (isObject(task) && typeof task.taskId === 'string' && !('content' in result))
    return { taskId: task.taskId, legacy: true }
  return undefined
}

export async function awaitServerTask(
  { taskId, legacy }: NonNullable<ReturnType<typeof serverTaskOf>>,
  exchange: Exchange,
  cancellation: Cancellation,
  send: SendToServer,
): Promise<ServerOutcome> {
  const cancelThere = (): void => void send('tasks/cancel', { taskId }, new Cancellation(), CANCEL_WITHIN_MS)
  const stop = cancellation.onCancel(cancelThere)
  const untilMs = performance.now() + callTimeoutMs(exchange)
  const questions = new TaskQuestions(exchange)
  let intervalMs = POLL_MS.default
  let failures = 0
  try {
    for (;;) {
      const remainingMs = untilMs - performance.now()
      if (cancellation.cancelled) return failure('cancelled', 'the call was cancelled', true)
      if (remainingMs <= 0) {
        cancelThere()
        return failure('timeout', 'the task of the MCP server did not end in time', true)
      }
      const outcome = legacy
        ? await send('tasks/result', { taskId }, cancellation, remainingMs)
        : await send('tasks/get', { taskId }, cancellation, Math.min(STATE_WITHIN_MS, remainingMs))
      if (outcome.kind === 'result' && legacy) return outcome
      if (outcome.kind === 'error') return outcome
      if (outcome.kind !== 'result') {
        // the task goes on while the server or the way to it is restarted
        if (++failures >= MAX_FAILURES) return outcome
      } else {
        failures = 0
        const ended = endOf(outcome.result)
        if (ended !== undefined) return ended
        const { status, inputRequests, pollIntervalMs } = outcome.result
        if (typeof pollIntervalMs === 'number')
          intervalMs = Math.min(POLL_MS.max, Math.max(POLL_MS.min, pollIntervalMs))
        if (status === 'input_required' && isObject(inputRequests)) {
          const inputResponses = await questions.responsesTo(inputRequests)
          if (inputResponses !== undefined) {
            const taken = await send(
              'tasks/update',
              { taskId, inputResponses },
              cancellation,
              STATE_WITHIN_MS,
            )
            if (taken.kind === 'result') questions.settle(inputResponses)
          }
        }
      }
      await pause(Math.min(intervalMs, remainingMs), cancellation)
    }
  } finally {
    stop()
  }
}

/** MCP 2026-07-28: undefined while the task goes on. */
function endOf({ status, result, error }: Dict): RpcOutcome | undefined {
  if (status === 'completed' && isObject(result)) return { kind: 'result', result }
  if (status === 'failed' && isObject(error) && typeof error.code === 'number')
    return { kind: 'error', code: error.code, message: String(error.message ?? '') }
  if (status === 'working' || status === 'input_required') return undefined
  return {
    kind: 'error',
    code: INTERNAL_ERROR,
    message: `the task of the MCP server ended without a result (status ${String(status).slice(0, 40)})`,
  }
}

/** Each question of a task is put once: a server that has not read the responses yet, or did not get them, shows it again under the same name. */
class TaskQuestions {
  readonly #exchange: Exchange
  /** By name; undefined: the server has received it. */
  readonly #responses = new Map<string, unknown>()
  #rounds = 0

  constructor(exchange: Exchange) {
    this.#exchange = exchange
  }

  /** What to send. Questions that the client cannot be asked are declined, so that the task can end. @returns undefined when the server has received everything */
  async responsesTo(inputRequests: Dict): Promise<Dict | undefined> {
    const names = Object.keys(inputRequests)
    const open = names.filter(name => !this.#responses.has(name))
    if (open.length > 0 && this.#rounds < MAX_ROUNDS) {
      this.#rounds++
      const given = await askInputs(
        this.#exchange,
        Object.fromEntries(open.map(name => [name, inputRequests[name]])),
      )
      for (const name of open) this.#responses.set(name, isObject(given) ? given[name] : DECLINED)
    }
    const due = names.filter(name => !this.#responses.has(name) || this.#responses.get(name) !== undefined)
    if (due.length === 0) return undefined
    return Object.fromEntries(due.map(name => [name, this.#responses.get(name) ?? DECLINED]))
  }

  settle(received: Dict): void {
    // those that are not known came after the last round: to keep them all would have no bound
    for (const name of Object.keys(received))
      if (this.#responses.has(name)) this.#responses.set(name, undefined)
  }
}
