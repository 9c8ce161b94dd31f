/** Folds metering events into hours, latencies and usage, each event once though sources repeat them. It reads no spool and no topic. */
import type { MeteringEvent } from '../../../link/metering-event.ts'
import type { UsageCount } from '../../../link/report.ts'
import { bucketOf } from '../../../model/latency-histogram.ts'
import type { MeteredHour, MeteredLatency } from '../../store/repositories.ts'
import { EVERY_TENANT, type Store, type Transaction } from '../../store/store.ts'

/** The spool of the control plane's own process, in `MeteringMark.source`. */
export const SPOOL_SOURCE = 'spool'

const HOUR_MS = 3_600_000
type Writable<T> = { -readonly [K in keyof T]: T[K] }

/**
 * Counts the events that are new, in one transaction with the marks that say so.
 * @param source its events of one writer come in the order of their ids, repeats apart
 * @param events of a source, in its order
 * @returns how many were new
 * @throws Error of the database; nothing has been counted then
 */
export function foldEvents(store: Store, source: string, events: readonly MeteringEvent[]): Promise<number> {
  return store.write(EVERY_TENANT, async tx => {
    const fresh = await takeNew(tx, source, events)
    const { hours, latencies } = fold(fresh)
    await tx.metering.add(hours, latencies)
    await tx.usage.add(usageOf(fresh))
    return fresh.length
  })
}

/** The last 62 bits of a UUIDv7 of ours name its writer; an id of another form is its own writer. */
function writerOf(eventId: string): string {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(eventId)
    ? eventId.slice(19).replace('-', '')
    : eventId
}

async function takeNew(
  tx: Transaction,
  source: string,
  events: readonly MeteringEvent[],
): Promise<readonly MeteringEvent[]> {
  const writers = [...new Set(events.map(event => writerOf(event.event_id)))]
  const last = new Map<string, string>()
  // What was counted from the spool before brokers were set comes over the broker once more.
  for (const mark of await tx.metering.marks(source, writers)) {
    if (mark.source !== source && mark.source !== SPOOL_SOURCE) continue
    if (mark.lastEventId > (last.get(mark.writer) ?? '')) last.set(mark.writer, mark.lastEventId)
  }
  const taken = new Map<string, number>()
  const fresh = events.filter(event => {
    const writer = writerOf(event.event_id)
    if (event.event_id <= (last.get(writer) ?? '')) return false
    last.set(writer, event.event_id)
    taken.set(writer, (taken.get(writer) ?? 0) + 1)
    return true
  })
  await tx.metering.advance(
    source,
    [...taken].map(([writer, count]) => ({ writer, lastEventId: last.get(writer)!, events: count })),
  )
  return fresh
}

function fold(events: readonly MeteringEvent[]): {
  readonly hours: readonly MeteredHour[]
  readonly latencies: readonly MeteredLatency[]
} {
  const hours = new Map<string, Writable<MeteredHour>>()
  const latencies = new Map<string, Writable<MeteredLatency>>()
  for (const event of events) {
    const at = Math.floor(Date.parse(event.occurred_at) / HOUR_MS) * HOUR_MS
    const of = { tenantId: event.tenant_id, apiId: event.api_id, hour: new Date(at), requests: 0 }
    const key = `${of.tenantId} ${of.apiId} ${at}`
    const hour = entry(hours, key, () => ({ ...of, errors: 0 }))
    hour.requests++
    if (event.outcome !== 'success') hour.errors++
    const bucket = bucketOf(event.latency_us)
    entry(latencies, `${key} ${bucket}`, () => ({ ...of, bucket })).requests++
  }
  return { hours: [...hours.values()], latencies: [...latencies.values()] }
}

/** What quotas count: calls that took a unit of a subscription's quota, by day (contract §4). */
function usageOf(events: readonly MeteringEvent[]): readonly UsageCount[] {
  const counts = new Map<string, Writable<UsageCount>>()
  for (const event of events) {
    if (!event.counted || event.subscription_id === '') continue
    const at = new Date(event.occurred_at)
    const day = at.toISOString().slice(0, 10)
    const count = entry(counts, `${event.subscription_id} ${day}`, () => ({
      subscriptionId: event.subscription_id,
      day,
      requests: 0,
      errors: 0,
      lastRequestAt: at,
    }))
    count.requests++
    if (event.outcome !== 'success') count.errors++
    if (at > count.lastRequestAt) count.lastRequestAt = at
  }
  return [...counts.values()]
}

function entry<V>(map: Map<string, V>, key: string, make: () => V): V {
  let value = map.get(key)
  if (value === undefined) {
    value = make()
    map.set(key, value)
  }
  return value
}
