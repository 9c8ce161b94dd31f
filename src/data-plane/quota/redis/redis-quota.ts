/**
 * Opens quotas that instances share: units are leased from Redis and spent in the table of this process.
 * It connects the parts, and serves other threads of the process.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { MessagePort } from 'node:worker_threads'
import { PortLine } from '../../../base/threads/port-line.ts'
import type { RedisTarget } from '../../../net/redis/servers.ts'
import { type JournalParts, type JournalQuotaOptions, openJournal } from '../journal/journal-quota.ts'
import { RESERVING_BURST, RESERVING_CONSUMERS, RESERVING_TOOLS } from '../memory/abi.ts'
import { createQuotaRegion, type SharedQuota, shareOf } from '../memory/kernel.ts'
import { Notices } from '../memory/notices.ts'
import { HEAD_LEASES } from '../memory/region.ts'
import type { HashedKey } from '../memory/table.ts'
import { nameOf, TableQuota } from '../memory/table-quota.ts'
import type { Quota, QuotaUse } from '../quota.ts'
import { instanceIn } from './instance.ts'
import { keysUnder, shortKey, shortName } from './keys.ts'
import { LeaseReserver } from './lease-reserver.ts'
import { Leases } from './leases.ts'
import { LONG_LEASE } from './leases-lua.ts'
import { Membership, storeClocks } from './membership.ts'
import { connect } from './quota-connection.ts'
import { createResets, type Reset } from './resets.ts'
import { serveThread } from './serve-thread.ts'
import { statisticsOver, usageOf, useOver } from './statistics.ts'
import { ToolLeases } from './tool-leases.ts'

export interface RedisQuotaOptions extends Omit<JournalQuotaOptions, 'dir' | 'unixMs' | 'calendarMs'> {
  /** `redis://` or `rediss://`. Its memory policy must be `noeviction`: an evicted counter is a lost count. */
  readonly redis: RedisTarget
  /** Where this instance keeps its counts; absent (tests): nowhere, and it has a new id after a restart. */
  readonly dir?: string
  /** Prefix of every key. Default `toolgate:quota`. */
  readonly keyPrefix?: string
  /** Milliseconds of a lease, `LONG_LEASE` times as many far from the limits; units of a killed instance are unavailable for as long. Default 2,000. */
  readonly leaseMs?: number
  /** Longest call in ms; calls in flight of a disconnected instance count for this time. Default 60,000. */
  readonly maxCallMs?: number
  /** A Redis without data is not taken for a new one: nothing is granted until all leases and windows of before have ended. */
  readonly distrustEmpty?: boolean
  /** Called when Redis becomes available or unavailable. It is unavailable at first. */
  readonly onStore?: (up: boolean) => void
  /** Opens the connection; default: to a real Redis. */
  readonly connect?: typeof connect
}

export interface RedisQuota extends Quota {
  /** Resolves when every live instance knows this one, or after 5 s: until then calls with limits are refused. */
  readonly ready: Promise<void>
  /** Damaged files of the journal. */
  readonly damage: readonly string[]
  /** For the other threads of the process: post it with one end of a channel, and call `joinRedisQuota` there. */
  readonly share: SharedQuota
  /** Serves the thread at the other end of the channel. */
  serve(port: MessagePort): void
  /** Releases what a thread held that has ended (`QuotaTable.detach`). */
  detach(thread: number): void
}

const READY_MS = 5_000

/**
 * Starts counting; connects in the background.
 * @throws Error naming the directory and the fix (`openJournalQuota`); RangeError naming an option that does not fit
 */
