/** `tasks/*`: the caller's own tasks are shown, listed, awaited, cancelled and given what they ask for. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { MaybePending } from '../../../../base/and-then.ts'
import type { Cancellation } from '../../../../base/cancellation.ts'
import { withDoubles } from '../../../../base/json/exact-number.ts'
import { isObject } from '../../../../base/json/is-object.ts'
import { hasFeature, isModernVersion, type ProtocolVersion } from '../../../../mcp/versions.ts'
import { type Refusal, refuse } from '../../../../model/refusal.ts'
import { INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST } from '../../../../model/rpc-errors.ts'
import type { Exchange } from '../../../pipeline/exchange.ts'
import type { Question, Questions } from '../../../pipeline/inquiry.ts'
import { ownerOf } from '../../../sessions/owner.ts'
import { taskChannel } from '../../../sessions/session-store.ts'
import { isEnded, type TaskRecord } from '../../../sessions/task-store.ts'
import { openedBy } from '../../access-check.ts'
import { rpcError, rpcStatus } from '../../refusal-body.ts'
import type { Conversation } from '../conversation.ts'
import { errorMessage, type RequestId, type RpcRequest, readCursor } from '../message.ts'
import { fault, type ResultWriter, type RpcReply } from '../result.ts'
import { RENEWED_WITHIN_MS } from './running-task.ts'
import type { TaskParts } from './task-calls.ts'
import { detailedTask, missingCapability, RELATED_TASK, taskView } from './task-view.ts'

const LEGACY_METHODS: ReadonlySet<string> = new Set([
  'tasks/get',
  'tasks/result',
  'tasks/list',
  'tasks/cancel',
])
const MODERN_METHODS: ReadonlySet<string> = new Set(['tasks/get', 'tasks/update', 'tasks/cancel'])
const PAGE_SIZE = 25
/** A signal may be lost: the store is read again. */
const LOOK_AGAIN_MS = 1_000
/** For the instance that runs the call to say that it was cancelled. */
const CANCEL_WITHIN_MS = 2_000

/** `unavailable`: the store did not respond; undefined: the task is unknown or expired, or of another caller. */
type StoredTask = TaskRecord | 'unavailable' | undefined

/** Runs the operation that checks the caller, then `done`. */
export type RunSession = (done: (exchange: Exchange) => MaybePending<RpcReply>) => MaybePending<RpcReply>

export class TaskMethods {
  readonly #parts: TaskParts

  constructor(parts: TaskParts) {
    this.#parts = parts
  }

