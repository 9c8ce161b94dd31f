/** The interface of the log that every room takes. Room code never formats a line itself. */

export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export const SILENT: Log = Object.freeze({ debug() {}, info() {}, warn() {}, error() {} })
