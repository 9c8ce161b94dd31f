/** Opens the embedded database, on disk or in memory. */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { setFlagsFromString } from 'node:v8'
import { PGlite } from '@electric-sql/pglite'
import { NodeFS } from '@electric-sql/pglite/nodefs'
import { type DirectoryLock, lockDirectory } from '../../../base/fs/directory-lock.ts'
import { makeTreePrivate } from '../../../base/fs/private-tree.ts'
import { NO_SEALER } from '../../../base/secrets/sealer.ts'
import { createMigrator } from '../migrations/run.ts'
import type { OpenedStore, StoreOptions } from '../opened-store.ts'
import { CHANNEL } from '../sql/session.ts'
import { readSignal } from '../sql/signal.ts'
import { database, sqlStore } from '../sql/sql-store.ts'
import { createTransfer } from '../transfer.ts'
import { create, exists } from './create.ts'
import { pgliteDialect } from './dialect.ts'

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
      onClock: options.onClock,
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
    return { store, migrator: createMigrator(db), transfer: createTransfer(db) }
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

/**
 * The optimizing compiler takes 600 MB for one function of PGlite in Node 24 and 86 MB in Node 20, and more processor time than what the
 * database runs in its first minutes: a container with 512 MB was killed at its start. Code that is compiled while `--wasm-dynamic-tiering` is
 * off does not count its executions, so that it is never optimized; it has to be compiled at once (`--no-wasm-lazy-compilation`), since
 * functions that are compiled later would count again.
 */
const WHILE_COMPILING = ['wasm-tier-up', 'wasm-dynamic-tiering', 'wasm-lazy-compilation']

let compiled: WebAssembly.Module | undefined

/** Compiled once per thread, in about 0.3 s, synchronously: so no other module is compiled with these flags in this thread. */
function baselineModule(): WebAssembly.Module {
  compiled ??= compile()
  return compiled
}

function compile(): WebAssembly.Module {
  const bytes = readFileSync(createRequire(import.meta.url).resolve('@electric-sql/pglite/pglite.wasm'))
  for (const flag of WHILE_COMPILING) setFlagsFromString(`--no-${flag}`)
  try {
    return new WebAssembly.Module(bytes)
  } finally {
    // their earlier values are not read
    for (const flag of WHILE_COMPILING) setFlagsFromString(`--${flag}`)
  }
}

const GROUP_AND_OTHERS = 0o077

interface Attributes {
  readonly mode?: number | null
}
type SetAttributes = (target: unknown, attributes: Attributes) => void
interface HostFiles {
  readonly node_ops: { setattr: SetAttributes }
  readonly stream_ops: { setattr: SetAttributes }
}

/**
 * Emscripten sets the mode of every file with chmod(2), to which no umask applies, and PGlite requests 0666.
 * Therefore the modes are masked where Emscripten passes them to the host.
 */
class PrivateNodeFs extends NodeFS {
  override async init(...[pg, options]: Parameters<NodeFS['init']>): ReturnType<NodeFS['init']> {
    const { emscriptenOpts } = await super.init(pg, options)
    const mask = (module: unknown): void => {
      const { node_ops, stream_ops } = (module as { NODEFS: HostFiles }).NODEFS
      for (const operations of [node_ops, stream_ops]) {
        const setAttributes = operations.setattr
        operations.setattr = (target, attributes) =>
          setAttributes(
            target,
            attributes.mode == null
              ? attributes
              : { ...attributes, mode: attributes.mode & ~GROUP_AND_OTHERS },
          )
      }
    }
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [mask, ...(emscriptenOpts.preRun ?? [])] } }
  }
}
