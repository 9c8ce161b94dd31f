/** PostgreSQL as providers offer it: verified TLS with a client certificate, and PgBouncer in transaction mode between it and the control plane. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { findFileFaults } from '../../src/app/settings/files.ts'
import { inspectSettings } from '../../src/app/settings.ts'
import { openMigratedStore, openStore } from '../../src/control-plane/store/open-store.ts'
import { EVERY_TENANT } from '../../src/control-plane/store/store.ts'
import {
  type Cluster,
  POSTGRES_HINT,
  startCluster,
  WITHOUT_POSTGRES,
} from '../contract/store/postgres-cluster.ts'
import { aTenant } from '../contract/store/rows.ts'
import { Authority } from '../fixtures/certificates.ts'
import { freePort } from '../fixtures/free-ports.ts'
import { publishApi, startPlanes } from '../fixtures/planes.ts'
import { servicesRequired } from '../fixtures/redis-server.ts'

const PGBOUNCER = '/usr/sbin/pgbouncer'
const WITHOUT_PGBOUNCER = WITHOUT_POSTGRES || (!existsSync(PGBOUNCER) && !servicesRequired())
const PGBOUNCER_HINT = WITHOUT_PGBOUNCER ? ' (skipped: bash scripts/services.sh postgresql pgbouncer)' : ''

/** Count of tenants made. */
let count = 0

