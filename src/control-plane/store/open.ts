/** Opens the store of a database address, with or without migrating it. It contains no query. */

import { databaseTarget } from './database-url.ts'
import type { OpenedStore, StoreOptions } from './opened-store.ts'
import type { Store } from './store.ts'

/**
 * Opens PGlite or PostgreSQL; the adapter is loaded only when it is used.
 * @throws Error that names the setting when the address is invalid, the directory is in use or the server does not respond
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

/** Opens the store and applies missing migrations, under the lock of the database. */
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
