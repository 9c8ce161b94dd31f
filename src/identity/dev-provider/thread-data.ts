/** The start data of the development provider's thread, its log levels, and its report when it is ready. Types only. */
import type { MessagePort } from 'node:worker_threads'
import type { Log } from '../../telemetry/log.ts'
import type { DevProvider } from './dev-provider.ts'

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

export type ProviderLogLevel = Parameters<Log['isLevelEnabled']>[0]

export type ProviderReady = Omit<DevProvider, 'close'>
