/** A backlog of long events before a real broker: delivered whole and in order, in batches that the topic takes; an event that no batch can hold goes to the file of dead letters. */
import { readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Kafka, logLevel } from 'kafkajs'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createContext } from '../../src/app/main/app-context.ts'
import { openMeter, sendEvents } from '../../src/app/main/metering.ts'
import { readEvent } from '../../src/data-plane/metering/event-codec.ts'
import { Closers } from '../../src/telemetry/closers.ts'
import { type Log, SILENT } from '../../src/telemetry/log.ts'
import { freePorts } from '../fixtures/free-ports.ts'
import { aCall, anOrigin, spoolDirectory } from '../fixtures/metering.ts'
import { readSettings } from '../fixtures/settings.ts'
import { hasKafka, KAFKA_HINT, KafkaServer } from './kafka/kafka-server.ts'
import { type RefusingProxy, startRefusingProxy } from './kafka/refusing-proxy.ts'

const FORMATS = ['protobuf', 'json'] as const
/** More than one batch of the exporter. */
const EVENTS = 2_500
/** The longest that a name in a definition, a label and a request id may be. */
const ORIGIN = { consumerId: 'c'.repeat(253), tool: 't'.repeat(64), toolset: 's'.repeat(253) }
const INVALID_RECORD = 87
/** They are about the way to the broker, its part in the cluster, and rights: no event is to blame. */
const PASSING = [
  ['NOT_LEADER_FOR_PARTITION', 6],
  ['NOT_ENOUGH_REPLICAS', 19],
  ['CORRUPT_MESSAGE', 2],
  ['TOPIC_AUTHORIZATION_FAILED', 29],
] as const
const SOON = { timeout: 30_000, interval: 200 }

const requestId = (number: number): string => String(number).padStart(128, '0')
const idsOf = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, at) => requestId(from + at))

