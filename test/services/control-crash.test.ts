/**
 * `kill -9` of the control plane at random moments of mixed writes: no acknowledged write is lost and none is half-done.
 * Three rounds by default; SOAK=1 runs fifty, with 2,000 changes or more. PGlite runs without fsync, so this covers the process, not the power supply.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ChainReport, verifyAudit } from '../../src/control-plane/store/audit-chain.ts'
import { openMigratedStore } from '../../src/control-plane/store/open-store.ts'
import { EVERY_TENANT, type Store, type Transaction } from '../../src/control-plane/store/store.ts'
import { type CrashProcess, startCrashProcess } from '../contract/control/crash-process.ts'
import { copyTemplate } from '../contract/store/pglite-template.ts'
import {
  type Cluster,
  POSTGRES_HINT,
  startCluster,
  WITHOUT_POSTGRES,
} from '../contract/store/postgres-cluster.ts'
import { IS_LONG_CHECK } from '../fixtures/check.ts'

const SOAKS = process.env.SOAK === '1'
const ROUNDS = SOAKS ? 50 : 3
/** Acknowledged before a kill; each comes with two changes or more. */
const TENANTS_PER_ROUND = SOAKS ? 14 : 2
const MIN_CHANGES = SOAKS ? 2_000 : 2 * ROUNDS
const WRITERS = 4

/** What was acknowledged to a client: it must be there afterwards. */
interface Acknowledged {
  readonly tenants: Set<string>
  readonly apis: Map<string, string>
  readonly approved: Map<string, string>
  readonly revoked: Set<string>
  readonly deletedApis: Set<string>
}

/** A connection that broke in the middle of a request. */
class Disconnected extends Error {}

async function send(
  url: string,
  options: RequestInit,
): Promise<{ ok: boolean; status: number; text: string }> {
  try {
    const response = await fetch(url, options)
    return { ok: response.ok, status: response.status, text: await response.text() }
  } catch (cause) {
    throw new Disconnected(`${options.method} ${url} has no response`, { cause })
  }
}

