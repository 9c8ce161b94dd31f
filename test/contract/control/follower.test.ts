/** A gateway that follows a real control plane, over HTTP and in process: updates by stream and by poll, counts added exactly once, the copy on disk. */
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { AdminActions } from '../../../src/data-plane/follower/admin-actions.ts'
import { Follower } from '../../../src/data-plane/follower/follower.ts'
import { HttpTransport } from '../../../src/data-plane/follower/http-transport.ts'
import { ReportBook } from '../../../src/data-plane/follower/report-book.ts'
import { Reporter } from '../../../src/data-plane/follower/reporter.ts'
import { ShareFile } from '../../../src/data-plane/follower/share-file.ts'
import { Configuration } from '../../../src/data-plane/snapshot/gateway-configuration.ts'
import { applyUpdate, type ControlShare, EMPTY_SHARE, wholeShare } from '../../../src/link/control-share.ts'
import { EMPTY_CONTENT } from '../../../src/link/document.ts'
import type { CountRows } from '../../../src/link/report.ts'
import { versionOf } from '../../../src/link/share-version.ts'
import type { ControlPlaneTransport } from '../../../src/link/transport.ts'
import { createEgress } from '../../../src/net/egress/client.ts'
import { SILENT } from '../../../src/telemetry/log.ts'
import { type FaultyLink, startFaultyLink } from '../../fixtures/faulty-link.ts'
import { noDamage } from '../../fixtures/no-damage.ts'
import { startOwnTime } from '../../fixtures/own-time.ts'
import { openPlane, type Plane, populate, type World } from './plane.ts'
import { type Served, serve } from './serve.ts'

const NO_ROWS: CountRows = { usage: [], keysUsed: [], consumersSeen: [] }
const SOON = { timeout: 10_000, interval: 20 }

let plane: Plane
let world: World
let served: Served
let proxy: FaultyLink
const dirs: string[] = []

