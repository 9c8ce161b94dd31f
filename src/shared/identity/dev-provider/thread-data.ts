/** What the thread of the development provider starts with. Types only. */
import type { MessagePort } from 'node:worker_threads'

export interface ProviderThreadData {
  readonly host: string
  /** 0 takes a free port. */
  readonly port: number
  /** Holds the signing key. */
  readonly dataDir: string
  /** Names under which it serves. */
  readonly servedNames: readonly string[]
  /** Pages of these origins may call it. */
  readonly origins: readonly string[]
  readonly clockOffsetMs: number
  /** Levels of log lines that are written. */
  readonly levels: readonly ProviderLogLevel[]
  /** For log lines, the clock and the end. */
  readonly line: MessagePort
}

export type ProviderLogLevel = 'debug' | 'info' | 'warn' | 'error'

export interface ProviderReady {
  readonly issuer: string
  readonly port: number
}
