/** The levels of log messages, and their notifications to a client. */
import { writeJson } from '../../../base/json/exact-number.ts'
import type { OnLog } from '../../pipeline/transport.ts'

/** RFC 5424, as MCP writes them; the least severe first. */
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

export const UNKNOWN_LOG_LEVEL = `level must be one of ${LEVELS.join(', ')}.`

export function isLogLevel(level: unknown): level is string {
  return LEVELS.includes(level as string)
}

/**
 * @param level that the client wants at least; undefined: it has not said
 * @returns undefined when the client cannot receive messages before the reply
 */
export function logSink(
  send: ((json: string) => void) | undefined,
  level: string | undefined,
): OnLog | undefined {
  if (send === undefined) return undefined
  const from = level === undefined ? 0 : LEVELS.indexOf(level)
  return params => {
    if (LEVELS.indexOf(String(params.level)) < from) return
    send(writeJson({ jsonrpc: '2.0', method: 'notifications/message', params }))
  }
}