/** Writes one thing after the other until the server is killed, noting what was acknowledged. Rejects when anything else ends it. */
async function write(
  { url, child }: CrashProcess,
  reported: Acknowledged,
  round: number,
  writer: number,
): Promise<void> {
  const call = async (method: string, path: string, body?: object) => {
    const { ok, status, text } = await send(`${url}/v1${path}`, {
      method,
      headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!ok) throw new Error(`${method} ${path}: ${status} ${text}`)
    return text === '' ? {} : JSON.parse(text)
  }
  try {
    for (let step = 0; ; step++) {
      const name = `r${round}-w${writer}-${step}`
      const tenant = (await call('POST', '/tenants', { name, tier: 'enterprise' })).id
      reported.tenants.add(tenant)
      const base = `/tenants/${tenant}`
      const api = (
        await call('POST', `${base}/apis`, { name, upstream_url: 'http://127.0.0.1:9', path: '/a' })
      ).id
      reported.apis.set(api, tenant)
      const subscription = (
        await call('POST', `${base}/subscriptions`, { api_id: api, plan: 'gold', application: 'a' })
      ).id
      const key = (await call('POST', `${base}/subscriptions/${subscription}/approve`, {})).api_key
      reported.approved.set(subscription, key)
      if (step % 3 === 1) {
        // From here on it may be gone: only an acknowledgement settles which.
        reported.approved.delete(subscription)
        reported.apis.delete(api)
        await call('DELETE', `${base}/apis/${api}`)
        reported.deletedApis.add(api)
        reported.revoked.add(subscription)
      }
    }
  } catch (error) {
    // The process was killed in the middle of a request: nothing was acknowledged.
    if (!(error instanceof Disconnected && child.killed)) throw error
  }
}

/** Everything acknowledged is there; everything that is there is whole. */
async function inspect(store: Store, reported: Acknowledged): Promise<{ events: number; records: number }> {
  // before the transaction: the embedded database has one connection
  const chain = await verifyAudit(store)
  return store.read(EVERY_TENANT, async tx => {
    for (const id of reported.tenants) expect(await tx.tenants.find(id), id).toBeDefined()
    for (const id of reported.apis.keys()) expect(await tx.apis.find(id), id).toBeDefined()
    for (const id of reported.deletedApis) expect(await tx.apis.find(id), id).toBeUndefined()
    for (const id of reported.revoked) expect((await tx.subscriptions.find(id))?.status).toBe('revoked')
    const events: { kind: string; resourceId: string; seq: number }[] = []
    for (;;) {
      const batch = await tx.events.after(events.length, 1_000)
      events.push(...batch)
      if (batch.length < 1_000) break
    }
    // No gap and no event without its change, no change without its event.
    expect(events.map(event => event.seq)).toEqual(events.map((_, index) => index + 1))
    expect(await tx.events.lastSeq()).toBe(events.length)
    const of = (kind: string) =>
      new Set(events.filter(event => event.kind === kind).map(event => event.resourceId))
    const ids = await tx.tenants.ids()
    expect(new Set(ids)).toEqual(of('tenant.created'))
    const rows = await tx.share.load()
    const approved = of('subscription.approved')
    const revoked = of('subscription.revoked')
    const live = new Set([...approved].filter(id => !revoked.has(id)))
    expect(new Set(rows.subscriptions.map(subscription => subscription.id))).toEqual(live)
    expect(new Set(rows.keys.map(key => key.subscriptionId))).toEqual(live)
    for (const id of reported.approved.keys()) expect(live.has(id), id).toBe(true)
    await expectAudited(tx, chain, events)
    const apis = of('api.created')
    for (const id of of('api.deleted')) apis.delete(id)
    expect(new Set(rows.apis.map(api => api.id))).toEqual(apis)
    return { events: events.length, records: chain.records }
  })
}

/** Each change has one audit record, and the chain has no gap. */
async function expectAudited(
  tx: Transaction,
  chain: ChainReport,
  events: readonly { readonly kind: string; readonly resourceId: string }[],
): Promise<void> {
  expect(chain.fault).toBeUndefined()
  const records = await tx.audit.list({}, { after: 0 }, 100_000)
  expect(records).toHaveLength(chain.records)
  const created = (type: string) =>
    records.filter(({ resourceType, before }) => resourceType === type && before === null)
  const changed = (action: string, type: string) =>
    records.filter(record => record.action === action && record.resourceType === type)
  const ids = (of: readonly { readonly resourceId: string }[]) =>
    of.map(({ resourceId }) => resourceId).sort()
  const of = (kind: string) => events.filter(event => event.kind === kind)
  expect(ids(created('tenant'))).toEqual(ids(of('tenant.created')))
  expect(ids(created('api'))).toEqual(ids(of('api.created')))
  expect(ids(changed('control.subscriptions.approve', 'subscription'))).toEqual(
    ids(of('subscription.approved')),
  )
  expect(ids(changed('control.apis.delete', 'api'))).toEqual(ids(of('api.deleted')))
  expect(ids(changed('control.apis.delete', 'subscription'))).toEqual(ids(of('subscription.revoked')))
}

describe.each([
  { name: 'PGlite', skip: !WITHOUT_POSTGRES && !IS_LONG_CHECK },
  { name: `PostgreSQL${POSTGRES_HINT}`, skip: WITHOUT_POSTGRES },
])('kill -9 of the control plane on $name', database => {
  describe.skipIf(database.skip)(`in ${ROUNDS} rounds of mixed writes`, () => {
    let dataDir: string
    let cluster: Cluster | undefined
    let url: string

    beforeAll(async () => {
      dataDir = mkdtempSync(join(tmpdir(), 'toolgate-crash-'))
      if (database.name === 'PGlite') await copyTemplate(join(dataDir, 'postgres'))
      else cluster = await startCluster()
      url = (await cluster?.database('crash')) ?? 'pglite:'
    })
    afterAll(async () => {
      await cluster?.stop()
      rmSync(dataDir, { recursive: true, force: true })
    })

    it(
      'loses no acknowledged write and leaves none half-done',
      async () => {
        const reported: Acknowledged = {
          tenants: new Set(),
          apis: new Map(),
          approved: new Map(),
          revoked: new Set(),
          deletedApis: new Set(),
        }
        for (let round = 0; round < ROUNDS; round++) {
          const running = await startCrashProcess(url, dataDir)
          const ended = new Promise(resolve => running.child.once('exit', resolve))
          const written = Promise.all(
            Array.from({ length: WRITERS }, (_, writer) => write(running, reported, round, writer)),
          )
          // awaited after the kill
          written.catch(() => {})
          // On a busy machine too, each round kills in the midst of writes that were acknowledged before.
          const before = reported.tenants.size
          for (
            let waitedMs = 0;
            reported.tenants.size < before + TENANTS_PER_ROUND && waitedMs < 20_000;
            waitedMs += 10
          )
            await sleep(10)
          await sleep(Math.random() * 500)
          running.child.kill('SIGKILL')
          await ended
          await written
        }
        const store = await openMigratedStore({ url, dataDir, now: Date.now, onFault: () => {} })
        try {
          const { events, records } = await inspect(store, reported)
          console.log(
            `${database.name}: ${ROUNDS} kills, ${reported.tenants.size} tenants, ${events} events and ${records} audit records acknowledged or whole`,
          )
          expect(events).toBeGreaterThanOrEqual(MIN_CHANGES)
        } finally {
          await store.close()
        }
      },
      ROUNDS * 30_000,
    )
  })
})
