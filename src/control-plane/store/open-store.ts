/** Opens the store of a database address, with or without migrating it. */

import { type DatabaseTarget, databaseTarget } from './database-url.ts'
import type { OpenedStore, StoreOptions } from './opened-store.ts'
import type { Store } from './store.ts'

type EmbeddedTarget = Exclude<DatabaseTarget, { readonly kind: 'postgres' }>

/**
 * Opens PGlite or PostgreSQL; the adapter is loaded only when it is used.
 * @throws Error that names the setting when the address is invalid, the directory is in use, a database that must exist is missing or the
 * server does not respond
 */
export async function openStore(options: StoreOptions): Promise<OpenedStore> {
  const target = databaseTarget(options.url, options.dataDir)
  if (target.kind === 'postgres') {
    const { openPostgres } = await import('./postgres/open-postgres.ts')
    return openPostgres(target.url, options)
  }
  if (options.mustExist === true) await requireDatabase(target, options.url)
  const { openPglite } = await import('./pglite/open-pglite.ts')
  return openPglite(target.kind === 'memory' ? undefined : target.directory, options)
}

/** Runs before the directory is locked, because the lock needs its folder. @throws Error that names the directory and the setting */
async function requireDatabase(target: EmbeddedTarget, url: string): Promise<void> {
  if (target.kind === 'memory')
    throw new Error(
      'DATABASE_URL is pglite:memory, a database that is empty in each new process. Set DATABASE_URL to a database on disk or on a server.',
    )
  const { exists } = await import('./pglite/create.ts')
  if (exists(target.directory)) return
  const setting = url === 'pglite:' ? 'DATA_DIR' : 'DATABASE_URL'
  throw new Error(
    `${target.directory} does not contain a database. Set ${setting} to the value that the control plane uses, or run toolgate db migrate to create an empty database.`,
  )
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
