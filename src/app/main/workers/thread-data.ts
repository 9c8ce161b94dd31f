/** The data and ports a worker thread starts with, and its report that it is ready. Types only. */

import type { MessagePort } from 'node:worker_threads'
import type { Assumption } from '../../../data-plane/quota/journal/assumption.ts'
import type { SharedQuota } from '../../../data-plane/quota/memory/kernel.ts'
import type { RingKey } from '../../../data-plane/sessions/key-ring.ts'
import type { Settings } from '../../settings.ts'

/** How the thread joins the quotas of its process. */
export type QuotaShare =
  | {
      readonly kind: 'journal'
      readonly dir: string
      readonly share: SharedQuota
      readonly assumption: Assumption | undefined
    }
  | { readonly kind: 'redis'; readonly share: SharedQuota; readonly port: MessagePort }

export interface ThreadData {
  readonly settings: Settings
  readonly issuer: string
  /** Public address of the control plane, without trailing slash. */
  readonly apiUrl: string
  /** From 1. */
  readonly thread: number
  /** 0 in the first thread if it must choose a free port. */
  readonly port: number
  readonly quota: QuotaShare
  /** For all other messages, see `thread.ts` and `worker-threads.ts`. */
  readonly line: MessagePort
  /** See `FairShares`. */
  readonly heldBytes: SharedArrayBuffer
  /** See `BundleDistribution`; undefined where no bundles are served. */
  readonly policyEpoch: SharedArrayBuffer | undefined
  readonly sessionKeys: readonly RingKey[]
  /** Faults of the process, by part. */
  readonly conditions: readonly (readonly [string, string])[]
  /** How far tests have advanced the clock. */
  readonly clockOffsetMs: number
}

/** Sent by the thread once its data plane is started; the port opens later, unless the thread chose it. */
export interface ThreadReady {
  readonly port: number
  readonly httpServer: 'uws' | 'node'
}
