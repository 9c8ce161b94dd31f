/** Connects meters, spool, Kafka and the control plane by the settings, and reports missing metrics. */
import { join } from 'node:path'
import { foldEvents, SPOOL_SOURCE } from '../../control-plane/api/services/fold-events.ts'
import type { Store } from '../../control-plane/store/store.ts'
import { DEAD_LETTERS, keepDeadLetter } from '../../data-plane/metering/dead-letters.ts'
import { decodeEvent } from '../../data-plane/metering/event-codec.ts'
import { EventSink } from '../../data-plane/metering/event-sink.ts'
import type { KafkaProducer } from '../../data-plane/metering/kafka/kafka-producer.ts'
import { adoptSegments } from '../../data-plane/metering/spool/adopt-segments.ts'
import { Retention } from '../../data-plane/metering/spool/retention.ts'
import { type SpooledEvent, SpoolReader } from '../../data-plane/metering/spool/spool-reader.ts'
import { SpoolWriter } from '../../data-plane/metering/spool/spool-writer.ts'
import type { MeteringEvent } from '../../link/metering-event.ts'
import { limitRepeats } from '../../telemetry/limited-log.ts'
import type { Settings } from '../settings.ts'
import type { AppContext } from './app-context.ts'
import { accessKafka } from './kafka-access.ts'

const MAX_SEGMENT_BYTES = 8 * 1024 * 1024
const EXPORT_BATCH = 2000
const FOLD_BATCH = 5000
/** For `METERING_SPOOL_MAX`, for each of the two files of dead letters. */
const DEAD_LETTER_SHARE = 16
const RETENTION_EVERY_MS = 250
/** A transaction takes the embedded database some 20 ms of processor time, for one event as for a hundred. */
const FOLD_EVERY_MS = 250
const RETENTION_FAULT =
  'files of the metering spool cannot be listed, read or removed, so the spool may exceed METERING_SPOOL_MAX until a retry succeeds'

/** Whether events go through Kafka. */
export function exportsEvents({ metering }: Settings): boolean {
  return metering.enabled && metering.brokers.length > 0
}

/** Whether the control plane counts usage from events; without them gateways report their counts. */
export function usageComesFromEvents(settings: Settings): boolean {
  return settings.role === 'all' || exportsEvents(settings)
}

/**
 * The control plane computes metrics from events. If they do not reach it, one warning is logged at the start.
 * @returns the warning with its fix; undefined if nothing is missing
 */
export function missingMetrics(settings: Settings): string | undefined {
  if (exportsEvents(settings)) return undefined
  const fix =
    'To collect metrics, set METERING_ENABLED=true and KAFKA_BROKERS on the control plane and on its gateways'
  if (settings.role === 'control-plane')
    return `this control plane shows the usage of subscriptions, but has no metrics for tenants and APIs. ${fix}`
  if (settings.role === 'gateway')
    return `metering events stay in the spool of this gateway. The control plane receives the usage of subscriptions, but no metrics for tenants and APIs. ${fix}`
  return undefined
}

function warnOfMissingMetrics({ settings, log }: AppContext): void {
  const missing = missingMetrics(settings)
  if (missing !== undefined) log.warn({}, missing)
}

function spoolOf({ settings }: AppContext) {
  const { spoolMaxBytes } = settings.metering
  return {
    directory: join(settings.dataDir, 'metering'),
    segmentBytes: Math.min(MAX_SEGMENT_BYTES, Math.floor(spoolMaxBytes / 8)),
  }
}

/** Adopts the segments of the previous process; call before the first meter opens. @throws Error of the file system */
export function adoptSpool(context: AppContext): void {
  adoptSegments(spoolOf(context).directory)
}

/** The meter of this thread. */
export function openMeter(context: AppContext): SpoolWriter {
  const { settings, log, closers, metrics, conditions } = context
  const writer = new SpoolWriter({
    ...spoolOf(context),
    durability: settings.metering.durability,
    gateway: settings.gatewayName,
    onFault(error) {
      conditions.set('metering spool', error?.message)
      if (error !== undefined)
        log.error(
          { err: error },
          'metering events cannot be written to the spool. Check the disk and free space of DATA_DIR',
        )
      else log.info({}, 'metering events can be written to the spool again')
    },
  })
  closers.add('meter', () => writer.close())
  metrics.read('platform_metering_events_total', () => writer.counts.events)
  metrics.read('platform_metering_dropped_total', () => writer.counts.dropped)
  metrics.read('platform_metering_held', () => writer.held)
  metrics.read('platform_metering_unsynced_total', () => writer.counts.unsynced)
  return writer
}

/** For a gateway: delivers events to Kafka, if configured. The control plane of this process reads the spool itself. */
export async function sendEvents(context: AppContext): Promise<void> {
  const { settings } = context
  if (settings.role === 'gateway') warnOfMissingMetrics(context)
  if (exportsEvents(settings) || settings.role === 'gateway') await deliverEvents(context, undefined)
}

/** For a control plane: counts the events of all gateways from Kafka, or those of this process from the spool. */
export async function receiveEvents(context: AppContext, store: Store): Promise<void> {
  const { settings } = context
  warnOfMissingMetrics(context)
  if (exportsEvents(settings)) await foldFromKafka(context, store)
  else if (settings.role === 'all') await deliverEvents(context, store)
}

/**
 * Starts the one reader of the spool. It delivers to Kafka if configured, else to the control plane of this process; without both
 * the events stay. It closes before the meters; the next process delivers what they still write.
 */
