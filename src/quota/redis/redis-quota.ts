/**
 * Quotas that hold across instances: shares are leased from Redis and spent in the table of this process. Whatever fails,
 * the leases of all instances together never exceed a limit.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type JournalParts, type JournalQuotaOptions, openJournal } from '../journal/journal-quota.ts'
import { RESERVING_BURST, RESERVING_CONSUMERS, RESERVING_TOOLS } from '../memory/abi.ts'
import { createQuotaRegion } from '../memory/kernel.ts'
import { HEAD_LEASES } from '../memory/region.ts'
import type { HashedKey, TableHealth } from '../memory/table.ts'
import { nameOf, TableQuota, type Taken } from '../memory/table-quota.ts'
import type { Quota, QuotaKey, QuotaRequest, QuotaStatistics } from '../quota.ts'
import { connect } from './connection.ts'
import { instanceIn } from './instance.ts'
import { BUCKETS, keysUnder, shortName } from './keys.ts'
import { LeaseReserver } from './lease-reserver.ts'
import { Leases } from './leases.ts'
import { Membership, type Reset } from './membership.ts'
import { statisticsOver } from './statistics.ts'
import { ToolLeases } from './tool-leases.ts'

export interface RedisQuotaOptions extends Omit<JournalQuotaOptions, 'dir'> {
  /** `redis://` or `rediss://`. Its memory policy must be `noeviction`: a counter that is evicted is a counter lost. */
  readonly url: string
  /** Where this instance keeps its own counts; absent (tests): nowhere, and it is somebody new after a restart. */
  readonly dir?: string
  /** Begins the name of every key. Default `toolgate:quota`. */
  readonly keyPrefix?: string
  /** Milliseconds a lease lasts. Default 2,000: so long units of an instance that was killed are nobody's. */
  readonly leaseMs?: number
  /** Longest call in ms: so long places in flight of an instance that is cut off stay taken. Default 60,000. */
  readonly maxCallMs?: number
}

export interface RedisQuota extends Quota {
  /** Resolves when every instance that is up knows this one, or after 5 s: until then calls with limits are refused. */
  readonly ready: Promise<void>
  health(): TableHealth & {
    /** `down`: this instance decides on what it holds, and refuses when that is spent. */
    readonly store: 'up' | 'down'
    /** Calls that waited for Redis. */
    readonly waited: number
  }
  advance(ms: number): void
}

const READY_MS = 5_000

/**
 * Starts counting; the connection comes up in the background.
 * @throws Error naming the directory and the mend (`openJournalQuota`); RangeError naming an option that does not fit
 */
export function openRedisQuota(options: RedisQuotaOptions): RedisQuota {
  const { url, dir, keyPrefix = 'toolgate:quota', leaseMs = 2_000, maxCallMs = 60_000 } = options
  const onFault = options.onFault ?? (() => {})
  let membership: Membership | undefined
  const clocks = {
    ...options,
    unixMs: () => Math.floor(membership?.unixMs ?? Date.now()),
    calendarMs: (nowMs: number) => Math.floor(membership?.unixMs ?? nowMs),
  }
  // Every name is needed: after a loss of data all consumers have to be told of.
  const sizes = { ...options, listed: options.consumers ?? 131_072 }
  const kept: JournalParts =
    dir === undefined
      ? { quota: new TableQuota(createQuotaRegion(sizes, options.kernel), clocks), close: () => {} }
      : openJournal({ ...sizes, ...clocks, dir })
  const { quota, journal } = kept
  const { id: instance, incarnation } = instanceIn(dir)
  const connection = connect(url, onFault)
  const keys = keysUnder(keyPrefix)
  const counter = new BigUint64Array(quota.table.head.buffer, quota.table.head.byteOffset + HEAD_LEASES, 1)
  const nextSequence = () => incarnation * 2 ** 32 + Number(Atomics.add(counter, 0, 1n)) + 1
  membership = new Membership({
    connection,
    keys,
    instance,
    leaseMs,
    history: (kept.restored?.consumers ?? 0) > 0,
    observer: false,
    monotonicMs: quota.monotonicMs,
    tellAll: (bucket): Promise<boolean> => reserver.tellAll(namesIn(bucket)),
    onReset: reset => onReset(reset),
  })
  const common = { quota, connection, keys, membership, instance, leaseMs, nextSequence }
  const leases = new Leases({ ...common, journal, maxCallMs, onFault })
  const reserver = new LeaseReserver({
    quota,
    leases,
    tools: new ToolLeases(common),
    membership,
    leaseMs,
    maxCallMs,
  })
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

  function onReset({ n: name, g: generation }: Reset): void {
    leases.reset(name, generation)
    reserver.consumers.get(name)?.forgive()
  }

  function short(key: string | QuotaKey): string | QuotaKey {
    if (typeof key !== 'string') return key
    return shortName(key)
  }

  async function untilReady(): Promise<void> {
    const end = performance.now() + READY_MS
    while (!membership!.open && performance.now() < end) await sleep(10)
  }

  function take(request: QuotaRequest): Taken | Promise<Taken> {
    const key = short(request.key)
    return quota.take(key === request.key ? request : { ...request, key })
  }

  return {
    ready: untilReady(),
    key: name => quota.table.key(shortName(name)),
    take,
    statistics: (): Promise<readonly QuotaStatistics[]> =>
      statisticsOver(quota, connection, keys, BUCKETS, instance),
    async reset(key) {
      const name = shortName(nameOf(key))
      const local = quota.statisticsOf(name) !== undefined
      const generation = await connection.quotaReset(
        keys.consumer(name),
        keys.epoch(keys.bucketOf(name)),
        name,
        keys.channel,
      )
      if (generation > 0) onReset({ n: name, g: generation })
      else if (local) quota.reset(name)
      return local || generation > 0
    },
    health: () => ({
      ...quota.table.health(),
      store: membership!.up ? 'up' : 'down',
      waited: reserver.waited,
    }),
    advance: ms => quota.table.advance(ms),
    async close() {
      await reserver.close()
      await membership!.close()
      connection.close()
      kept.close()
    },
  }
}
