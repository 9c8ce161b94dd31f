/** The operation a caller requests and its parameters. It holds no state of the call. */
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

/** The action names are those of the policy input. */
export type Operation =
  | {
      readonly action: 'tools.call'
      readonly tool: string
      readonly arguments: { readonly [name: string]: unknown }
      /** `none` when absent. */
      readonly optimization?: OptimizationLevel
      /** The tools that the address offers; all of them when absent. */
      readonly selection?: Selection
    }
  | { readonly action: 'tools.list' }
  | { readonly action: 'resources.list' }
  | { readonly action: 'prompts.list' }
  /** Use of the caller's own session (streams, cancellation, its end): ownership is the right to it. */
  | { readonly action: 'session' }
  | { readonly action: 'admin'; readonly resource: keyof typeof ADMIN_RESOURCES }
  | { readonly action: 'proxy'; readonly api: CompiledApi; readonly method: string }
