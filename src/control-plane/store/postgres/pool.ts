/** The connection pool for Kysely, and the rule which errors mean an unavailable server. */
import type { PostgresPool, PostgresPoolClient } from 'kysely'
import pg from 'pg'
import { StoreUnavailable } from '../store.ts'
import { SilentConnections } from './silent-connections.ts'

/**
 * SQLSTATE classes of an unavailable server (PostgreSQL, appendix A): connection exception, insufficient resources, operator intervention
 * (shutdown, start-up, cancelled by a timeout), system error.
 */
const UNAVAILABLE_CLASSES = new Set(['08', '53', '57', '58'])
/** idle_in_transaction_session_timeout and transaction_timeout: the server has ended the session. */
const UNAVAILABLE_STATES = new Set(['25P03', '25P04'])
/** read_only_sql_transaction: after a failover this server is a standby, and a new connection may reach the primary. */
const READ_ONLY = '25006'
/** Errors of `pg` itself, which have no code. */
const UNAVAILABLE_MESSAGES = new Set([
  'Query read timeout',
  'timeout exceeded when trying to connect',
  'Connection terminated due to connection timeout',
  'timeout expired',
  'Connection terminated',
  'Connection terminated unexpectedly',
  'Client was closed and is not queryable',
  'Client has encountered a connection error and is not queryable',
])

export interface PoolReports {
  /** Errors of connections, and the first one of an outage. */
  readonly onFault: (message: string, error: unknown) => void
  /** Called when an outage begins and when it ends. */
  readonly onAvailable: (available: boolean) => void
}

export function openPool(config: pg.PoolConfig, { onFault, onAvailable }: PoolReports): PostgresPool {
  const pool = new pg.Pool(config)
  const silent = new SilentConnections(config)
  const broken = new WeakSet<pg.PoolClient>()
  let isAvailable = true
  const unavailable = (error: unknown): StoreUnavailable => {
    // Once for each outage, not for each request.
    if (isAvailable) {
      onFault('the database is unavailable', error)
      onAvailable(false)
    }
    isAvailable = false
    return new StoreUnavailable(error)
  }
  // `pool.on('error')` covers idle clients only: an error of a client in use without a listener ends the process.
  pool.on('connect', client => {
    silent.handleOpen(client)
    client.on('error', error => {
      if (broken.has(client)) return
      broken.add(client)
      onFault('a database connection was lost', error)
    })
  })
  // Reported by the listener above.
  pool.on('error', () => {})

  function checkedOut(client: pg.PoolClient): PostgresPoolClient {
    let failure: StoreUnavailable | undefined
    let isDiscarded = false
    return {
      async query(sql: string, parameters: readonly unknown[]) {
        // A ROLLBACK on a lost connection would wait for the next timeout; the server rolls back when the connection ends.
        if (failure !== undefined) throw failure
        try {
          const result = await silent.watch(client, () => client.query(sql, [...parameters]))
          if (!isAvailable) onAvailable(true)
          isAvailable = true
          return result
        } catch (error) {
          const state = sqlState(error)
          isDiscarded ||= state === READ_ONLY
          if (!broken.has(client) && !meansUnavailable(error, state)) throw error
          failure = unavailable(error)
          throw failure
        }
      },
      // Otherwise the pool would give the next caller a connection that waits for a silent server.
      release: () => client.release(isDiscarded || failure !== undefined),
      // Kysely declares an overload for cursors too, which is not used.
    } as unknown as PostgresPoolClient
  }

  return {
    async connect() {
      try {
        for (;;) {
          const client = await pool.connect()
          if (!silent.isSuspect(client)) return checkedOut(client)
          client.release(true)
        }
      } catch (error) {
        throw unavailable(error)
      }
    },
    async end() {
      silent.close()
      await pool.end()
    },
  }
}

/** Whether the same statement may succeed later. */
export function meansUnavailable(error: unknown, state = sqlState(error)): boolean {
  if (state !== undefined) return UNAVAILABLE_STATES.has(state) || UNAVAILABLE_CLASSES.has(state.slice(0, 2))
  // `syscall`: an error of the socket, such as ECONNRESET; several of them when the name has several addresses.
  return (
    error instanceof AggregateError ||
    (error instanceof Error && ('syscall' in error || UNAVAILABLE_MESSAGES.has(error.message)))
  )
}

function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined
}