beforeAll(async () => {
  plane = await openPlane()
  world = await populate(plane)
  served = await serve(plane.control)
  proxy = await startFaultyLink(served.url)
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
  /** Starts, and waits for the first share. */
  begin(): Promise<void>
  readonly follower: Follower
  readonly reporter: Reporter
  share(): ControlShare
  fault(): string | undefined
  /** Every update is refused with this reason from now on. */
  refuse(reason: string | undefined): void
  /** When an update was refused, in ms of `performance.now`. */
  readonly refusals: readonly number[]
  /** Versions of the share in what was delivered and not refused. */
  readonly delivered: readonly string[]
  /** Rows of the next report. */
  count(rows: Partial<CountRows>): void
}

const running: Follower[] = []
afterEach(async () => {
  for (const follower of running.splice(0)) await follower.close()
})

function overHttp(url = proxy.url): ControlPlaneTransport {
  const egress = createEgress({ allow: [], allowLoopback: true })
  const credentials = { token: async () => 'gateway', discardToken() {} }
  return new HttpTransport({ egress, credentials, url })
}

function edge(name: string, dataDir: string | undefined, transport = overHttp()): Edge {
  let refusal: string | undefined
  const refusals: number[] = []
  const delivered: string[] = []
  let fault: string | undefined
  let rows = NO_ROWS
  const reporter = new Reporter({
    transport,
    bookPath: dataDir && join(dataDir, 'report'),
    onDamage: noDamage,
    adminActions: new AdminActions(join(dataDir ?? tmpdir(), `actions-${name}`), noDamage),
    workers: 1,
    takeState: () => {
      const taken = rows
      rows = NO_ROWS
      return { status: 'online', ...taken }
    },
    log: SILENT,
  })
  const configuration = new Configuration({
    content: EMPTY_CONTENT,
    awaited: [],
    deliver({ control }) {
      // what was served before is delivered again right after a refusal
      const isNew = control.version !== (delivered.at(-1) ?? EMPTY_SHARE.version)
      if (refusal !== undefined && isNew) refusals.push(performance.now())
      if (refusal === undefined) delivered.push(control.version)
      return refusal
    },
    log: SILENT,
  })
  const follower = new Follower({
    transport,
    reporter,
    hello: { name, url: 'http://edge.example', version: '0.1.0', workers: 1, authConfig: {} },
    dataDir,
    configuration,
    retryRefused: { firstMs: 500, maxMs: 2_000 },
    onDamage: () => {},
    onFault: reported => {
      fault = reported
    },
    log: SILENT,
  })
  running.push(follower)
  return {
    follower,
    async begin() {
      await follower.start()
      await expect.poll(() => configuration.share.version, SOON).not.toBe('')
    },
    reporter,
    share: () => configuration.share,
    fault: () => fault,
    refuse: reason => {
      refusal = reason
    },
    refusals,
    delivered,
    count: counted => {
      rows = { ...NO_ROWS, ...counted }
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

const seen = async (name: string) =>
  (await plane.call('viewer', 'GET', `/v1/gateways?q=${name}`)).body.items[0]

describe.each([
  ['http', () => ({ dataDir: directory(), transport: overHttp() })],
  ['process', () => ({ dataDir: undefined, transport: plane.control.transport })],
])('a gateway that follows by %s', (way, connection) => {
  function open(name: string): Edge {
    const { dataDir, transport } = connection()
    return edge(`${name}-${way}`, dataDir, transport)
  }

  it('serves the whole share, then what changes, and acknowledges it', async () => {
    const { begin, share } = open('follows')
    await begin()
    expect(share().version).toBe(plane.control.publisher.share.version)
    await rename(`/followed-by-${way}`)
    await expect.poll(() => pathOf(share()), SOON).toBe(`/followed-by-${way}`)
    await expect.poll(async () => (await seen(`follows-${way}`)).snapshot_version, SOON).toBe(share().version)
  })

  it('nacks what it cannot serve, and acknowledges it once it can', async () => {
    const { follower, share, refuse, fault } = open('nacks')
    refuse('not now')
    await follower.start()
    await expect
      .poll(() => seen(`nacks-${way}`), SOON)
      .toMatchObject({ error: 'not now', snapshot_version: null })
    refuse(undefined)
    await expect.poll(() => share().version, SOON).toBe(plane.control.publisher.share.version)
    refuse('not this one')
    await rename(`/refused-by-${way}`)
    await expect.poll(async () => (await seen(`nacks-${way}`)).error, SOON).toBe('not this one')
    // builds on the refused version
    await rename(`/served-by-${way}`)
    refuse(undefined)
    await expect.poll(() => pathOf(share()), SOON).toBe(`/served-by-${way}`)
    await expect
      .poll(() => seen(`nacks-${way}`), SOON)
      .toMatchObject({ error: null, snapshot_version: share().version })
    expect(fault()).toBeUndefined()
  })

  it('has no error once a change that it refused is taken back', async () => {
    const { begin, share, refuse, delivered } = open('takes-back')
    await begin()
    const before = pathOf(share())!
    const { version } = share()
    refuse('not this one')
    await rename(`/taken-back-by-${way}`)
    await expect.poll(async () => (await seen(`takes-back-${way}`)).error, SOON).toBe('not this one')
    refuse(undefined)
    await rename(before)
    await expect
      .poll(() => seen(`takes-back-${way}`), SOON)
      .toMatchObject({ error: null, snapshot_version: version })
    // its threads do not know yet that what they serve is the newest again
    expect(delivered.at(-1)).toBe(version)
    expect(share().version).toBe(version)
  })

  it('requests a refused version again, later each time, until it can serve it', async () => {
    const { follower, share, refuse, refusals } = open('retries')
    refuse('not now')
    await follower.start()
    await expect.poll(() => refusals.length, SOON).toBeGreaterThanOrEqual(3)
    const [first, second, third] = refusals
    expect(second! - first!).toBeGreaterThanOrEqual(500)
    expect(third! - second!).toBeGreaterThanOrEqual(1_000)
    refuse(undefined)
    await expect.poll(() => share().version, SOON).toBe(plane.control.publisher.share.version)
  })

  it('applies the whole share again on request', async () => {
    const { begin } = open('again')
    await begin()
    await expect.poll(async () => (await seen(`again-${way}`)).snapshot_version, SOON).toBeTruthy()
    const { id } = await seen(`again-${way}`)
    const deployments = async () =>
      (await plane.call('viewer', 'GET', `/v1/deployments?gateway_id=${id}&api_id=${world.api}`)).body.items
    const [deployment] = await deployments()
    expect((await plane.call('devops', 'POST', `/v1/deployments/${deployment.id}/sync`)).status).toBe(202)
    await expect.poll(async () => (await deployments())[0].sync_status, SOON).toBe('synced')
  })

  it('counts although a token names a subject of any length', async () => {
    const before = await counted()
    const { begin, reporter, count } = edge('long', undefined)
    await begin()
    const seen = ['x'.repeat(400), 'a\0b'].map(subject => ({ tenantId: 'x', subject, at: new Date() }))
    count({ ...used(5), consumersSeen: seen })
    await reporter.report()
    await expect.poll(counted, SOON).toBe(before + 5)
  })

  it('adds counts once, however often it reports', async () => {
    const before = await counted()
    const { begin, reporter, count } = open('once')
    await begin()
    count(used(5))
    for (let time = 0; time < 3; time++) await reporter.report()
    await expect.poll(counted, SOON).toBe(before + 5)
  })
})

describe('a gateway that runs apart from its control plane', () => {
  it('resumes after its connections are cut', async () => {
    const { begin, share, fault } = edge('cut', directory())
    await begin()
    proxy.reset()
    await rename('/after-the-cut')
    await expect.poll(() => pathOf(share()), SOON).toBe('/after-the-cut')
    await expect.poll(fault, SOON).toBeUndefined()
  })

  it('gets a change within 5 s though its stream is dead without an error', async () => {
    const { begin, share } = edge('muted', directory())
    await begin()
    proxy.mute()
    await rename('/by-poll')
    const elapsedMs = startOwnTime()
    await expect.poll(() => pathOf(share()), SOON).toBe('/by-poll')
    expect(elapsedMs()).toBeLessThan(5_000)
  }, 20_000)

  it('says that a control plane that is silent did not respond', async () => {
    const { begin, fault } = edge('silent', undefined)
    await begin()
    proxy.hang()
    const late = { ...SOON, timeout: 20_000 }
    await expect.poll(() => fault() ?? '', late).toContain('did not respond within 2000 ms')
    await proxy.recover()
    await expect.poll(fault, SOON).toBeUndefined()
  }, 40_000)

  it('starts from its copy while the control plane does not respond, and reports the fault', async () => {
    const dir = directory()
    const first = edge('kept', dir)
    await first.begin()
    await first.follower.close()
    expect(statSync(join(dir, 'control-share.ndjson')).mode & 0o777).toBe(0o600)
    const second = edge('kept', dir, overHttp('http://127.0.0.1:9'))
    await second.begin()
    expect(second.share()).toEqual(first.share())
    await expect.poll(second.fault, SOON).toContain('receives no updates from the control plane')
  })

  it('adds counts exactly once, though its connections are reset and it restarts', async () => {
    const before = await counted()
    const dir = directory()
    const first = edge('counts', dir)
    await first.begin()
    first.count(used(5))
    await first.reporter.report()
    await expect.poll(counted, SOON).toBe(before + 5)
    // the control plane takes these reports, and the gateway gets no response to them
    proxy.delay(10_000, 'reports')
    first.count(used(3))
    const afterReport = () => first.reporter.report().then(counted)
    await expect.poll(afterReport, { ...SOON, timeout: 30_000 }).toBe(before + 8)
    expect(await afterReport()).toBe(before + 8)
    // kept for the next start
    first.count(used(4))
    await first.follower.close()
    await proxy.recover()
    const second = edge('counts', dir)
    await second.begin()
    await expect.poll(counted, SOON).toBe(before + 12)
    second.count(used(2))
    await second.reporter.report()
    await second.reporter.report()
    await expect.poll(counted, SOON).toBe(before + 14)
  })
})

describe('the report book', () => {
  const rows = [
    { subscriptionId: 'sub_1', day: '2026-03-01', requests: 1, errors: 0, lastRequestAt: new Date(1) },
  ]

  it('returns the same batch under the same number until it is confirmed', async () => {
    const path = join(directory(), 'book')
    const book = new ReportBook(path, noDamage)
    book.add({ ...NO_ROWS, usage: rows })
    const batch = await book.next()
    const { sequence } = book
    book.add({ ...NO_ROWS, usage: rows })
    expect(await book.next()).toEqual(batch)
    expect(book.sequence).toBe(sequence)

    // the process dies; the control plane had taken it, or had not
    const taken = new ReportBook(path, noDamage)
    await taken.load()
    taken.settle(sequence)
    expect((await taken.next()).usage).toEqual(rows)
    expect(taken.sequence).toBe(sequence + 1)

    const lost = new ReportBook(path, noDamage)
    await lost.load()
    lost.settle(sequence)
    expect((await lost.next()).usage).toEqual(rows)
    lost.confirm()
    expect((await lost.next()).usage).toEqual([])
  })

  it.each([
    ['truncated', (bytes: Buffer) => bytes.subarray(0, bytes.length >> 1)],
    ['emptied', () => Buffer.alloc(0)],
    [
      'with a flipped bit',
      (bytes: Buffer) => Buffer.from(bytes.map((byte, at) => (at === 50 ? byte ^ 1 : byte))),
    ],
    ['garbage', (bytes: Buffer) => Buffer.alloc(bytes.length, 7)],
  ])('%s: reports the file, and begins without counts', async (_, damaged) => {
    const path = join(directory(), 'book')
    const book = new ReportBook(path, noDamage)
    book.add({ ...NO_ROWS, usage: rows })
    await book.next()
    writeFileSync(path, damaged(readFileSync(path)))
    const files: string[] = []
    const next = new ReportBook(path, file => files.push(file))
    await next.load()
    expect(files).toEqual([path])
    expect((await next.next()).usage).toEqual([])
  })

  it('divides what does not fit into one report', async () => {
    const book = new ReportBook(join(directory(), 'book'), noDamage)
    const many = Array.from({ length: 4_500 }, (_, at) => ({ id: `key_${at}`, at: new Date(at) }))
    book.add({ ...NO_ROWS, keysUsed: many })
    const sizes = []
    do {
      sizes.push((await book.next()).keysUsed.length)
      book.confirm()
    } while (book.hasMore)
    expect(sizes).toEqual([2_000, 2_000, 500])
  })
})

describe('the share on disk', () => {
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
  const step = (share: ControlShare, name: string) => {
    const base = share.version === '' ? null : share.version
    const update = { version: '', base, tenants: [tenant(name)], removed: [] }
    const version = versionOf(applyUpdate(share, update))
    return {
      share: { ...applyUpdate(share, update), version },
      marked: { update: { ...update, version }, resync: null },
    }
  }

  const load = async (path: string) => {
    const { share, damage } = await new ShareFile(path).load()
    return [share.version, damage?.replace(path, '…')]
  }
  const NONE = EMPTY_SHARE.version

  it('is read as it was written; a torn end is left out, and altered content is not used', async () => {
    const path = join(directory(), 'share')
    const file = new ShareFile(path)
    let share = EMPTY_SHARE
    const versions: string[] = []
    for (const name of ['one', 'two', 'three']) {
      const next = step(share, name)
      share = next.share
      versions.push(share.version)
      await file.save(share, next.marked)
    }
    expect((await new ShareFile(path).load()).share).toEqual(share)
    expect(await load(path)).toEqual([versions[2], undefined])

    const whole = readFileSync(path)
    appendFileSync(path, '0123 {"name":"begin"')
    expect(await load(path)).toEqual([versions[2], expect.stringContaining('in the middle of an update')])

    // cut at every seventh byte
    for (let length = 0; length < whole.length; length += 7) {
      writeFileSync(path, whole.subarray(0, length))
      const [version, damage] = await load(path)
      if (damage === undefined) expect(versions, `${length} bytes`).toContain(version)
      else expect([NONE, ...versions], `${length} bytes`).toContain(version)
    }

    // one bit of every seventh byte in turn: never served as it is, and never unnoticed
    for (let at = 0; at < whole.length; at += 7) {
      const flipped = Buffer.from(whole)
      flipped[at]! ^= 1
      writeFileSync(path, flipped)
      const [version, damage] = await load(path)
      expect(damage, `byte ${at}`).toBeDefined()
      expect([NONE, ...versions.slice(0, 2)], `byte ${at}`).toContain(version)
    }

    // what is damaged is replaced by the next whole one
    const repaired = new ShareFile(path)
    const { share: kept } = await repaired.load()
    const next = step(kept, 'four')
    await repaired.save(next.share, next.marked)
    expect(await load(path)).toEqual([next.share.version, undefined])
  })

  it('is not used when its content does not match its version', async () => {
    const path = join(directory(), 'share')
    const share = { ...step(EMPTY_SHARE, 'one').share, version: 'f'.repeat(64) }
    await new ShareFile(path).save(share, { update: wholeShare(share), resync: null })
    expect(await load(path)).toEqual([NONE, expect.stringContaining('not match the version in the file')])
  })

  it('is empty without a file, and without a complete update in it', async () => {
    const path = join(directory(), 'share')
    expect(await load(path)).toEqual([NONE, undefined])
    for (const content of ['', 'not ours', '{"begin":1}\n']) {
      writeFileSync(path, content)
      expect(await load(path)).toEqual([NONE, expect.any(String)])
    }
  })
})