async function deliverEvents(context: AppContext, store: Store | undefined): Promise<void> {
  const { settings, log, closers, metrics, conditions } = context
  const { directory, segmentBytes } = spoolOf(context)
  const exporting = exportsEvents(settings)
  const reader = new SpoolReader({
    directory,
    purpose: exporting ? 'kafka' : 'fold',
    removes: exporting,
    onDamage: context.reportDamage,
  })
  const retention = new Retention({
    directory,
    maxBytes: settings.metering.spoolMaxBytes,
    spareBytes: segmentBytes + 2 ** 20,
    reader,
    onFault(error) {
      const fault = error && `${RETENTION_FAULT} (${error.message})`
      conditions.set('metering retention', fault)
      if (fault !== undefined) log.warn({ err: error }, RETENTION_FAULT)
      else log.info({}, 'METERING_SPOOL_MAX is enforced again')
    },
  })
  const enforce = (): void => {
    const dropped = retention.enforce()
    if (dropped > 0)
      log.error(
        { dropped },
        'the metering spool is full (METERING_SPOOL_MAX): its oldest events were dropped',
      )
  }
  enforce()
  const timer = setInterval(enforce, RETENTION_EVERY_MS)
  closers.add('metering spool', () => clearInterval(timer))

  const producer = exporting ? await openProducer(context) : undefined
  const toKafka = producer && ((events: readonly SpooledEvent[]) => producer.send(events))
  const take = toKafka ?? (store && toStore(store, log))
  if (take !== undefined) {
    const sink = new EventSink<SpooledEvent>({
      source: reader,
      take,
      taker: exporting ? 'Kafka' : 'the database',
      maxBatch: exporting ? EXPORT_BATCH : FOLD_BATCH,
      gatherMs: exporting ? 0 : FOLD_EVERY_MS,
      onFault: fault => conditions.set('metering delivery', fault),
      log,
    })
    closers.add('delivery of metering events', () => sink.close())
    const refusedTotal = (): number => producer?.counts.refused ?? 0
    metrics.read('platform_metering_delivered_total', () => sink.counts.taken - refusedTotal())
    metrics.read('platform_metering_dead_letter_total', refusedTotal)
    metrics.read('platform_metering_delivery_failures_total', () => sink.counts.failures)
  }
  metrics.read('platform_metering_spool_dropped_total', () => retention.counts.dropped)
  metrics.read('platform_metering_damaged_total', () => reader.counts.damaged)
  metrics.read('platform_metering_spool_bytes', () => retention.counts.bytes)
  metrics.read('platform_metering_spool_segments', () => retention.counts.segments)
}

async function openProducer(context: AppContext): Promise<KafkaProducer> {
  const { settings, log, closers } = context
  const { directory } = spoolOf(context)
  const maxBytes = settings.metering.spoolMaxBytes / DEAD_LETTER_SHARE
  const limited = limitRepeats(log)
  // loaded only with brokers
  const { KafkaProducer } = await import('../../data-plane/metering/kafka/kafka-producer.ts')
  const { close, ...access } = accessKafka(settings.metering)
  const producer = new KafkaProducer({
    ...access,
    format: settings.metering.format,
    clientId: `toolgate-${settings.gatewayName}`,
    log,
    onUnreadable: () =>
      log.error({}, 'a record in the metering spool is not a metering event and was skipped'),
    async onRefused(event, reason) {
      const fields = { event_id: event.event_id, reason }
      try {
        await keepDeadLetter(directory, maxBytes, event, reason)
        limited.error(
          fields,
          `Kafka refuses a metering event permanently, so it was moved to ${DEAD_LETTERS} in DATA_DIR/metering. Compare max.message.bytes of the topic with the size of the event`,
        )
      } catch (error) {
        // the events behind it are delivered, which makes space on a full disk
        limited.error(
          { ...fields, err: error },
          `Kafka refuses a metering event permanently, and it is lost, because ${DEAD_LETTERS} cannot be written. Check the disk and free space of DATA_DIR`,
        )
      }
    },
  })
  closers.add('connection to Kafka', async () => {
    await producer.close()
    await close()
  })
  return producer
}

function toStore(store: Store, log: AppContext['log']): (events: readonly SpooledEvent[]) => Promise<number> {
  return async spooled => {
    const events = spooled.flatMap(({ bytes }): MeteringEvent[] => {
      try {
        return [decodeEvent(bytes)]
      } catch {
        log.error({}, 'a record in the metering spool is not a metering event and was skipped')
        return []
      }
    })
    if (events.length > 0) await foldEvents(store, SPOOL_SOURCE, events)
    return spooled.length
  }
}

async function foldFromKafka(context: AppContext, store: Store): Promise<void> {
  const { settings, log, closers, metrics } = context
  const { KafkaConsumer } = await import('../../data-plane/metering/kafka/kafka-consumer.ts')
  const { close, ...access } = accessKafka(settings.metering)
  const consumer = new KafkaConsumer({
    ...access,
    clientId: 'toolgate-control-plane',
    group: `${settings.metering.topic}.toolgate`,
    log,
    take: async (source, events) => {
      await foldEvents(store, source, events)
    },
  })
  closers.add('metering consumer', async () => {
    await consumer.close()
    await close()
  })
  metrics.read('platform_metering_consumed_total', () => consumer.counts.taken)
  metrics.read('platform_metering_unreadable_total', () => consumer.counts.unreadable)
}
