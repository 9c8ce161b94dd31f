/** Opens the store that an address names. It runs no query and migrates nothing by itself. */
import { databaseTarget } from './database-url.ts'
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

/**
 * Opens PGlite or PostgreSQL; the adapter is loaded only when it is used.
 * @throws Error naming the setting when the address is wrong, the directory is in use or the server does not answer
 */
export async function openStore(options: StoreOptions): Promise<OpenedStore> {
  const target = databaseTarget(options.url, options.dataDir)
  if (target.kind === 'postgres') {
    const { openPostgres } = await import('./postgres/open.ts')
    return openPostgres(target.url, options)
  }
  const { openPglite } = await import('./pglite/open.ts')
  return openPglite(target.kind === 'memory' ? undefined : target.directory, options)
}

/** Opens the store and brings its schema up to date, under the database's lock. */
export async function openMigratedStore(options: StoreOptions): Promise<Store> {
  const { store, migrator } = await openStore(options)
  try {
    await migrator.migrate()
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}
