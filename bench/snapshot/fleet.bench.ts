/** A gateway with 1,000 tenants, 20 APIs for each, and 100,000 keys: what a change costs until it is served, what a lookup costs, what it weighs. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { kernelRoutes } from '../../src/data-plane/http/kernel-routes.ts'
import type { RouteMatcher, RouteRow } from '../../src/data-plane/http/router.ts'
import { createKernel } from '../../src/data-plane/kernel/create.ts'
import { SnapshotCompiler } from '../../src/data-plane/snapshot/compile.ts'
import type { CompiledApi, Snapshot } from '../../src/data-plane/snapshot/snapshot.ts'
import { applyUpdate, type ControlShare, type ShareUpdate } from '../../src/link/control-share.ts'
import { EMPTY_CONTENT, seal } from '../../src/link/document.ts'
import type { TenantShare } from '../../src/link/share-schema.ts'
import { versionOf } from '../../src/link/share-version.ts'
import { eventsOf, type StreamEvent, UpdateReader } from '../../src/link/update-events.ts'
import { principal } from '../../src/model/principal.ts'
import type { PreparedPolicy } from '../../src/policy/engine.ts'
import { compile, compileNow } from '../../test/fixtures/compile.ts'
import { builds } from '../../test/fixtures/exchange.ts'
import type { BenchCase, Fact, Suite } from '../suite.ts'
import { LARGE, largeShare, prefixOf, tenantShare } from './large-share.ts'

const BATCH = 256
const SMALL = { tenants: 1, apisPerTenant: 20, keys: 100 }
const PER_TENANT = LARGE.keys / LARGE.tenants
const policy = {} as PreparedPolicy
const prepare = () => ({ validate: () => [], ...builds({ method: 'GET', url: '', headers: [] }) })
const parts = { policy, prepare }

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** As the router makes them: the address of an API and everything below it. */
function rowsOf(apis: readonly CompiledApi[]): RouteRow[] {
  return apis.flatMap(({ prefix }) => [
    { method: '*', pattern: prefix },
    { method: '*', pattern: `${prefix}/*` },
  ])
}

/** A changed tenant on its way from the control plane to a gateway: version, events as text and back, compilation. */
class Path {
  readonly #compiler = new SnapshotCompiler(prepare)
  #share: ControlShare
  #steps = 0
  snapshot: Snapshot

