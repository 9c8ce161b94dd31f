/** A store for requests: a caller gets `StoreUnavailable` in time, although a silent server is only noticed later. It contains no query. */
import { type Store, StoreUnavailable } from './store.ts'

const DEADLINE_MS = 5_000

/** The transaction itself continues: after the deadline its outcome is unknown, as after a failure during the commit. */
export function withDeadline(store: Store, deadlineMs = DEADLINE_MS): Store {
  const bound = <T>(work: Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const late = (): void =>
        reject(new StoreUnavailable(new Error(`the database did not respond within ${deadlineMs} ms`)))
      const timer = setTimeout(late, deadlineMs)
      work.then(resolve, reject).finally(() => clearTimeout(timer))
    })
  return {
    ...store,
    write: (scope, work) => bound(store.write(scope, work)),
    read: (scope, work) => bound(store.read(scope, work)),
  }
}
