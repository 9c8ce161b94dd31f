/** A gateway's link to a real control plane over HTTP: updates by stream and by poll, counts handed in exactly once, the copy on disk. */
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { RemoteGateway } from '../../../src/data-plane/follower/follower.ts'
import { ControlPlaneClient } from '../../../src/data-plane/follower/http-transport.ts'
import { ReportBook } from '../../../src/data-plane/follower/report-book.ts'
import { Reporter } from '../../../src/data-plane/follower/reporter.ts'
import { ShareFile } from '../../../src/data-plane/follower/share-file.ts'
import { applyUpdate, type ControlShare, EMPTY_SHARE } from '../../../src/link/control-share.ts'
import type { CountRows } from '../../../src/link/report.ts'
import { createEgress } from '../../../src/shared/egress/client.ts'
import { SILENT } from '../../../src/shared/telemetry/log.ts'
import { type CuttingProxy, startCuttingProxy } from '../../fixtures/cutting-proxy.ts'
import { openPlane, type Plane, populate, type World } from './plane.ts'
import { type Served, serve } from './serve.ts'

const NO_ROWS: CountRows = { usage: [], keysUsed: [], consumersSeen: [] }
const SOON = { timeout: 10_000, interval: 20 }

let plane: Plane
let world: World
let served: Served
let proxy: CuttingProxy
const dirs: string[] = []

beforeAll(async () => {
  plane = await openPlane()
  world = await populate(plane)
  served = await serve(plane.control)
  proxy = await startCuttingProxy(served.url)
})
afterAll(async () => {
  await proxy.close()
  await served.close()
  await plane.close()
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true })
})

function directory(): string {
  const dir = mkdtempSync(join(tmpdir(), 'toolgate-remote-'))
  dirs.push(dir)
  return dir
}

interface Edge {
  readonly gateway: RemoteGateway
  readonly reporter: Reporter
  share(): ControlShare
  fault(): string | undefined
  /** Counted, and not handed in yet. */
  count(rows: Partial<CountRows>): void
}

const running: RemoteGateway[] = []
afterEach(async () => {
  for (const gateway of running.splice(0)) await gateway.close()
})

function edge(name: string, dataDir: string, url = proxy.url): Edge {
  const egress = createEgress({ allow: [], allowLoopback: true })
  const credentials = { token: async () => 'gateway', forget() {} }
  const client = new ControlPlaneClient({ egress, credentials, url })
  let share = EMPTY_SHARE
  let fault: string | undefined
  let news: CountRows = NO_ROWS
  const reporter = new Reporter({
    client,
    bookPath: join(dataDir, 'report'),
    workers: 1,
    news: () => {
      const taken = news
      news = NO_ROWS
      return { status: 'online', ...taken }
    },
    log: SILENT,
  })
  const gateway = new RemoteGateway({
    client,
    reporter,
    hello: { name, url: 'http://edge.example', version: '0.1.0', workers: 1, authConfig: {} },
    dataDir,
    apply: async update => {
      share = applyUpdate(share, update)
      return undefined
    },
    onFault: reported => {
      fault = reported
    },
    log: SILENT,
  })
  running.push(gateway)
  return {
    gateway,
    reporter,
    share: () => share,
    fault: () => fault,
    count: rows => {
      news = { ...NO_ROWS, ...rows }
    },
  }
}

async function rename(path: string): Promise<void> {
  const renamed = await plane.call('platform', 'PATCH', `/v1/tenants/${world.acme}/apis/${world.api}`, {
    path,
  })
  expect(renamed.status).toBe(200)
  await plane.control.refresh()
}
const pathOf = (share: ControlShare) => share.tenants.get(world.acme)?.apis[0]?.path

function used(requests: number): Partial<CountRows> {
  const at = new Date(plane.clock.nowMs)
  return {
    usage: [
      {
        subscriptionId: world.subscription,
        day: at.toISOString().slice(0, 10),
        requests,
        errors: 0,
        lastRequestAt: at,
      },
    ],
  }
}
const counted = async () =>
  (await plane.call('viewer', 'GET', `/v1/tenants/${world.acme}/subscriptions/${world.subscription}/usage`))
    .body.requests as number

