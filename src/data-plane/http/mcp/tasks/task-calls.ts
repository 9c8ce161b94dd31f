/** Runs a `tools/call` that may become a task, and replies with the task once it has begun. `task-methods.ts` serves `tasks/*`. */
import { randomBytes } from 'node:crypto'
import { isPending, type MaybePending } from '../../../../base/and-then.ts'
import { Cancellation } from '../../../../base/cancellation.ts'
import { isModernVersion, type ProtocolVersion } from '../../../../mcp/versions.ts'
import type { Principal } from '../../../../model/principal.ts'
import { type Refusal, refuse } from '../../../../model/refusal.ts'
import { INTERNAL_ERROR } from '../../../../model/rpc-errors.ts'
import type { TaskSide } from '../../../pipeline/task-side.ts'
import type { OnProgress } from '../../../pipeline/transport.ts'
import { ownerOf } from '../../../sessions/owner.ts'
import type { SessionStore } from '../../../sessions/session-store.ts'
import type { TaskLimits, TaskRecord } from '../../../sessions/task-store.ts'
import type { AccessWatch } from '../../access-watch.ts'
import type { Conversation } from '../conversation.ts'
import type { RpcRequest } from '../message.ts'
import { type ResultWriter, type RpcReply, textOf } from '../result.ts'
import { LEASE_MS, RunningTask, TaskClient, type TaskEnd } from './running-task.ts'
import { endOf, taskView } from './task-view.ts'

export interface TaskParts {
  readonly sessions: SessionStore
  readonly taskLimits: TaskLimits
  readonly access: Pick<AccessWatch, 'open'>
  readonly nowMs: () => number
}

const MIN_TTL_MS = 1_000
const DECLINED: TaskSide = {
  mode: 'declined',
  begun: false,
  timeoutMs: 0,
  begin: () => refuse('task_unsupported'),
}

type Run = (conversation: Conversation) => MaybePending<RpcReply>

/** @param run the call, through the pipeline */
export function callOrTask(
  parts: TaskParts,
  request: RpcRequest,
  conversation: Conversation,
  writer: ResultWriter,
  run: Run,
): MaybePending<RpcReply> {
  const { version, transport, takesTasks = false } = conversation
  const modern = isModernVersion(version)
  const { task } = request.params
  const isRequested = !modern && typeof task === 'object' && task !== null
  if (modern ? !takesTasks : !isRequested)
    return run({ ...conversation, transport: { ...transport, task: DECLINED } })
  const wantedMs = isRequested ? Number((task as { ttl?: unknown }).ttl ?? Number.NaN) : Number.NaN
  const side = new OfferedTask(parts, conversation, isRequested ? 'requested' : 'offered', wantedMs)
  return side.run(writer, request, run)
}

class OfferedTask implements TaskSide {
  readonly mode: 'requested' | 'offered'
  readonly timeoutMs: number
  readonly #parts: TaskParts
  readonly #conversation: Conversation
  readonly #cancellation = new Cancellation()
  #running: RunningTask | undefined
  #shown: ((task: TaskRecord) => void) | undefined

  constructor(parts: TaskParts, conversation: Conversation, mode: OfferedTask['mode'], wantedMs: number) {
    this.#parts = parts
    this.#conversation = conversation
    this.mode = mode
    const { maxTtlMs } = parts.taskLimits
    this.timeoutMs = wantedMs >= 0 ? Math.min(maxTtlMs, Math.max(MIN_TTL_MS, Math.ceil(wantedMs))) : maxTtlMs
  }

  get begun(): boolean {
    return this.#running !== undefined
  }

  run(writer: ResultWriter, { id }: RpcRequest, run: Run): MaybePending<RpcReply> {
    const { cancellation, transport, version } = this.#conversation
    // a task outlives its request
    const stop = cancellation.onCancel(() => {
      if (!this.begun) this.#cancellation.cancel()
    })
    const shown = new Promise<RpcReply>(resolve => {
      this.#shown = record => resolve(writer.task(id, taskView(record, version)))
    })
    const reply = run({
      ...this.#conversation,
      cancellation: this.#cancellation,
      transport: {
        ...transport,
        task: this,
        onProgress: this.#progressOf(transport.onProgress),
        client: transport.client && new TaskClient(transport.client, () => this.#running),
      },
    })
    if (!isPending(reply)) return reply
    const ended = reply.then(async value => {
      stop()
      const text = this.#running === undefined ? '' : await textOf(value.body)
      this.#running?.finish(this.#endOf(text, version))
      return value
    })
    return Promise.race([shown, ended])
  }

  async begin(principal: Principal): Promise<Refusal | undefined> {
    const { sessions, nowMs, taskLimits } = this.#parts
    const createdAtMs = nowMs()
    const record: TaskRecord = {
      id: randomBytes(18).toString('base64url'),
      owner: ownerOf(principal),
      createdAtMs,
      updatedAtMs: createdAtMs,
      ttlMs: this.timeoutMs,
      aliveUntilMs: createdAtMs + LEASE_MS,
      status: 'working',
    }
    const created = await Promise.resolve(sessions.tasks.create(record, taskLimits.maxPerCaller)).catch(
      () => 'unavailable' as const,
    )
    if (created === 'too_many') return refuse('too_many_tasks')
    if (created === 'unavailable') return refuse('tasks_unavailable')
    this.#running = new RunningTask({
      record,
      sessions,
      now: nowMs,
      cancellation: this.#cancellation,
      unstored: UNSTORED,
      onStatus: changed => this.#announce(changed),
    })
    if (this.#conversation.cancellation.cancelled) this.#cancellation.cancel()
    this.#shown?.(record)
    return undefined
  }

  /** On the stream of the session, wherever it is open (MCP 2025-11-25, `notifications/tasks/status`). */
  #announce(record: TaskRecord): void {
    const { transport, version } = this.#conversation
    if (transport.session === undefined) return
    const params = taskView(record, version)
    const message = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tasks/status', params })
    void this.#parts.sessions.signal(transport.session.id, { kind: 'notification', message })
  }

  #endOf(message: string, version: ProtocolVersion): TaskEnd {
    const { maxResultBytes } = this.#parts.taskLimits
    if (Buffer.byteLength(message) <= maxResultBytes) return endOf(message, version)
    return toFailure(
      `The call has ended, but its result is longer than ${maxResultBytes} bytes, the limit for the result of a task. Request less data or, if the tool does not require a task, call it without one.`,
    )
  }

  #progressOf(before: OnProgress | undefined): OnProgress {
    return (progress, total, message) => {
      if (this.#running === undefined) before?.(progress, total, message)
      else this.#running.report(progress, total, message)
    }
  }
}

function toFailure(message: string): TaskEnd {
  return { status: 'failed', outcome: `"error":${JSON.stringify({ code: INTERNAL_ERROR, message })}` }
}

const UNSTORED = toFailure(
  'The tool has been executed, but its result cannot be stored: the results of tasks use all the memory that is reserved for them. Next time, call the tool without a task, or request a shorter ttl.',
)
