/** Adds new metering events to the stored counts, and announces reached quotas. */

import { getOrSet } from '../../../base/once-per.ts'
import type { MeteringEvent } from '../../../link/metering-event.ts'
import { addUsage, type UsageCount, usageDay, usageKey } from '../../../link/usage-count.ts'
import { bucketOf } from '../../../model/latency-histogram.ts'
import { EVERY_TENANT, type Store, type Transaction } from '../../store/store.ts'
import type { MeteredHour, MeteredLatency } from '../../store/usage-repositories.ts'
import { announceReachedQuotas } from './notices.ts'

/** `MeteringMark.source` of the spool of this process. */
export const SPOOL_SOURCE = 'spool'

const HOUR_MS = 3_600_000
type Writable<T> = { -readonly [K in keyof T]: T[K] }

/**
 * Counts new events and advances the marks in the same transaction, so that a repeated delivery counts nothing.
 * @param source delivers the events of one writer in the order of their ids; repeats are allowed
 * @param events in the order of the source
 * @returns the number of new events
 * @throws Error of the database; no event has been counted
 */
export function foldEvents(store: Store, source: string, events: readonly MeteringEvent[]): Promise<number> {
  return store.write(EVERY_TENANT, async tx => {
    const fresh = await takeNew(tx, source, events)
    const { hours, latencies } = fold(fresh)
    await tx.metering.add(hours, latencies)
    const usage = usageOf(fresh)
    await tx.usage.add(usage)
    await announceReachedQuotas(tx, usage)
    return fresh.length
  })
}

/** The last 62 bits of our UUIDv7 event ids identify the writer; an id of another form is treated as a writer by itself. */
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
  // When brokers are configured later, the broker repeats events that were counted from the spool.
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
    const hour = getOrSet(hours, key, () => ({ ...of, errors: 0 }))
    hour.requests++
    if (event.outcome !== 'success') hour.errors++
    const bucket = bucketOf(event.latency_us)
    getOrSet(latencies, `${key} ${bucket}`, () => ({ ...of, bucket })).requests++
  }
  return { hours: [...hours.values()], latencies: [...latencies.values()] }
}

/** Calls that took a unit of a subscription's quota, by day. */
function usageOf(events: readonly MeteringEvent[]): readonly UsageCount[] {
  const totals = new Map<string, UsageCount>()
  for (const { counted, subscription_id: subscriptionId, occurred_at, outcome } of events) {
    if (!counted || subscriptionId === '') continue
    const lastRequestAt = new Date(occurred_at)
    const errors = outcome === 'success' ? 0 : 1
    const count = { subscriptionId, day: usageDay(lastRequestAt), requests: 1, errors, lastRequestAt }
    const key = usageKey(count)
    const before = totals.get(key)
    totals.set(key, before === undefined ? count : addUsage(before, count))
  }
  return [...totals.values()]
}
