/** How protocol versions show tasks: capabilities, states, ends and errors. Pure. */

import { hasFeature, isModernVersion, type ProtocolVersion } from '../../../../mcp/versions.ts'
import { MISSING_CAPABILITY } from '../../../../model/rpc-errors.ts'
import type { TaskRecord, TaskStatus } from '../../../sessions/task-store.ts'
import type { RequestId } from '../message.ts'
import { fault, type RpcReply } from '../result.ts'

/** The extension of 2026-07-28. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'
/** `_meta` of what belongs to a task (2025-11-25). */
export const RELATED_TASK = 'io.modelcontextprotocol/related-task'
const POLL_MS = 1_000

/** What the gateway declares, where a tool of the catalog runs as a task. */
export function taskCapabilities(version: ProtocolVersion): object | undefined {
  if (isModernVersion(version)) return { extensions: { [TASKS_EXTENSION]: {} } }
  return hasFeature(version, 'coreTasks')
    ? { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } }
    : undefined
}

/** Without result and questions. */
export function taskView(task: TaskRecord, version: ProtocolVersion): { readonly [name: string]: unknown } {
  const { id: taskId, status, statusMessage, createdAtMs, updatedAtMs, ttlMs } = task
  const common = {
    taskId,
    status,
    statusMessage,
    createdAt: new Date(createdAtMs).toISOString(),
    lastUpdatedAt: new Date(updatedAtMs).toISOString(),
  }
  return isModernVersion(version)
    ? { ...common, ttlMs, pollIntervalMs: POLL_MS }
    : { ...common, ttl: ttlMs, pollInterval: POLL_MS }
}

/** With what the state of a task holds; JSON, because outcomes are serialized. */
export function detailedTask(task: TaskRecord, version: ProtocolVersion): string {
  const { inputRequests, outcome } = task
  const json = JSON.stringify({ ...taskView(task, version), inputRequests })
  return outcome === undefined ? json : `${json.slice(0, -1)},${outcome}}`
}

/** How a response ends a task. @param message the response of the call, as JSON-RPC */
export function endOf(
  message: string,
  version: ProtocolVersion,
): { readonly status: Extract<TaskStatus, 'completed' | 'failed'>; readonly outcome: string } {
  const { result, error } = JSON.parse(message) as {
    readonly result?: { readonly isError?: unknown; readonly content?: unknown; readonly _meta?: unknown }
    readonly error?: object
  }
  if (error !== undefined) return { status: 'failed', outcome: memberOf(message, 'error') }
  if (result?.isError !== true) return { status: 'completed', outcome: memberOf(message, 'result') }
  // up to 2025-11-25 a result that says what failed is one of a failed task
  if (!isModernVersion(version)) return { status: 'failed', outcome: memberOf(message, 'result') }
  const code = rpcCodeOf(result._meta)
  if (code === undefined) return { status: 'completed', outcome: memberOf(message, 'result') }
  const [part] = Array.isArray(result.content) ? result.content : []
  const text = (part as { text?: unknown } | undefined)?.text
  const said = typeof text === 'string' ? text : 'The MCP server responded with an error.'
  return { status: 'failed', outcome: `"error":${JSON.stringify({ code, message: said })}` }
}

/** The server of the tool responded with an error of the protocol. */
function rpcCodeOf(meta: unknown): number | undefined {
  const backend = (meta as { readonly [key: string]: { rpc_code?: unknown } } | undefined)?.[
    'toolgate.dev/backend'
  ]
  return typeof backend?.rpc_code === 'number' ? backend.rpc_code : undefined
}

/** The text of the last member of a message, with its name: numbers stay as they were written. */
function memberOf(message: string, name: 'result' | 'error'): string {
  return message.slice(message.indexOf(`"${name}":`), -1)
}

/** For a client of 2026-07-28 that does not take tasks. */
export function missingCapability(id: RequestId): RpcReply {
  const data = { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } }
  return fault(
    id,
    MISSING_CAPABILITY,
    `The request needs the client capability ${TASKS_EXTENSION}.`,
    data,
    400,
  )
}
