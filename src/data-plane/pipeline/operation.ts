/** What a caller wants done. It holds no state of a call. */
import type { CompiledApi } from '../snapshot/snapshot.ts'

/** What the caller wants done; the action names are those the policy sees. */
export type Operation =
  | {
      readonly action: 'tools.call'
      readonly tool: string
      readonly arguments: { readonly [name: string]: unknown }
    }
  | { readonly action: 'tools.list' }
  | { readonly action: 'resources.list' }
  | { readonly action: 'prompts.list' }
  | { readonly action: 'capabilities.read' }
  /** Use of the caller's own session (streams, cancellation, its end): ownership is the right to it. */
  | { readonly action: 'session' }
  | { readonly action: 'admin'; readonly resource: 'sessions' | 'quotas' | 'cache' | 'policy' }
  | { readonly action: 'proxy'; readonly api: CompiledApi }
