/** Ends pool connections on which a query gets no response, and names the other connections to check. `pool.ts` discards those. */
import pg from 'pg'

/** A query without a response for so long is checked. */
const SILENT_AFTER_MS = 1_500
const CHECK_EVERY_MS = 500
const CHECK_TIMEOUT_MS = 1_000

export class SilentConnections {
  readonly #config: pg.ClientConfig
  readonly #openedAt = new WeakMap<pg.PoolClient, number>()
  /** Connections with a query, and since when they have one, in monotonic ms. */
  readonly #waiting = new Map<pg.PoolClient, number>()
  readonly #timer: NodeJS.Timeout
  #isChecking = false
  /** Connections opened before may be half-open too. */
  #suspectBefore = 0

  /** @param config of the pool */
  constructor(config: pg.ClientConfig) {
    this.#config = config
    this.#timer = setInterval(() => void this.#checkWaiting(), CHECK_EVERY_MS)
    this.#timer.unref()
  }

  handleOpen(client: pg.PoolClient): void {
    this.#openedAt.set(client, performance.now())
  }

  /** Whether an idle connection is not to be used, because others of its age were half-open. */
  isSuspect(client: pg.PoolClient): boolean {
    return this.#openedAt.get(client)! < this.#suspectBefore
  }

  /** Runs a query; it is rejected when its connection is found to be half-open. */
  async watch<T>(client: pg.PoolClient, run: () => Promise<T>): Promise<T> {
    this.#waiting.set(client, performance.now())
    try {
      return await run()
    } finally {
      this.#waiting.delete(client)
    }
  }

  close(): void {
    clearInterval(this.#timer)
  }

  async #checkWaiting(): Promise<void> {
    const before = performance.now() - SILENT_AFTER_MS
    const silent = [...this.#waiting].flatMap(([client, since]) => (since < before ? [client] : []))
    if (silent.length === 0 || this.#isChecking) return
    this.#isChecking = true
    const asOf = performance.now()
    const busy = await this.#busy(silent.map(processIdOf))
    this.#isChecking = false
    for (const client of silent) {
      // its query has returned meanwhile, or is another one
      if (!(this.#waiting.get(client)! < before) || busy?.has(processIdOf(client)) === true) continue
      this.#suspectBefore = asOf
      // with a query in progress, this destroys the socket: the query is rejected
      void client.end()
    }
  }

  /** Ids of the sessions that execute a query; undefined when the server does not respond to a new connection either. */
  async #busy(ids: readonly number[]): Promise<ReadonlySet<number> | undefined> {
    const client = new pg.Client({
      ...this.#config,
      connectionTimeoutMillis: CHECK_TIMEOUT_MS,
      query_timeout: CHECK_TIMEOUT_MS,
    })
    client.on('error', () => {})
    try {
      await client.connect()
      const { rows } = await client.query<{ own: number; busy: number[] }>(
        `select pg_backend_pid() as own,
           array(select pid from pg_stat_activity where pid = any($1) and state = 'active') as busy`,
        [ids],
      )
      const { own, busy } = rows[0]!
      // a connection pooler in between reports other ids: only the time-out of the query applies
      return new Set(own === processIdOf(client) ? busy : ids)
    } catch (error) {
      // a server that refuses the connection, because it has too many, has responded
      return error instanceof pg.DatabaseError ? new Set(ids) : undefined
    } finally {
      void client.end().catch(() => {})
    }
  }
}

/** For the session on the server (BackendKeyData); missing in the types of the library. */
function processIdOf(client: object): number {
  return (client as { readonly processID: number }).processID
}
