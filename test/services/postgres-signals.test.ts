/** Signals between instances over a real server: the others receive them, also after a lost connection, which is reported because some may be missing. */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openMigratedStore, openStore } from '../../src/control-plane/store/open-store.ts'
import { EVERY_TENANT, type Signal, type Store } from '../../src/control-plane/store/store.ts'
import {
  type Cluster,
  POSTGRES_HINT,
  startCluster,
  WITHOUT_POSTGRES,
} from '../contract/store/postgres-cluster.ts'

describe.skipIf(WITHOUT_POSTGRES)(`signals over PostgreSQL${POSTGRES_HINT}`, () => {
  let cluster: Cluster
  let url: string
  let writer: Store
  let listener: Store
  const faults: string[] = []
  const heard: Signal[] = []

  beforeAll(async () => {
    cluster = await startCluster()
    url = await cluster.database('signals')
    const options = { url, dataDir: '.', now: Date.now, onFault: (message: string) => faults.push(message) }
    writer = await openMigratedStore(options)
    listener = (await openStore(options)).store
    listener.onSignal(signal => heard.push(signal))
  })
  afterAll(async () => {
    await writer?.close()
    await listener?.close()
    await cluster?.stop()
  })

  const change = () =>
    writer.write(EVERY_TENANT, async tx => {
      tx.events.append({ kind: 'plan.updated', tenantId: null, resourceId: 'plan', data: {} })
    })

  /** Makes changes until the listener receives a signal of the kind. */
  async function hears(kind: Signal['kind']): Promise<void> {
    heard.length = 0
    for (let attempt = 0; attempt < 200 && !heard.some(signal => signal.kind === kind); attempt++) {
      await change()
      await sleep(25)
    }
    expect(heard.map(signal => signal.kind)).toContain(kind)
  }

  it('reach the other instances', async () => {
    await hears('changed')
    await writer.write(EVERY_TENANT, tx => tx.gateways.requestResync('gw_1'))
    await expect.poll(() => heard).toContainEqual({ kind: 'resync', gatewayId: 'gw_1' })
  })

  it('are heard again after the listening connection was cut, with word that some may be missing', async () => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where pid <> pg_backend_pid() and query ilike 'listen%'`)
    await client.end()
    await hears('reconnected')
    await hears('changed')
    expect(faults).toContain(
      'the database connection for LISTEN failed; the control plane polls for changes and reconnects',
    )
  })

  it('are announced as missed once, when the server is back, and not at each attempt that fails', async () => {
    const reconnections = () => heard.filter(signal => signal.kind === 'reconnected').length
    heard.length = 0
    faults.length = 0
    await cluster.crash()
    try {
      // the first is the lost connection; the others are attempts
      await expect.poll(() => faults.length, { timeout: 10_000 }).toBeGreaterThanOrEqual(4)
      expect(reconnections()).toBe(0)
    } finally {
      await cluster.resume()
    }
    await expect.poll(reconnections, { timeout: 10_000 }).toBe(1)
    await hears('changed')
    expect(reconnections()).toBe(0)
  }, 60_000)
})

it('names DATABASE_URL, and no password, when the server does not respond', async () => {
  const url = 'postgres://user:hunter2@127.0.0.1:1/nothing'
  const opening = openStore({ url, dataDir: '.', now: Date.now, onFault: () => {} })
  await expect(opening).rejects.toThrow(
    /^the database at 127\.0\.0\.1:1 does not respond: (?!.*hunter2).*Check DATABASE_URL\.$/,
  )
})
