/** Options and result of opening a store. */

import type { Sealer } from '../../base/secrets/sealer.ts'
import type { Migrator } from './migrations/run.ts'
import type { Store } from './store.ts'
import type { Transfer } from './transfer.ts'

export interface MailOptions {
  /** Called with the number of mails that were not written, because their tenant has reached its daily limit of mails. */
  readonly onOmitted: (mails: number) => void
}

export interface StoreOptions {
  readonly url: string
  /** Direct URL of the same PostgreSQL without a connection pooler, for what needs a session: LISTEN. undefined: `url` itself. */
  readonly directUrl?: string | undefined
  /** Where `pglite:` without a directory keeps its files. */
  readonly dataDir: string
  /** A missing embedded database is then an error; by default it is created. */
  readonly mustExist?: boolean
  /** @returns Unix ms that every row is stamped with and compared to, from those of the database's clock; default: these. For tests */
  readonly now?: (databaseMs: number) => number
  /** Called in each transaction with how far the clock of this process is ahead of the database's, in ms; negative: behind. */
  readonly onClock?: (aheadMs: number) => void
  /** Called for errors that no caller gets: a lost listening connection, a lock that could not be refreshed. */
  readonly onFault: (message: string, error: unknown) => void
  /** Called when the database becomes unavailable, and when it is available again. */
  readonly onAvailable?: (available: boolean) => void
  /** Seals webhook secrets; required for webhooks with a secret. */
  readonly sealer?: Sealer
  /** A query of PostgreSQL without a response fails after so long; default 20 s. 0: it waits. */
  readonly queryTimeoutMs?: number
  /** Present: a mail is written for each notice and recipient. */
  readonly mail?: MailOptions | undefined
  /** Size of the connection pool, default 10; PGlite always has one connection. */
  readonly maxConnections?: number
}

/** A database that has been opened but not necessarily migrated. */
export interface OpenedStore {
  readonly store: Store
  readonly migrator: Migrator
  readonly transfer: Transfer
}