describe.skipIf(!hasKafka())(`a backlog of metering events (${KAFKA_HINT})`, { timeout: 120_000 }, () => {
  let kafka: KafkaServer
  let proxy: RefusingProxy
  /** Its address: clients are sent to it by the broker as well. */
  let brokers: string

  beforeAll(async () => {
    const [port] = (await freePorts(1)) as [number]
    proxy = await startRefusingProxy(port, () => Number(kafka.brokers.split(':')[1]))
    kafka = await KafkaServer.start(port)
    brokers = `127.0.0.1:${port}`
  }, 180_000)
  afterAll(async () => {
    await kafka?.stop()
    await proxy?.close()
  })

  async function createTopic(topic: string, maxMessageBytes: number): Promise<void> {
    const admin = new Kafka({ brokers: [kafka.brokers], logLevel: logLevel.NOTHING }).admin()
    await admin.connect()
    const configEntries = [{ name: 'max.message.bytes', value: String(maxMessageBytes) }]
    await admin.createTopics({ waitForLeaders: true, topics: [{ topic, numPartitions: 3, configEntries }] })
    await admin.disconnect()
  }

  /** The meter of a gateway and, once it is started, the delivery. */
  function open(topic: string, format: (typeof FORMATS)[number]) {
    const dataDir = spoolDirectory()
    const lines: { readonly fields: object; readonly text: string }[] = []
    const note = (fields: object, text: string): void => void lines.push({ fields, text })
    const log: Log = { ...SILENT, warn: note, error: note }
    const closers = new Closers(log)
    const settings = readSettings({
      ROLE: 'gateway',
      CONTROL_PLANE_URL: 'http://localhost:8081',
      GATEWAY_CLIENT_ID: 'gateway',
      GATEWAY_CLIENT_SECRET: 'secret',
      AUTH_ISSUER: 'http://localhost:8180/realms/dev',
      METERING_ENABLED: 'true',
      KAFKA_BROKERS: brokers,
      METERING_TOPIC: topic,
      METERING_FORMAT: format,
      DATA_DIR: dataDir,
    })
    const context = createContext(settings, log, closers, false)
    const meter = openMeter(context)
    onTestFinished(async () => {
      await closers.close()
      rmSync(dataDir, { recursive: true, force: true })
    })
    const origins = new Map<string, ReturnType<typeof anOrigin>>()
    return {
      lines,
      directory: join(dataDir, 'metering'),
      start: () => sendEvents(context),
      async metric(name: string): Promise<number> {
        return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(await context.metrics.text())?.[1])
      },
      /** Resolves when the spool holds the event. */
      async record(number: number, fields: Partial<ReturnType<typeof anOrigin>> = {}): Promise<void> {
        const key = JSON.stringify(fields)
        const origin = origins.get(key) ?? anOrigin({ ...ORIGIN, ...fields })
        origins.set(key, origin)
        await meter.record(origin, aCall({ requestId: requestId(number) }))
      },
    }
  }

  /** Request ids in the order of the topic, of one consumer. */
  async function arrived(topic: string, consumer = ORIGIN.consumerId): Promise<string[]> {
    const messages = await kafka.read(topic).catch(() => [])
    return messages.filter(({ key }) => key === consumer).map(({ value }) => readEvent(value).request_id)
  }
  const without = (ids: readonly string[], number: number) => ids.filter(id => id !== requestId(number))

  it('is delivered whole and in order, in both formats, when the broker comes back', async () => {
    proxy.setUnreachable(true)
    const gateways = FORMATS.map(format => ({
      topic: `backlog.${format}`,
      gateway: open(`backlog.${format}`, format),
    }))
    for (const { gateway } of gateways) {
      await gateway.start()
      for (let number = 1; number <= EVENTS; number += 100)
        await Promise.all(Array.from({ length: 100 }, (_, at) => gateway.record(number + at)))
      await expect.poll(() => gateway.metric('platform_metering_delivery_failures_total')).toBeGreaterThan(0)
    }
    proxy.setUnreachable(false)
    for (const { topic, gateway } of gateways) {
      const expected = idsOf(1, EVENTS)
      await expect.poll(async () => [...new Set(await arrived(topic))], SOON).toEqual(expected)
      expect(await gateway.metric('platform_metering_delivered_total')).toBe(EVENTS)
      expect(await gateway.metric('platform_metering_dead_letter_total')).toBe(0)
    }
  })

  it.each(FORMATS)('is delivered once and in order to a topic that takes 64 KiB (%s)', async format => {
    const topic = `small.${format}`
    await createTopic(topic, 65_536)
    const gateway = open(topic, format)
    await Promise.all(idsOf(1, 1_000).map((_, at) => gateway.record(at + 1)))
    await gateway.start()
    await expect.poll(() => gateway.metric('platform_metering_delivered_total'), SOON).toBe(1_000)
    expect(await arrived(topic)).toEqual(idsOf(1, 1_000))
    expect(gateway.lines).toEqual([])
  })

  it.each(FORMATS)('is delivered around an event that the topic does not take (%s)', async format => {
    const topic = `dead.${format}`
    await createTopic(topic, 2_048)
    const gateway = open(topic, format)
    const others = { consumerId: 'another' }
    for (let number = 1; number <= 300; number++) {
      await gateway.record(number, number === 150 ? { tool: 'ü'.repeat(1_024) } : {})
      await gateway.record(number, others)
    }
    await gateway.start()
    await expect.poll(() => gateway.metric('platform_metering_delivered_total'), SOON).toBe(599)
    expect([...new Set(await arrived(topic))]).toEqual(without(idsOf(1, 300), 150))
    expect([...new Set(await arrived(topic, 'another'))]).toEqual(idsOf(1, 300))
    expect(await gateway.metric('platform_metering_dead_letter_total')).toBe(1)
    const file = join(gateway.directory, 'dead-letters.ndjson')
    const letters = readFileSync(file, 'utf8').trimEnd().split('\n')
    expect(letters.map(line => JSON.parse(line))).toEqual([
      {
        refused_at: expect.any(String),
        reason: 'MESSAGE_TOO_LARGE',
        event: expect.objectContaining({ request_id: requestId(150), consumer_id: ORIGIN.consumerId }),
      },
    ])
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(gateway.lines.map(({ text }) => text)).toEqual([expect.stringContaining('dead-letters.ndjson')])
  })

  it('is delivered around an event that is not valid for the broker', async () => {
    proxy.refuse = request => (request.includes('not-valid') ? INVALID_RECORD : undefined)
    const gateway = open('invalid', 'protobuf')
    for (let number = 1; number <= 300; number++)
      await gateway.record(number, number === 150 ? { tool: 'not-valid' } : {})
    await gateway.start()
    await expect.poll(() => gateway.metric('platform_metering_delivered_total'), SOON).toBe(299)
    expect(await arrived('invalid')).toEqual(without(idsOf(1, 300), 150))
    expect(await gateway.metric('platform_metering_dead_letter_total')).toBe(1)
  })

  it.each(PASSING)('is sent again, and nothing is given up, after %s', async (name, code) => {
    const topic = `passing.${name}`
    await createTopic(topic, 65_536)
    proxy.refuse = () => code
    const gateway = open(topic, 'protobuf')
    await gateway.record(1)
    await gateway.start()
    await expect
      .poll(() => gateway.metric('platform_metering_delivery_failures_total'), SOON)
      .toBeGreaterThan(2)
    expect(await gateway.metric('platform_metering_dead_letter_total')).toBe(0)
    proxy.refuse = () => undefined
    await expect.poll(() => gateway.metric('platform_metering_delivered_total'), SOON).toBe(1)
    expect(await arrived(topic)).toEqual(idsOf(1, 1))
  })
})