  /** @returns undefined when this version has no such method */
  handle(
    request: RpcRequest,
    conversation: Conversation,
    writer: ResultWriter,
    run: RunSession,
  ): MaybePending<RpcReply> | undefined {
    const { id, method, params } = request
    const { version, takesTasks } = conversation
    const modern = isModernVersion(version)
    if (!(modern ? MODERN_METHODS : LEGACY_METHODS).has(method)) return undefined
    if (!hasFeature(version, 'tasks')) return undefined
    if (modern && takesTasks !== true) return missingCapability(id)
    if (method === 'tasks/list') return run(exchange => this.#list(request, exchange, conversation, writer))
    const { taskId } = params
    if (typeof taskId !== 'string') return fault(id, INVALID_PARAMS, 'taskId must be the id of a task.')
    return run(exchange => this.#withTask(taskId, exchange, request, conversation, writer))
  }

  async #withTask(
    taskId: string,
    exchange: Exchange,
    { id, method, params }: RpcRequest,
    conversation: Conversation,
    writer: ResultWriter,
  ): Promise<RpcReply> {
    const { version } = conversation
    const owner = ownerOf(exchange.principal!)
    const task = await this.#read(owner, taskId)
    if (task === 'unavailable') return unavailable(id, conversation)
    if (task === undefined) return fault(id, INVALID_PARAMS, 'Task not found, or it has expired.')
    switch (method) {
      case 'tasks/get':
        return writer.complete(
          id,
          isModernVersion(version) ? detailedTask(task, version) : JSON.stringify(taskView(task, version)),
        )
      case 'tasks/update': {
        const { inputResponses } = params
        if (!isObject(inputResponses)) return fault(id, INVALID_PARAMS, 'inputResponses must be an object.')
        await this.#give(task, inputResponses)
        return writer.complete(id, '{}')
      }
      case 'tasks/cancel':
        return this.#cancel(id, task, version, writer)
      default:
        return this.#watchedResult(id, task, exchange, conversation, writer)
    }
  }

  /** The client is asked and waits for as long as its caller has access. */
  async #watchedResult(
    id: RequestId,
    task: TaskRecord,
    exchange: Exchange,
    conversation: Conversation,
    writer: ResultWriter,
  ): Promise<RpcReply> {
    let refusal: Refusal | undefined
    const { cancellation } = conversation
    const unwatch = this.#parts.access.open(openedBy(exchange), exchange.snapshot, why => {
      refusal = why
      cancellation.cancel(why)
    })
    const reply = await this.#result(id, task, conversation, writer).finally(unwatch)
    return refusal === undefined ? reply : refused(id, conversation, refusal)
  }

  /** A call whose instance has ended is one that failed. */
  async #read(owner: string, taskId: string): Promise<StoredTask> {
    const { sessions, nowMs } = this.#parts
    const isLost = (task: StoredTask): task is TaskRecord =>
      typeof task === 'object' && !isEnded(task.status) && task.aliveUntilMs <= nowMs()
    let task = await this.#findTask(owner, taskId)
    if (isLost(task)) {
      // the store may be back after an outage in which no instance could renew its tasks
      await sleep(RENEWED_WITHIN_MS)
      task = await this.#findTask(owner, taskId)
    }
    if (!isLost(task)) return task
    const { inputRequests: _, ...rest } = task
    const message =
      'The gateway instance that ran this task has stopped, so the result is lost. The tool may have been executed: check its effect before you call the tool again.'
    const error = { code: INTERNAL_ERROR, message }
    const lost: TaskRecord = { ...rest, status: 'failed', outcome: `"error":${JSON.stringify(error)}` }
    await sessions.tasks.put(lost)
    return lost
  }

  async #findTask(owner: string, taskId: string): Promise<StoredTask> {
    try {
      return await this.#parts.sessions.tasks.get(owner, taskId)
    } catch {
      return 'unavailable'
    }
  }

  async #list(
    { id, params }: RpcRequest,
    exchange: Exchange,
    conversation: Conversation,
    writer: ResultWriter,
  ): Promise<RpcReply> {
    const { version } = conversation
    const cursor = readCursor(params)
    const listed = this.#parts.sessions.tasks.list(ownerOf(exchange.principal!))
    const stored = await Promise.resolve(listed).catch(() => 'unavailable' as const)
    if (stored === 'unavailable') return unavailable(id, conversation)
    const tasks = [...stored].sort((a, b) => (cursorOf(a) < cursorOf(b) ? -1 : 1))
    // a task that has expired since does not move the others: the cursor is the time and id of the last one
    const from = cursor === undefined ? 0 : tasks.findIndex(task => cursorOf(task) > String(cursor))
    if (cursor === false || (cursor !== undefined && !/^\d{13}-[\w-]{24}$/.test(cursor)))
      return fault(id, INVALID_PARAMS, 'cursor was not issued by this server.')
    const page = from < 0 ? [] : tasks.slice(from, from + PAGE_SIZE)
    const hasMore = from >= 0 && from + PAGE_SIZE < tasks.length
    const result = {
      tasks: page.map(task => taskView(task, version)),
      ...(hasMore ? { nextCursor: cursorOf(page.at(-1)!) } : undefined),
    }
    return writer.complete(id, JSON.stringify(result))
  }

  async #give(task: TaskRecord, responses: { readonly [name: string]: unknown }): Promise<void> {
    const signal = { kind: 'task_input', responses: withDoubles(responses) as typeof responses } as const
    const changed = this.#changeOf(task, 200)
    await this.#parts.sessions.signal(taskChannel(task.id), signal)
    // the next `tasks/get` shows the questions that are left
    const isKnown = Object.keys(responses).some(name => task.inputRequests?.[name] !== undefined)
    if (isKnown) await changed.waited
    else changed.stop()
  }

  async #cancel(
    id: RequestId,
    task: TaskRecord,
    version: ProtocolVersion,
    writer: ResultWriter,
  ): Promise<RpcReply> {
    const modern = isModernVersion(version)
    if (isEnded(task.status)) {
      if (modern) return writer.complete(id, '{}')
      return fault(id, INVALID_PARAMS, `The task has already ended with the status ${task.status}.`)
    }
    const changed = this.#changeOf(task, CANCEL_WITHIN_MS, current => isEnded(current.status))
    await this.#parts.sessions.signal(taskChannel(task.id), { kind: 'task_cancel' })
    const after = (await changed.waited) ?? task
    return writer.complete(id, modern ? '{}' : JSON.stringify(taskView(after, version)))
  }

  /** Only in 2025-11-25: waits for the end, and puts the questions of the task to the client of this request. */
  async #result(
    id: RequestId,
    first: TaskRecord,
    { transport, cancellation }: Conversation,
    writer: ResultWriter,
  ): Promise<RpcReply> {
    const asked = new Set<string>()
    let task = first
    while (!isEnded(task.status)) {
      for (const [name, question] of Object.entries(task.inputRequests ?? {})) {
        if (asked.has(name) || transport.client === undefined) continue
        asked.add(name)
        void this.#ask(task, { [name]: related(question as Question, task.id) }, transport.client)
      }
      const changed = this.#changeOf(task, LOOK_AGAIN_MS, () => true, cancellation)
      const next = (await changed.waited) ?? (await this.#read(task.owner, task.id))
      if (cancellation.cancelled) return fault(id, INTERNAL_ERROR, 'The request was cancelled.')
      // the call goes on while the store does not respond: so does this request, until the task has expired
      const isKept = next === 'unavailable' && task.createdAtMs + task.ttlMs > this.#parts.nowMs()
      if (isKept) continue
      if (next === 'unavailable' || next === undefined)
        return fault(id, INVALID_PARAMS, 'The task has expired.')
      task = next
    }
    if (task.outcome === undefined)
      return fault(id, INVALID_REQUEST, `The task ended with the status ${task.status} and has no result.`)
    const { result, error } = JSON.parse(`{${task.outcome}}`) as { result?: object; error?: RpcFault }
    if (error !== undefined) return fault(id, error.code, error.message, error.data)
    const meta = { ...(result as { _meta?: object })._meta, [RELATED_TASK]: { taskId: task.id } }
    const json = task.outcome.slice('"result":'.length)
    return writer.complete(id, withoutMeta(json, result!), undefined, meta)
  }

  async #ask(
    { id, owner }: TaskRecord,
    questions: Questions,
    client: NonNullable<Conversation['transport']['client']>,
  ): Promise<void> {
    // the task has its own caller, tool and arguments; the client only needs the questions
    const inquiry = {
      tool: '',
      arguments: {},
      principal: { subject: owner } as never,
      questions,
      bound: false,
    }
    const answers = await client.ask(inquiry)
    if (answers === 'pending') return
    const [name] = Object.keys(questions)
    const responses = answers === 'declined' ? { [name!]: { action: 'decline' } } : answers
    await this.#parts.sessions.signal(taskChannel(id), { kind: 'task_input', responses })
  }

  /** Waits for the next change. @returns the task as it is then; undefined when none came in time */
  #changeOf(
    { owner, id }: TaskRecord,
    withinMs: number,
    isAwaited: (task: TaskRecord) => boolean = () => true,
    cancellation?: Cancellation,
  ): { readonly waited: Promise<TaskRecord | undefined>; stop(): void } {
    let stop = (): void => {}
    const waited = new Promise<TaskRecord | undefined>(resolve => {
      let uncancel: (() => void) | undefined
      const settle = (task: TaskRecord | undefined): void => {
        clearTimeout(timer)
        unlisten()
        uncancel?.()
        resolve(task)
      }
      const look = async (): Promise<void> => {
        const task = await this.#findTask(owner, id)
        if (task !== 'unavailable' && task !== undefined && isAwaited(task)) settle(task)
      }
      const timer = setTimeout(() => settle(undefined), withinMs).unref()
      const unlisten = this.#parts.sessions.listen(taskChannel(id), signal => {
        if (signal.kind === 'task_changed') void look()
      })
      uncancel = cancellation?.onCancel(() => settle(undefined))
      stop = () => settle(undefined)
    })
    return { waited, stop: () => stop() }
  }
}

interface RpcFault {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** As for other parts that do not respond; "not found" would make the client drop a task that is running. */
function unavailable(id: RequestId, conversation: Conversation): RpcReply {
  return refused(id, conversation, refuse('tasks_unavailable'))
}

function refused(id: RequestId, { call }: Conversation, refusal: Refusal): RpcReply {
  const body = errorMessage(id, rpcError(refusal, call.requestId))
  return { status: rpcStatus(refusal), headers: [], body }
}

function cursorOf({ createdAtMs, id }: TaskRecord): string {
  return `${createdAtMs}-${id}`
}

function related({ method, params }: Question, taskId: string): Question {
  const meta = isObject(params._meta) ? params._meta : {}
  return { method, params: { ...params, _meta: { ...meta, [RELATED_TASK]: { taskId } } } }
}

/** The text as it is where there is none, so that numbers stay as they were written. */
function withoutMeta(json: string, result: object): string {
  if (!('_meta' in result)) return json
  const { _meta: _, ...rest } = result
  return JSON.stringify(rest)
}
