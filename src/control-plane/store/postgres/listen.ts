/** A database connection that listens for signals: opening it, checking it, and opening it again after a failure. */
import pg from 'pg'
import { Backoff } from '../../../base/async/backoff.ts'
import { CHANNEL } from '../sql/session.ts'
import { readSignal } from '../sql/signal.ts'
import type { Signal } from '../store.ts'

const BACKOFF = { firstMs: 100, maxMs: 1_000 }
const QUERY_TIMEOUT_MS = 2_000
/** A listening connection sends nothing, so only a query finds that it is half-open. */
const PING_MS = 2_000

interface ListenOptions {
  readonly config: pg.ClientConfig
  /** The operator states that the address leads to a session that stays the same. */
  readonly isDirect: boolean
}

const POOLED =
  'DATABASE_URL is the address of a connection pooler, which may not deliver notifications (LISTEN). Set DATABASE_DIRECT_URL to the address of the database server, or to the value of DATABASE_URL if the pooler uses session pooling'

/**
 * Listens until the returned function is called. After a reconnection the listener gets `reconnected`, since signals may have been missed.
 * Resolves after the first attempt to connect, even when it failed.
 */
export async function listen(
  { config, isDirect }: ListenOptions,
  listener: (signal: Signal) => void,
  onFault: (message: string, error: unknown) => void,
): Promise<() => Promise<void>> {
  let client: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined
  let pings: NodeJS.Timeout | undefined
  const backoff = new Backoff(BACKOFF)
  let stopped = false

  /** @returns whether it listens; if not, another attempt follows */
  async function connect(): Promise<boolean> {
    const fresh = new pg.Client({ ...config, query_timeout: QUERY_TIMEOUT_MS })
    let over = false
    const lost = (error: unknown) => {
      if (over || stopped) return
      over = true
      clearInterval(pings)
      onFault(
        'the database connection for LISTEN failed; the control plane polls for changes and reconnects',
        error,
      )
      void fresh.end().catch(() => {})
      const reconnect = async () => {
        if (await connect()) listener({ kind: 'reconnected' })
      }
      timer = setTimeout(() => void reconnect(), backoff.nextMs())
    }
    fresh.on('error', lost)
    fresh.on('end', () => lost(new Error('the database server closed the connection')))
    fresh.on('notification', message => listener(readSignal(message.payload ?? '')))
    client = fresh
    try {
      await fresh.connect()
      if (!isDirect && (await isPooled(fresh))) throw new Error(POOLED)
      await fresh.query(`listen ${CHANNEL}`)
      backoff.reset()
      pings = setInterval(() => void fresh.query('select 1').catch(lost), PING_MS)
      return true
    } catch (error) {
      lost(error)
      return false
    }
  }

  await connect()
  return async () => {
    stopped = true
    clearTimeout(timer)
    clearInterval(pings)
    await client?.end().catch(() => {})
  }
}

/** Whether statements run in another session than the one that the server named when the connection was opened. */
async function isPooled(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]!.pid !== (client as unknown as { readonly processID: number }).processID
}