describe('the link of a gateway that runs apart', () => {
  it('brings the whole share, then what changes, and acknowledges it', async () => {
    const { gateway, share } = edge('follows', directory())
    await gateway.start(10_000)
    expect(share().version).toBe(plane.control.publisher.share.version)
    await rename('/followed')
    await expect.poll(() => pathOf(share()), SOON).toBe('/followed')
    const seen = async () => (await plane.call('viewer', 'GET', '/v1/gateways?q=follows')).body.items[0]
    await expect.poll(async () => (await seen()).snapshot_version, SOON).toBe(share().version)
  })

  it('goes on where it was when its connections are cut, and says so meanwhile', async () => {
    const { gateway, share, fault } = edge('cut', directory())
    await gateway.start(10_000)
    proxy.cut()
    await rename('/after-the-cut')
    await expect.poll(() => pathOf(share()), SOON).toBe('/after-the-cut')
    await expect.poll(fault, SOON).toBeUndefined()
  })

  it('learns of a change within 5 s though its stream is dead and nobody has told it', async () => {
    const { gateway, share } = edge('muted', directory())
    await gateway.start(10_000)
    proxy.mute()
    await rename('/by-poll')
    const startedAt = performance.now()
    await expect.poll(() => pathOf(share()), SOON).toBe('/by-poll')
    expect(performance.now() - startedAt).toBeLessThan(5_000)
  }, 20_000)

  it('starts from its copy while nobody answers, and reports the fault', async () => {
    const dir = directory()
    const first = edge('kept', dir)
    await first.gateway.start(10_000)
    await first.gateway.close()
    expect(statSync(join(dir, 'control-share.ndjson')).mode & 0o777).toBe(0o600)
    const second = edge('kept', dir, 'http://127.0.0.1:9')
    await second.gateway.start(10_000)
    expect(second.share()).toEqual(first.share())
    await expect.poll(second.fault, SOON).toContain('cannot be followed')
  })

  it('hands counts in exactly once, though answers are lost and it is started anew', async () => {
    const before = await counted()
    const dir = directory()
    const first = edge('counts', dir)
    await first.gateway.start(10_000)
    first.count(used(5))
    await first.reporter.report()
    await expect.poll(counted, SOON).toBe(before + 5)
    // counted while the control plane cannot be reached: kept for the next start
    proxy.mute()
    proxy.cut()
    first.count(used(3))
    await first.gateway.close()
    const second = edge('counts', dir)
    await second.gateway.start(10_000)
    await expect.poll(counted, SOON).toBe(before + 8)
    second.count(used(2))
    await second.reporter.report()
    await second.reporter.report()
    await expect.poll(counted, SOON).toBe(before + 10)
  })
})

describe('the report book', () => {
  const rows = [
    { subscriptionId: 'sub_1', day: '2026-03-01', requests: 1, errors: 0, lastRequestAt: new Date(1) },
  ]

  it('gives the same batch under the same number until it is confirmed', async () => {
    const path = join(directory(), 'book')
    const book = new ReportBook(path)
    book.add({ ...NO_ROWS, usage: rows })
    const batch = await book.next()
    const { sequence } = book
    book.add({ ...NO_ROWS, usage: rows })
    expect(await book.next()).toEqual(batch)
    expect(book.sequence).toBe(sequence)

    // the process dies; the control plane had taken it, or had not
    const taken = new ReportBook(path)
    await taken.load()
    taken.settle(sequence)
    expect((await taken.next()).usage).toEqual(rows)
    expect(taken.sequence).toBe(sequence + 1)

    const lost = new ReportBook(path)
    await lost.load()
    lost.settle(sequence)
    expect((await lost.next()).usage).toEqual(rows)
    lost.confirm()
    expect((await lost.next()).usage).toEqual([])
  })

  it('divides what does not fit into one report', async () => {
    const book = new ReportBook(join(directory(), 'book'))
    const many = Array.from({ length: 4_500 }, (_, at) => ({ id: `key_${at}`, at: new Date(at) }))
    book.add({ ...NO_ROWS, keysUsed: many })
    const sizes = []
    do {
      sizes.push((await book.next()).keysUsed.length)
      book.confirm()
    } while (book.waiting)
    expect(sizes).toEqual([2_000, 2_000, 500])
  })
})

describe('the kept share', () => {
  const tenant = (id: string) => ({
    id,
    name: id,
    suspended: false,
    plans: [],
    apis: [],
    subscriptions: [],
    keys: [],
    consumers: [],
    tools: [],
  })
  const step = (share: ControlShare, version: string) => {
    const base = share.version === '' ? null : share.version
    const update = { version, base, tenants: [tenant(version)], removed: [] }
    return { share: applyUpdate(share, update), marked: { update, resync: null } }
  }

  it('comes back as it was, and without what was torn or changed', async () => {
    const path = join(directory(), 'share')
    const file = new ShareFile(path)
    let share = EMPTY_SHARE
    for (const version of ['one', 'two', 'three']) {
      const next = step(share, version)
      share = next.share
      await file.save(share, next.marked)
    }
    let damaged = 0
    const load = () => new ShareFile(path).load(() => damaged++)
    expect([await load(), damaged]).toEqual([share, 0])

    appendFileSync(path, '0123 {"name":"begin"')
    expect([(await load()).version, damaged]).toEqual(['three', 1])

    const changed = readFileSync(path, 'utf8').replaceAll('"three"', '"throo"')
    writeFileSync(path, changed)
    expect([(await load()).version, damaged]).toEqual(['two', 2])

    // what is damaged is replaced by the next whole one
    const repaired = new ShareFile(path)
    const kept = await repaired.load(() => {})
    const next = step(kept, 'four')
    await repaired.save(next.share, next.marked)
    expect([(await load()).version, damaged]).toEqual(['four', 2])
  })

  it('is empty when there is none, and when nothing of it is whole', async () => {
    const path = join(directory(), 'share')
    expect(await new ShareFile(path).load(() => {})).toEqual(EMPTY_SHARE)
    writeFileSync(path, 'not ours')
    let damaged = 0
    expect(await new ShareFile(path).load(() => damaged++)).toEqual(EMPTY_SHARE)
    expect(damaged).toBe(1)
  })
})