export function openRedisQuota(options: RedisQuotaOptions): RedisQuota {
  const { redis, keyPrefix = 'toolgate:quota', leaseMs = 2_000, maxCallMs = 60_000 } = options
  const onFault = options.onFault ?? (() => {})
  const kept = openParts(options)
  const { quota, journal, share, restored } = kept
  const notices = new Notices(share.channel)
  const lines = new Set<PortLine>()
  const { id: instance, incarnation } = instanceIn(options.dir)
  const connection = (options.connect ?? connect)(redis, onFault)
  const keys = keysUnder(keyPrefix)
  const counter = new BigUint64Array(quota.table.head.buffer, quota.table.head.byteOffset + HEAD_LEASES, 1)
  const nextSequence = () => incarnation * 2 ** 32 + Number(Atomics.add(counter, 0, 1n)) + 1
  let cleared = 0
  /** The last order of this instance to clear caches, while its number is not known. */
  let ownOrder: Promise<void> = Promise.resolve()
  const membership = new Membership({
    connection,
    keys,
    instance,
    leaseMs: leaseMs * LONG_LEASE,
    maxCallMs,
    // without a directory the instance has another id, which the others wait for
    earlierCallsUntilMs: incarnation > 1 ? quota.monotonicMs() + leaseMs * LONG_LEASE + maxCallMs : 0,
    distrustEmpty: options.distrustEmpty ?? false,
    history: (restored?.consumers ?? 0) > 0 || (restored?.damage ?? []).length > 0,
    monotonicMs: quota.monotonicMs,
    clock: quota.table,
    reportAll: (bucket): Promise<boolean> => reserver.reportAll(namesIn(bucket)),
    onReset: reset => onReset(reset),
    onUp(up) {
      for (const line of lines) line.notify('quota.store', up)
      options.onStore?.(up)
    },
  })
  const common = { quota, connection, keys, membership, instance, leaseMs, nextSequence }
  const generations = restored?.generations ?? new Map()
  const leases = new Leases({ ...common, journal, maxCallMs, onFault, generations, onReset: evictDenials })
  const tools = new ToolLeases(common)
  const reserver = new LeaseReserver({ quota, leases, tools, membership, leaseMs, maxCallMs })
  quota.reserver = reserver
  quota.table.reserve(RESERVING_CONSUMERS | RESERVING_TOOLS | RESERVING_BURST)
  connection.listen(keys.channel, text => onReset(JSON.parse(text) as Reset))

  function* namesIn(bucket: number): Generator<readonly [string, HashedKey]> {
    const { used } = quota.table.health()
    for (let slot = 0; slot < used; slot++) {
      const name = quota.names.read(slot)
      if (name !== undefined && keys.bucketOf(name) === bucket) yield [name, quota.table.key(name)]
    }
  }

  function evictDenials(name: string): void {
    reserver.consumers.get(name)?.evictDenials()
    for (const line of lines) line.notify('quota.evict-denials', name)
  }

  /** Called several times for a reset: by the channel, and by every heartbeat of the next minute. */
  function onReset({ n: name, g: generation, by, w: window = 0 }: Reset): void {
    if (by !== undefined) {
      if (by !== instance) reserver.recall(name, window > 1)
    } else if (name === '') void ownOrder.then(() => onClearOrder(generation))
    else leases.reset(name, generation)
  }

  function onClearOrder(generation: number): void {
    if (generation <= cleared) return
    cleared = generation
    notices.notifyAll()
  }

  async function untilReady(): Promise<void> {
    const end = performance.now() + READY_MS
    while (!membership.open && performance.now() < end) await sleep(10)
  }

  const statistics = statisticsOver(quota, connection, keys, instance)
  const statisticsOf = (key: string) => statistics.of(shortName(key))
  const useOfNames = useOver(quota, connection, keys, instance)
  const useOf = (names: readonly string[]): Promise<readonly QuotaUse[]> => useOfNames(names.map(shortName))
  const resets = createResets(connection, keys)

  async function reset(key: string): Promise<boolean> {
    const name = shortName(nameOf(key))
    const local = quota.statisticsOf(name) !== undefined
    const generation = await resets.reset(name)
    if (generation > 0) onReset({ n: name, g: generation })
    else if (local) quota.reset(name)
    return local || generation > 0
  }

  /** This instance receives the order too, at times before its number, and must not clear again. */
  async function clear(): Promise<void> {
    const order = resets.clear().then(number => {
      cleared = Math.max(cleared, number)
    })
    ownOrder = order.catch(() => {})
    await order
  }

  return {
    ready: untilReady(),
    damage: restored?.damage ?? [],
    share,
    serve(port) {
      const line = new PortLine(port)
      lines.add(line)
      line.onClose(() => lines.delete(line))
      line.notify('quota.store', membership.up)
      serveThread(line, { quota, reserver, statistics: statistics.all, statisticsOf, useOf, reset, clear })
    },
    detach: thread => quota.table.detach(thread),
    key: name => quota.table.key(shortName(name)),
    take(request) {
      const key = shortKey(request.key)
      return quota.take(key === request.key ? request : { ...request, key })
    },
    statistics: statistics.all,
    statisticsOf,
    usage: () => usageOf(quota, reserver.consumers),
    useOf,
    reset,
    revision: () => quota.table.revision,
    async clearElsewhere() {
      notices.pass()
      await clear()
    },
    onCleared: listener => notices.listen(listener),
    health: () => ({
      ...quota.table.health(),
      store: membership.up ? 'up' : 'down',
      waited: reserver.waited,
    }),
    advance(ms) {
      quota.table.advance(ms)
      void membership.refreshAll()
    },
    async close() {
      for (const line of lines) line.close()
      await reserver.close()
      await membership.close()
      connection.close()
      notices.close()
      kept.close()
    },
  }
}

/** The table of this process, with its journal when it has a directory. */
function openParts(options: RedisQuotaOptions): JournalParts {
  const { dir, ...others } = options
  // undefined while the journal is being restored
  let parts: JournalParts | undefined
  // every name is listed: after a loss of data all consumers have to be reported
  const sizes = { ...others, listed: options.consumers ?? 131_072, ...storeClocks(() => parts?.quota.table) }
  // Redis has the counts that a damaged journal lost
  if (dir !== undefined) parts = openJournal({ ...sizes, dir, assume: false })
  else {
    const region = createQuotaRegion(sizes, options.kernel)
    parts = { quota: new TableQuota(region, sizes), share: shareOf(region), close: () => {} }
  }
  return parts
}
