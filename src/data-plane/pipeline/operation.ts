/** The operations that a caller can request, their parameters, levels of optimization and admin resources. */
import type { Tool } from '../../model/tool.ts'
import type { CompiledApi } from '../snapshot/snapshot.ts'
import type { Selection } from './selection.ts'

/** Levels of `X-Token-Optimization`. */
export const OPTIMIZATION_LEVELS = ['none', 'moderate', 'aggressive'] as const
export type OptimizationLevel = (typeof OPTIMIZATION_LEVELS)[number]

/** What the admin API is about; true: what it shows and changes belongs to tenants, so a caller of one tenant may use its part. */
export const ADMIN_RESOURCES = {
  sessions: false,
  quotas: true,
  cache: false,
  policy: false,
  calls: true,
  tools: true,
  toolsets: true,
  overview: true,
  workers: false,
  simulate: true,
  decisions: true,
} as const

/** The use of one tool, resource or prompt. */
export interface CallOperation {
  readonly action: 'tools.call' | 'resources.read' | 'prompts.get'
  /** Name of the tool; `resource:{uri}` or `prompt:{name}`; '' of an `UNREAD_CALL`. */
  readonly tool: string
  readonly arguments: { readonly [name: string]: unknown }
  /** `none` when absent. */
  readonly optimization?: OptimizationLevel
  /** The tools that the address offers; all of them when absent. */
  readonly selection?: Selection
  /** Values for an argument are asked for (`completion/complete`); the target itself is not called, and its arguments are unknown. */
  readonly completion?: { readonly [param: string]: unknown }
  /** Notifications of changes of the resource are asked for; it is not read. */
  readonly subscribes?: true
}

/** A call of a tool that is refused before its body is read: nothing else is known of it. */
export const UNREAD_CALL: CallOperation = Object.freeze({ action: 'tools.call', tool: '', arguments: {} })

const CALL_ACTIONS: ReadonlySet<string> = new Set<CallOperation['action']>([
  'tools.call',
  'resources.read',
  'prompts.get',
])

/** False for lists, streams, proxied calls and administration. */
export function isCall(operation: Operation): operation is CallOperation {
  return CALL_ACTIONS.has(operation.action)
}

/** The action that uses it. */
export function actionOf({ feature }: Tool): CallOperation['action'] {
  if (feature === undefined) return 'tools.call'
  return feature.kind === 'prompt' ? 'prompts.get' : 'resources.read'
}

/** The action names are those of the policy input. */
export type Operation =
  | CallOperation
  | { readonly action: 'tools.list' }
  | { readonly action: 'resources.list' }
  | { readonly action: 'prompts.list' }
  /** Use of the caller's own session (streams, cancellation, its end): ownership is the right to it. And a JSON-RPC message that is refused unread. */
  | { readonly action: 'session' }
  | { readonly action: 'admin'; readonly resource: keyof typeof ADMIN_RESOURCES }
  | { readonly action: 'proxy'; readonly api: CompiledApi; readonly method: string }
