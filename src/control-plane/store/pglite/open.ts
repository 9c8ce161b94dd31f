/** Opens the embedded database, on disk or in memory. */
import { PGlite } from '@electric-sql/pglite'
import { type DirectoryLock, lockDirectory } from '../../../base/fs/directory-lock.ts'
import { makeTreePrivate } from '../../../base/fs/private-tree.ts'
import { NO_SEALER } from '../../../base/secrets/sealer.ts'
import { createMigrator } from '../migrations/run.ts'
import type { OpenedStore, StoreOptions } from '../opened-store.ts'
import { CHANNEL } from '../sql/session.ts'
import { readSignal } from '../sql/signal.ts'
import { database, sqlStore } from '../sql/sql-store.ts'
import { createTransfer } from '../transfer.ts'
import { baselineModule } from './baseline-module.ts'
import { create, exists } from './create.ts'
import { pgliteDialect } from './dialect.ts'
import { PrivateNodeFs } from './private-files.ts'

/**
 * @param directory undefined: in memory
 * @throws Error when another process has the directory
 */
export async function openPglite(directory: string | undefined, options: StoreOptions): Promise<OpenedStore> {
  const lock = directory === undefined ? undefined : lockDatabase(directory, options)
  try {
    if (directory !== undefined) {
      if (exists(directory)) makeTreePrivate(directory)
      else await create(directory)
    }
    const client = await start(directory)
    const db = database(pgliteDialect(client))
    const store = sqlStore({
      adapter: 'pglite',
      db,
      now: options.now,
      sealer: options.sealer ?? NO_SEALER,
      mail: options.mail,
      listen: async listener => {
        try {
          return await client.listen(CHANNEL, payload => listener(readSignal(payload)))
        } catch (error) {
          // readers also poll
          options.onFault(
            'LISTEN failed on the embedded database; the control plane finds changes by polling',
            error,
          )
          return async () => {}
        }
      },
      onClose: async () => {
        await client.close()
        lock?.release()
      },
    })
    return { store, migrator: createMigrator(db, options.now), transfer: createTransfer(db, options.now) }
  } catch (error) {
    lock?.release()
    throw error
  }
}

/** PGlite touches all of its 128 MB at once; the file cache of the system holds what does not fit into this. */
const START_PARAMETERS = [...PGlite.defaultStartParams, '-c', 'shared_buffers=16MB']

/** @throws Error naming the directory and the fix; PGlite names neither */
async function start(directory: string | undefined): Promise<PGlite> {
  const options = { startParams: START_PARAMETERS, pgliteWasmModule: baselineModule() }
  if (directory === undefined) return PGlite.create(options)
  try {
    return await PGlite.create({ ...options, fs: new PrivateNodeFs(directory) })
  } catch (error) {
    // of the file system, not of the content
    if ((error as NodeJS.ErrnoException).code !== undefined) throw error
    throw new Error(
      `the embedded database in ${directory} cannot be opened (${(error as Error).message}): the database is damaged, or another version of PostgreSQL created it. Restore the directory from a backup. To start with an empty database, move the directory elsewhere.`,
    )
  }
}

/** PGlite lets a second process open a directory; both would write the same files. */
function lockDatabase(directory: string, { onFault }: StoreOptions): DirectoryLock {
  return lockDirectory(directory, { file: `${directory}.lock`, setting: 'DATABASE_URL', onFault })
}
