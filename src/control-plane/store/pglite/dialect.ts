/** The Kysely dialect of PGlite, with a queue for its connection. */
import type { PGlite } from '@electric-sql/pglite'
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  type TransactionSettings,
} from 'kysely'
import { StoreUnavailable } from '../store.ts'

/** Further transactions are refused: a longer queue would only increase the delay. */
const MAX_WAITING = 10_000

export function pgliteDialect(client: PGlite): Dialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new PgliteDriver(client),
    createIntrospector: db => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  }
}

class PgliteDriver implements Driver {
  readonly #connection: PgliteConnection
  readonly #waiting: ((connection: PgliteConnection) => void)[] = []
  #taken = false

  constructor(client: PGlite) {
    this.#connection = new PgliteConnection(client)
  }

  async init(): Promise<void> {}

  acquireConnection(): Promise<DatabaseConnection> {
    if (!this.#taken) {
      this.#taken = true
      return Promise.resolve(this.#connection)
    }
    if (this.#waiting.length >= MAX_WAITING) {
      return Promise.reject(
        new StoreUnavailable(new Error(`more than ${MAX_WAITING} transactions wait for the database`)),
      )
    }
    return new Promise(resolve => this.#waiting.push(resolve))
  }

  async releaseConnection(): Promise<void> {
    const next = this.#waiting.shift()
    if (next === undefined) this.#taken = false
    else next(this.#connection)
  }

  async beginTransaction(_connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    const isolation = settings.isolationLevel ? ` isolation level ${settings.isolationLevel}` : ''
    const access = settings.accessMode ? ` ${settings.accessMode}` : ''
    await this.#connection.runCommand(`begin${isolation}${access}`)
  }

  async commitTransaction(): Promise<void> {
    await this.#connection.runCommand('commit')
  }

  async rollbackTransaction(): Promise<void> {
    await this.#connection.runCommand('rollback')
  }

  /** The code that opened the client closes it. */
  async destroy(): Promise<void> {}
}

class PgliteConnection implements DatabaseConnection {
  readonly #client: PGlite

  constructor(client: PGlite) {
    this.#client = client
  }

  /** A command without parameters or rows: the simple protocol takes one message, a query takes five. */
  async runCommand(sql: string): Promise<void> {
    await this.#client.exec(sql)
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const result = await this.#client.query<R>(query.sql, [...query.parameters])
    return { rows: result.rows, numAffectedRows: BigInt(result.affectedRows ?? 0) }
  }

  streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('PGlite does not support streaming queries; read page by page')
  }
}
