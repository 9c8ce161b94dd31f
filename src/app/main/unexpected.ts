/** The rule for errors that no code expected: reports them, and ends the process or the thread for some. */
import { createLogger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Settings } from '../settings.ts'

/** Tests that start processes look for it. */
const MESSAGE = 'unexpected error'
/** EX_SOFTWARE of sysexits.h. */
const EXIT_SOFTWARE = 70
const MAX_CHARACTERS = 4_000
const CREDENTIALS = /\/\/[^/\s@]*@/g

/** How an error arrived; a metric label. */
type UnexpectedKind = 'rejection' | 'error_event' | 'handler' | 'exception'

export type ReportUnexpected = (kind: UnexpectedKind, error: unknown) => void

/**
 * - A rejection: one operation of a client library failed, and no code waited for it. The process continues.
 * - An `error` event without a listener: a connection failed, and its client reconnects. The process continues.
 * - An exception in a handler of a request: the request got 500, and what it shares with others, such as snapshots and counters, changes in
 *   single steps that do not throw. The listeners catch it outside of the native callback, so uWebSockets.js never sees it. The process
 *   continues, because one request must not end all others.
 * - Any other exception is a programming error in a callback, such as a timer that renews a lease. The rest of its work is missing from then
 *   on, unnoticed: the process ends with 70 and is restarted by its orchestrator; a worker thread ends and is replaced.
 */
export function catchUnexpectedErrors({ logLevel }: Settings, metrics: Metrics): ReportUnexpected {
  // also with LOG_LEVEL=silent, and written before the process ends
  const log = createLogger(logLevel === 'silent' || logLevel === 'fatal' ? 'error' : logLevel, true)
  const report: ReportUnexpected = (kind, error) => {
    metrics.unexpected(kind)
    log.error({ kind, ...fieldsOf(error) }, MESSAGE)
  }
  process.on('unhandledRejection', error => report('rejection', error))
  process.on('uncaughtException', error => {
    if (isErrorEvent(error)) return report('error_event', error)
    report('exception', error)
    process.exit(EXIT_SOFTWARE)
  })
  return report
}

/** `EventEmitter` marks an error that it throws because the event has no listener; ERR_UNHANDLED_ERROR stands for a value that is not an Error. */
function isErrorEvent(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return (
    (error as NodeJS.ErrnoException).code === 'ERR_UNHANDLED_ERROR' ||
    Object.getOwnPropertySymbols(error).some(symbol => symbol.description === 'kEnhanceStackBeforeInspector')
  )
}

/** Only these: other properties of an error of a client library may hold the command, with its password. */
function fieldsOf(error: unknown): object {
  if (!(error instanceof Error))
    return { reason: `the thrown value is not an Error; its type is ${typeof error}` }
  const { code } = error as NodeJS.ErrnoException
  return {
    error: error.name,
    code: typeof code === 'string' ? code : undefined,
    reason: redact(error.message),
    stack: redact(error.stack ?? ''),
  }
}

/** Without the user and password of addresses. */
function redact(text: string): string {
  return text.slice(0, MAX_CHARACTERS).replace(CREDENTIALS, '//')
}
