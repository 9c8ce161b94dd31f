/** What opening a store takes and returns, the same for every database. It opens nothing. */
import type { Migrator } from './migrations/run.ts'
import type { Sealer } from './sealer.ts'
import type { Store } from './store.ts'

export interface StoreOptions {
  readonly url: string
  /** Where `pglite:` without a directory keeps its files. */
  readonly dataDir: string
  /** Unix ms; every row is stamped with it. */
  readonly now: () => number
  /** Told of what goes wrong behind a caller's back: a lost listening connection, a lock that could not be refreshed. */
  readonly onFault: (message: string, error: unknown) => void
  /** Seals webhook secrets; a store without one can hold no webhook that has a secret. */
  readonly sealer?: Sealer
  /** Connections of the pool; 10. PGlite has always one. */
  readonly maxConnections?: number
}

/** A database that has been opened but not necessarily migrated. */
export interface OpenedStore {
  readonly store: Store
  readonly migrator: Migrator
}
