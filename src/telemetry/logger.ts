/** The pino logger, which writes JSON lines to stderr and redacts fields by name. The only importer of pino. */
import { pino } from 'pino'
import type { Log } from './log.ts'

/** Fields whose values never reach a line, even if a caller passes them, at the top or up to two levels below. */
const REDACTED = [
  'authorization',
  'token',
  'key',
  'secret',
  'password',
  'cookie',
  'client_secret',
  'access_token',
  'refresh_token',
]

export interface Logger extends Log {
  child(bindings: object): Logger
  flush(): void
}

/** @param sync lines are written before the call returns, for those after which the process may end */
export function createLogger(level: string, sync = false): Logger {
  const paths = REDACTED.flatMap(name => [name, `*.${name}`, `*.*.${name}`])
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths, censor: '[redacted]' },
    },
    pino.destination({ fd: 2, sync, minLength: 0 }),
  )
}
