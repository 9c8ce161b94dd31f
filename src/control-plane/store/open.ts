/** Opens the store that an address names. It runs no query and migrates nothing by itself. */

import { databaseTarget } from './database-url.ts'
import type { OpenedStore, StoreOptions } from './opened-store.ts'
import type { Store } from './store.ts'

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
