/** Options and result of opening a store, the same for every database. It opens no database. */
import type { Migrator } from './migrations/run.ts'
import type { Sealer } from './sealer.ts'
import type { Store } from './store.ts'

export interface StoreOptions {
  readonly url: string
  /** Where `pglite:` without a directory keeps its files. */
  readonly dataDir: string
  /** Unix ms; every row is stamped with it. */
  readonly now: () => number
  /** Called for errors that no caller gets: a lost listening connection, a lock that could not be refreshed. */
  readonly onFault: (message: string, error: unknown) => void
  /** Called when the database becomes unavailable, and when it is available again. */
  readonly onAvailable?: (available: boolean) => void
  /** Seals webhook secrets; required for webhooks with a secret. */
  readonly sealer?: Sealer
  /** Size of the connection pool, default 10; PGlite always has one connection. */
  readonly maxConnections?: number
}

/** A database that has been opened but not necessarily migrated. */
export interface OpenedStore {
  readonly store: Store
  readonly migrator: Migrator
}
