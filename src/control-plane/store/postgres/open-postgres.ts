/** Opens a PostgreSQL database as a store with its migrator and transfer, and reports why it cannot. `pool.ts` and `listen.ts` open the connections. */
import { PostgresDialect } from 'kysely'
import pg from 'pg'
import { NO_SEALER } from '../../../base/secrets/sealer.ts'
import { createMigrator } from '../migrations/run.ts'
import type { OpenedStore, StoreOptions } from '../opened-store.ts'
import { database, sqlStore } from '../sql/sql-store.ts'
import { StoreUnavailable } from '../store.ts'
import { createTransfer } from '../transfer.ts'
import { listen } from './listen.ts'
import { meansUnavailable, openPool } from './pool.ts'

/** Connect timeout of a new connection, and of the wait for a free one. */
const CONNECT_TIMEOUT_MS = 2_000
const STATEMENT_TIMEOUT_MS = 15_000
const IDLE_IN_TRANSACTION_MS = 15_000
const INT8_OID = 20

/** int8 as a number: our counters stay far below 2^53. */
const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    return oid === INT8_OID ? (text: string) => Number(text) : pg.types.getTypeParser(oid, format)
  },
} as unknown as pg.CustomTypesConfig

/**
 * The messages of its errors name DATABASE_URL and contain no password.
 * @throws StoreUnavailable when the server may respond later
 * @throws Error when it refuses the setting, such as the password or the name of the database
 */
export async function openPostgres(url: string, options: StoreOptions): Promise<OpenedStore> {
  const connection: pg.ClientConfig = {
    connectionString: url,
    application_name: 'toolgate',
    types,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
  }
  const listening = {
    config: { ...connection, connectionString: options.directUrl ?? url },
    isDirect: options.directUrl !== undefined,
  }
  let isOpen = false
  const pool = openPool(
    {
      ...connection,
      max: options.maxConnections ?? 10,
      // Covers a server that stops without closing the connection and so never reports its own timeout.
      query_timeout: options.queryTimeoutMs ?? STATEMENT_TIMEOUT_MS + 5_000,
    },
    {
      // During opening, the caller gets the error.
      onFault(message, error) {
        if (isOpen) options.onFault(message, error)
      },
      onAvailable: available => options.onAvailable?.(available),
    },
  )
  const db = database(new PostgresDialect({ pool }))
  const store = sqlStore({
    adapter: 'postgres',
    db,
    now: options.now,
    onClock: options.onClock,
    sealer: options.sealer ?? NO_SEALER,
    mail: options.mail,
    // as parameters of the connection, a pooler would refuse them
    settings: {
      statement_timeout: `${STATEMENT_TIMEOUT_MS}ms`,
      idle_in_transaction_session_timeout: `${IDLE_IN_TRANSACTION_MS}ms`,
    },
    listen: listener => listen(listening, listener, options.onFault),
    onClose: async () => {},
  })
  try {
    await store.ping()
    isOpen = true
  } catch (error) {
    await store.close()
    const reason = error instanceof StoreUnavailable ? error.cause : error
    const text =
      reason instanceof Error ? reason.message || (reason as { code?: string }).code : String(reason)
    if (meansUnavailable(reason))
      throw new StoreUnavailable(
        reason,
        `the database at ${host(url)} does not respond: ${text}. Check DATABASE_URL.`,
      )
    throw new Error(`the database at ${host(url)} refuses the connection: ${text}. Check DATABASE_URL.`)
  }
  return { store, migrator: createMigrator(db), transfer: createTransfer(db) }
}

function host(url: string): string {
  try {
    return new URL(url).host
  } catch {
    return 'DATABASE_URL'
  }
}
