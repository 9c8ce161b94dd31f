/** A log that leaves out repetitions of a message for a time, and counts them. */
import type { Log } from './log.ts'

const EVERY_MS = 30_000

/** For the state of a dependency that changes several times a second. @param nowMs monotonic */
export function limitRepeats(
  log: Log,
  nowMs = () => performance.now(),
): Pick<Log, 'info' | 'warn' | 'error'> {
  const written = new Map<string, { readonly atMs: number; leftOut: number }>()
  const limitLevel =
    (level: 'info' | 'warn' | 'error') =>
    (fields: object, message: string): void => {
      const last = written.get(message)
      if (last !== undefined && nowMs() - last.atMs < EVERY_MS) {
        last.leftOut++
        return
      }
      const repeats = last === undefined || last.leftOut === 0 ? {} : { left_out: last.leftOut }
      written.set(message, { atMs: nowMs(), leftOut: 0 })
      log[level]({ ...fields, ...repeats }, message)
    }
  return { info: limitLevel('info'), warn: limitLevel('warn'), error: limitLevel('error') }
}
