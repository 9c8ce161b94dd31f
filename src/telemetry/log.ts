/** The interface of the log, and a log that writes nothing. */

export interface Log {
  /** Whether lines of this level are written anywhere. */
  isLevelEnabled(level: 'debug' | 'info' | 'warn' | 'error'): boolean
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export const SILENT: Log = Object.freeze({
  isLevelEnabled: () => false,
  debug() {},
  info() {},
  warn() {},
  error() {},
})