  constructor(share: ControlShare) {
    this.#share = share
    this.snapshot = compileNow(this.#compiler, seal({ ...EMPTY_CONTENT, control: share }), policy)
  }

  publish(tenant: TenantShare): void {
    const changed = { version: '', base: this.#share.version, tenants: [tenant], removed: [] }
    const version = `${versionOf(applyUpdate(this.#share, changed))}-${++this.#steps}`
    const update = { ...changed, version }
    const reader = new UpdateReader()
    let received: ShareUpdate | undefined
    for (const event of eventsOf({ update, resync: null }))
      received = reader.take(JSON.parse(JSON.stringify(event)) as StreamEvent)?.update ?? received
    this.#share = applyUpdate(this.#share, received!)
    this.snapshot = compileNow(this.#compiler, seal({ ...EMPTY_CONTENT, control: this.#share }), policy)
  }
}

const share = largeShare(LARGE)
const path = new Path(share)
const small = new Path(largeShare(SMALL)).snapshot
const { kernel } = createKernel({ routeTableBytes: 32 << 20 })
const routes = kernelRoutes(kernel)

/** Strings as they come from a socket: never seen before, not interned. */
function fresh(text: string): string {
  return Buffer.from(text).toString('latin1')
}

function publishing(id: string, change: (round: number) => TenantShare, check: () => void): BenchCase {
  let round = 0
  let next = change(0)
  return {
    id,
    perRun: 1,
    prepare: () => {
      next = change(++round)
    },
    run() {
      path.publish(next)
      check()
    },
  }
}

function lookups(id: string, snapshot: Snapshot, tenants: number): BenchCase {
  let keys: string[] = []
  return {
    id,
    perRun: BATCH,
    prepare: () => {
      keys = Array.from({ length: BATCH }, (_, at) =>
        fresh(prefixOf((at * 7919) % tenants, (at * 31) % PER_TENANT)),
      )
    },
    run() {
      for (let at = 0; at < BATCH; at++)
        if (snapshot.keyOf(keys[at]!) === undefined) throw new Error(`${keys[at]} is not found`)
    },
  }
}

function entitlement(snapshot: Snapshot): BenchCase {
  const callers = Array.from({ length: BATCH }, (_, at) => {
    const entry = snapshot.keyOf(prefixOf((at * 7919) % LARGE.tenants, (at * 31) % PER_TENANT))!
    const caller = principal({
      kind: 'api_key',
      subject: entry.id,
      consumer: entry.application,
      tenant: entry.tenant,
      roles: [],
      scopes: ['execute'],
      subscriptionId: entry.subscriptionId,
      expiresAtMs: Number.POSITIVE_INFINITY,
    })
    return { caller, apiId: entry.apiIds[0] }
  })
  return {
    id: 'lookup/entitlement',
    perRun: BATCH,
    run() {
      for (const { caller, apiId } of callers)
        if (snapshot.entitlementOf(caller, apiId, 0).plan?.slug !== 'gold') throw new Error('a wrong plan')
    },
  }
}

function matching(id: string, apis: readonly CompiledApi[]): BenchCase {
  const rows = rowsOf(apis)
  let table: RouteMatcher | undefined
  let paths: string[] = []
  const wanted = Array.from({ length: BATCH }, (_, at) => (at * 7919) % apis.length)
  return {
    id,
    perRun: BATCH,
    prepare: () => {
      // the kernel has one table: cases take turns with it
      if (kernel.table.routes.length !== rows.length) table = routes(rows)
      paths = wanted.map(api => fresh(`${apis[api]!.prefix}/things/42`))
    },
    run() {
      for (let at = 0; at < BATCH; at++)
        if (table!.match('GET', paths[at]!) !== wanted[at]! * 2 + 1)
          throw new Error(`${paths[at]} matches another route`)
    },
  }
}

function cases(): BenchCase[] {
  const { apis } = path.snapshot
  const revoked = (round: number): TenantShare => {
    const tenant = tenantShare(5, LARGE.apisPerTenant, PER_TENANT)
    return { ...tenant, keys: tenant.keys.filter((_, at) => at !== round % PER_TENANT) }
  }
  return [
    publishing('publish/key-revoked', revoked, () => {
      if (path.snapshot.apis.length !== apis.length) throw new Error('an API is gone')
    }),
    publishing(
      'publish/upstream-switched',
      round => tenantShare(6, LARGE.apisPerTenant, PER_TENANT, `/${round}`),
      () => {
        if (path.snapshot.apis.length !== apis.length) throw new Error('an API is gone')
      },
    ),
    lookups('lookup/key/100', small, SMALL.tenants),
    lookups('lookup/key/100000', path.snapshot, LARGE.tenants),
    entitlement(path.snapshot),
    matching('route/50', apis.slice(0, 25)),
    matching('route/20000', apis.slice(0, 10_000)),
    matching('route/40000', apis),
  ]
}

/** After a collection. */
function heapMiB(): number {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / 2 ** 20
}

function median(times: number, run: () => void): number {
  const took = Array.from({ length: times }, () => {
    const startedAt = performance.now()
    run()
    return performance.now() - startedAt
  })
  return took.sort((a, b) => a - b)[times >> 1]!
}

function facts(): Fact[] {
  const document = seal({ ...EMPTY_CONTENT, control: share })
  const rows = rowsOf(path.snapshot.apis)
  const before = heapMiB()
  const another = compile(document, parts)
  const compiledMiB = heapMiB() - before
  const text = JSON.stringify([...share.tenants.values()])
  const parsed = JSON.parse(text) as TenantShare[]
  const shareMiB = heapMiB() - before - compiledMiB - text.length / 2 ** 20
  const facts = [
    { id: 'whole/compiled', value: median(5, () => void compile(document, parts)), unit: 'ms' },
    {
      id: `whole/route-table-of-${rows.length}-loaded`,
      value: median(5, () => void routes(rows)),
      unit: 'ms',
    },
    {
      id: 'worker-memory',
      value: shareMiB + compiledMiB,
      unit: 'MiB',
      note: `share ${shareMiB.toFixed(0)}, indexes ${compiledMiB.toFixed(0)}`,
    },
    {
      id: 'process-memory',
      value: process.memoryUsage.rss() / 2 ** 20,
      unit: 'MiB',
      note: 'resident in this bench',
    },
  ]
  if (another.apis.length !== path.snapshot.apis.length || parsed.length !== LARGE.tenants)
    throw new Error('the two snapshots differ')
  return facts
}

export default {
  id: 'snapshot/fleet',
  title: '1,000 tenants × 20 APIs × 100,000 keys: publish, look up, match (two routes for each API)',
  cases,
  facts,
} satisfies Suite
