/** A store for requests, whose `read` and `write` reject after a deadline, and the report of late ones. */
import { type Store, StoreUnavailable } from './store.ts'

const DEADLINE_MS = 5_000
/** A database that is slow for a while is reported once in this time, not for each request. */
const REPORT_EVERY_MS = 10_000

export type OnLate = (message: string, error: unknown) => void

/**
 * After the deadline the outcome of the transaction is unknown, as after a failure during the commit.
 * @param onLate the pool reports servers that refuse; this, a query that waits, such as for a lock
 */
export function withDeadline(store: Store, onLate: OnLate, deadlineMs = DEADLINE_MS): Store {
  let reportedAtMs = -Infinity
  const expire = (): StoreUnavailable => {
    const error = new Error(`the database did not respond within ${deadlineMs} ms`)
    const nowMs = performance.now()
    if (nowMs - reportedAtMs >= REPORT_EVERY_MS) {
      reportedAtMs = nowMs
      onLate('a request waited too long for the database', error)
    }
    return new StoreUnavailable(error)
  }
  const bound = <T>(work: Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(expire()), deadlineMs)
      work.then(resolve, reject).finally(() => clearTimeout(timer))
    })
  return {
    ...store,
    write: (scope, work) => bound(store.write(scope, work)),
    read: (scope, work) => bound(store.read(scope, work)),
  }
}