describe.skipIf(WITHOUT_POSTGRES)(`PostgreSQL of a provider${POSTGRES_HINT}`, () => {
  const dir = mkdtempSync(join(tmpdir(), 'managed-pg-'))
  chmodSync(dir, 0o755)
  const authority = new Authority(dir)
  const client = authority.issue('toolgate')
  let cluster: Cluster

  beforeAll(async () => {
    const { cert, key } = authority.issue('server')
    cluster = await startCluster({ cert, key, ca: authority.ca })
  }, 60_000)
  afterAll(async () => {
    await cluster?.stop()
    rmSync(dir, { recursive: true, force: true })
  })

  const open = (url: string, directUrl?: string, onFault = (_: string, __: unknown) => {}) =>
    openMigratedStore({ url, directUrl, dataDir: dir, now: Date.now, onFault })

  it('verifies the server and identifies itself with a client certificate', async () => {
    // pg_hba demands a certificate of this user
    const url = await cluster.database('encrypted', 'toolgate')
    const verified = `${url}?sslmode=verify-full&sslrootcert=${authority.ca}`
    const store = await open(`${verified}&sslcert=${client.cert}&sslkey=${client.key}`)
    onTestFinished(() => store.close())
    await store.write(EVERY_TENANT, tx => tx.tenants.insert(aTenant(`tenant-${count++}`, Date.now())))
    await expect(open(verified)).rejects.toThrow(/refuses the connection.*certificate/)
    const stranger = new Authority(dir, 'stranger')
    await expect(
      open(
        `${url}?sslmode=verify-full&sslrootcert=${stranger.ca}&sslcert=${client.cert}&sslkey=${client.key}`,
      ),
    ).rejects.toThrow(/certificate/)
  }, 30_000)

  it('reports a certificate file that cannot be read at the start', async () => {
    const DATABASE_URL = `postgres://toolgate@db.example.com/toolgate?sslmode=verify-full&sslrootcert=${dir}/none.pem`
    const { settings } = inspectSettings({ ROLE: 'control-plane', DATABASE_URL })
    const [fault] = await findFileFaults(settings)
    expect(fault).toMatchObject({ name: 'DATABASE_URL' })
    expect(fault!.reason).toContain('the file in the URL parameter sslrootcert cannot be read')
  })

  describe.skipIf(WITHOUT_PGBOUNCER)(`through PgBouncer in transaction mode${PGBOUNCER_HINT}`, () => {
    let direct: string
    let pooled: string
    let stop: () => Promise<void>

    beforeAll(async () => {
      direct = await cluster.database('pooled')
      ;({ url: pooled, stop } = await startPgBouncer(dir, direct))
    }, 60_000)
    afterAll(() => stop?.())

    it('runs changes of many tenants at once on three sessions, and signals them to another control plane', async () => {
      const faults: string[] = []
      const note = (message: string, error: unknown): void => void faults.push(`${message}: ${error}`)
      const one = await open(pooled, direct, note)
      const other = await open(pooled, direct, note)
      onTestFinished(async () => {
        await one.close()
        await other.close()
      })
      let signals = 0
      other.onSignal(() => signals++)
      await expect
        .poll(async () => {
          const tenant = aTenant(`tenant-${count++}`, Date.now())
          const { id, name } = tenant
          await one.write(EVERY_TENANT, async tx => {
            await tx.tenants.insert(tenant)
            tx.events.append({ kind: 'tenant.created', tenantId: id, resourceId: id, data: { name } })
          })
          return signals
        })
        .toBeGreaterThan(0)
      const tenants = Array.from({ length: 20 }, () => aTenant(`tenant-${count++}`, Date.now()))
      await one.write(EVERY_TENANT, async tx => {
        for (const tenant of tenants) await tx.tenants.insert(tenant)
      })
      // more at once than there are sessions; one read after another for each tenant, as a wait of 2 s is an error
      const seen = await Promise.all(
        tenants.map(async ({ id }) => {
          const own: boolean[] = []
          for (let n = 0; n < 15; n++) {
            const store = n % 2 === 0 ? one : other
            own.push(await store.read(id, async tx => (await tx.tenants.find(id))?.id === id))
          }
          return own
        }),
      )
      expect(seen.flat().filter(own => !own)).toEqual([])
      expect(faults).toEqual([])
    }, 60_000)

    it('reports that the address is pooled when no direct one is set', async () => {
      const faults: string[] = []
      const { store } = await openStore({
        url: pooled,
        dataDir: dir,
        now: Date.now,
        onFault: (message, error) => faults.push(`${message}: ${error}`),
      })
      onTestFinished(() => store.close())
      store.onSignal(() => {})
      await expect.poll(() => faults.join('\n')).toContain('Set DATABASE_DIRECT_URL')
    })

    it('a gateway follows changes, and calls are served', async () => {
      const upstream: Server = createServer((_, response) => response.end('echo'))
      await new Promise<void>(resolve => upstream.listen(0, '127.0.0.1', resolve))
      const planes = await startPlanes({ DATABASE_URL: pooled, DATABASE_DIRECT_URL: direct, WORKERS: '1' })
      onTestFinished(async () => {
        await planes.stop()
        upstream.close()
      })
      const address = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
      const published = await publishApi(planes, 'pooled', address)
      const call = () =>
        fetch(published.publicUrl, { headers: { 'x-api-key': published.key } }).then(async response => {
          await response.text()
          return response.status
        })
      await expect.poll(call, { timeout: 20_000 }).toBe(200)
      const revoked = await planes.api('DELETE', `/tenants/${published.tenantId}/apikeys/${published.keyId}`)
      expect(revoked.status).toBeLessThan(300)
      await expect.poll(call, { timeout: 20_000 }).toBe(401)
    }, 60_000)
  })
})

/** @param server address of the database */
async function startPgBouncer(dir: string, server: string) {
  const { hostname, port, pathname, username } = new URL(server)
  const own = await freePort()
  const file = join(dir, 'pgbouncer.ini')
  writeFileSync(
    file,
    `[databases]
pooled = host=${hostname} port=${port} dbname=${pathname.slice(1)} user=${username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
max_client_conn = 200
`,
  )
  // it refuses to run as root
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  const user = process.getuid?.() === 0 ? { uid: id('-u'), gid: id('-g') } : {}
  const child = spawn(PGBOUNCER, [file], { ...user, stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  child.stderr.on('data', chunk => {
    log += chunk
  })
  for (const until = Date.now() + 20_000; !log.includes('process up'); await sleep(20))
    if (child.exitCode !== null || Date.now() > until) throw new Error(`PgBouncer did not start: ${log}`)
  return {
    url: `postgres://toolgate@127.0.0.1:${own}/pooled`,
    async stop() {
      const gone = once(child, 'exit')
      child.kill('SIGTERM')
      await gone
    },
  }
}
