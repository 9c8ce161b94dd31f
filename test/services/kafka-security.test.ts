/** Events through TLS and every SASL mechanism of a real broker: none is lost while the broker restarts or a credential is wrong and corrected. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { accessKafka } from '../../src/app/main/kafka-access.ts'
import { inspectSettings } from '../../src/app/settings.ts'
import { readEvent } from '../../src/data-plane/metering/event-codec.ts'
import { EventSink } from '../../src/data-plane/metering/event-sink.ts'
import { KafkaConsumer } from '../../src/data-plane/metering/kafka/kafka-consumer.ts'
import { KafkaProducer } from '../../src/data-plane/metering/kafka/kafka-producer.ts'
import { readTopic } from '../../src/data-plane/metering/kafka/read-topic.ts'
import type { SpooledEvent } from '../../src/data-plane/metering/spool/spool-reader.ts'
import type { Log } from '../../src/telemetry/log.ts'
import { SILENT } from '../../src/telemetry/log.ts'
import { Authority } from '../fixtures/certificates.ts'
import { aCall, anOrigin, aReader, aWriter } from '../fixtures/metering.ts'
import { clientToken } from '../fixtures/tokens.ts'
import { hasKafka, KAFKA_HINT } from './kafka/kafka-server.ts'
import { type Environment, PASSWORD, type SecuredKafka, startSecuredKafka } from './kafka/secured-kafka.ts'

const WAYS = ['client certificate', 'plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer'] as const
const WRONG = 'wrong-horse-4711'
/** Bound of the events of each mechanism before and during the restart. */
const MAX_MADE = 2_000

describe.skipIf(!hasKafka())(`Kafka with TLS and SASL (${KAFKA_HINT})`, () => {
  const dir = mkdtempSync(join(tmpdir(), 'secured-'))
  let kafka: SecuredKafka

  beforeAll(async () => {
    kafka = await startSecuredKafka(dir)
  }, 120_000)
  afterAll(async () => {
    await kafka?.stop()
    rmSync(dir, { recursive: true, force: true })
  })

  /** A spool and its delivery to a topic, as `openMeter` and `sendEvents` connect them. */
  function deliver(env: Environment, topic: string) {
    const { settings, faults } = inspectSettings({ ...env, METERING_TOPIC: topic })
    expect(faults).toEqual([])
    const { close, ...access } = accessKafka(settings.metering)
    const directory = mkdtempSync(join(dir, 'spool-'))
    const writer = aWriter(directory)
    const faultsSeen: (string | undefined)[] = []
    const lines: string[] = []
    const note = (fields: object, text: string): void => {
      const { err } = fields as { err?: Error }
      lines.push([text, err?.message, err?.stack, JSON.stringify(fields)].join('\n'))
    }
    const log: Log = { ...SILENT, warn: note, error: note, info: note, debug: note }
    const producer = new KafkaProducer({
      ...access,
      format: 'protobuf',
      clientId: 'test',
      log,
      onUnreadable: () => undefined,
      onRefused: () => Promise.resolve(),
    })
    const sink = new EventSink<SpooledEvent>({
      source: aReader(directory, true),
      take: events => producer.send(events),
      taker: 'Kafka',
      maxBatch: 50,
      onFault: fault => faultsSeen.push(fault),
      log,
    })
    let made = 0
    onTestFinished(async () => {
      writer.close()
      await sink.close()
      await producer.close()
      await close()
    })
    return {
      access,
      sink,
      faultsSeen,
      lines,
      meter(count: number): void {
        for (let n = 0; n < count; n++)
          void writer.record(anOrigin(), aCall({ requestId: `${topic}-${made++}` }))
      },
      get made() {
        return made
      },
    }
  }

  /** Request ids in a topic, as an independent client reads them over the plain listener. */
  async function arrived(topic: string): Promise<Set<string>> {
    const messages = await kafka.server.read(topic)
    return new Set(messages.map(({ value }) => readEvent(value).request_id))
  }

  it('loses no event of any mechanism while the broker is killed and restarted, and reads them back', async () => {
    const flows = WAYS.map(way => ({ way, ...flowOf(way) }))
    function flowOf(way: string) {
      const topic = `restart.${way.replaceAll(' ', '-')}`
      const flow = deliver(kafka.ways[way]!, topic)
      const consumed = new Set<string>()
      const consumer = new KafkaConsumer({
        ...flow.access,
        topic,
        clientId: 'test',
        group: `${topic}.group`,
        log: SILENT,
        take: async (_, events) => {
          for (const event of events) consumed.add(event.request_id)
        },
      })
      onTestFinished(() => consumer.close())
      return { topic, flow, consumed }
    }
    const meterAll = (count: number): void => {
      for (const { flow } of flows) flow.meter(count)
    }
    meterAll(100)
    for (const { flow, way } of flows)
      await expect.poll(() => flow.sink.counts.taken, { timeout: 30_000, message: way }).toBe(100)
    // on a busy machine the restart takes long, and what is made meanwhile has to be delivered in the time of the test
    const timer = setInterval(() => {
      if (flows[0]!.flow.made < MAX_MADE) meterAll(5)
    }, 20)
    await kafka.server.kill()
    await expect
      .poll(() => flows.every(({ flow }) => flow.faultsSeen.length > 0), { timeout: 10_000 })
      .toBe(true)
    await kafka.server.start()
    for (const { flow, way } of flows)
      await expect.poll(() => flow.faultsSeen.at(-1), { timeout: 30_000, message: way }).toBe(undefined)
    clearInterval(timer)
    for (const { flow, way, topic, consumed } of flows) {
      await expect.poll(() => flow.sink.counts.taken, { timeout: 60_000, message: way }).toBe(flow.made)
      const there = await arrived(topic)
      expect(there.size, way).toBe(flow.made)
      await expect.poll(() => consumed.size, { timeout: 30_000, message: way }).toBe(flow.made)
    }
    const one = flows.at(-1)!
    const seen = new Set<string>()
    await readTopic({ ...one.flow.access, clientId: 'verify', log: SILENT }, event =>
      seen.add(event!.request_id),
    )
    expect(seen.size).toBe(one.flow.made)
    console.log(
      `${flows.length} mechanisms, ${flows.reduce((sum, { flow }) => sum + flow.made, 0)} events, 0 lost`,
    )
  }, 240_000)

  const password = (): string => join(dir, `secret-${Math.random().toString(36).slice(2)}`)
  const WRONG_WAYS: readonly (readonly [string, () => Environment, () => void])[] = [
    ...(['plain', 'scram-sha-256', 'scram-sha-512'] as const).map(way => {
      const file = password()
      return [
        way,
        () => {
          writeFileSync(file, WRONG)
          return { ...kafka.ways[way]!, KAFKA_PASSWORD_FILE: file }
        },
        () => writeFileSync(file, PASSWORD),
      ] as const
    }),
    (() => {
      const file = password()
      return [
        'oauthbearer',
        () => {
          writeFileSync(file, WRONG)
          const { KAFKA_CLIENT_SECRET: _, ...env } = kafka.ways.oauthbearer!
          return { ...env, KAFKA_CLIENT_SECRET_FILE: file }
        },
        () => writeFileSync(file, 'demo-agent-secret'),
      ] as const
    })(),
    (() => {
      const [cert, key] = [password(), password()]
      const place = (from: { cert: string; key: string }): void => {
        writeFileSync(cert, readFileSync(from.cert))
        writeFileSync(key, readFileSync(from.key))
      }
      return [
        'client certificate',
        () => {
          place(new Authority(mkdtempSync(join(dir, 'other-')), 'other').issue('stranger'))
          return { ...kafka.ways['client certificate']!, KAFKA_CERT_FILE: cert, KAFKA_KEY_FILE: key }
        },
        () => place(kafka.authority.issue('renewed')),
      ] as const
    })(),
  ]

  it.concurrent.each(WRONG_WAYS)(
    '%s: a wrong credential is reported without it, the events stay in the spool and arrive when its file is corrected',
    async (way, wrong, correct) => {
      const topic = `wrong.${way.replaceAll(' ', '-')}`
      const flow = deliver(wrong(), topic)
      flow.meter(50)
      await expect.poll(() => flow.sink.counts.failures, { timeout: 20_000 }).toBeGreaterThan(1)
      expect(flow.sink.counts.taken).toBe(0)
      const log = flow.lines.join('\n')
      expect(log).toMatch(
        /authentication failed|does not accept the credentials in KAFKA_CLIENT_ID and KAFKA_CLIENT_SECRET|certificate|Connection error|alert/i,
      )
      expect(log).not.toContain(WRONG)
      expect(log).not.toContain('PRIVATE KEY')
      correct()
      await expect.poll(() => flow.sink.counts.taken, { timeout: 20_000 }).toBe(50)
      expect((await arrived(topic)).size).toBe(50)
    },
    60_000,
  )

  it('takes the token of a file, and refuses a broker whose certificate no given authority has signed', async () => {
    const { KAFKA_TOKEN_URL, KAFKA_CLIENT_ID, KAFKA_CLIENT_SECRET: _, ...oauth } = kafka.ways.oauthbearer!
    const file = join(dir, 'token')
    writeFileSync(
      file,
      await clientToken(KAFKA_TOKEN_URL!.replace('/protocol/openid-connect/token', ''), KAFKA_CLIENT_ID!),
    )
    const flow = deliver({ ...oauth, KAFKA_TOKEN_FILE: file }, 'token.file')
    flow.meter(10)
    await expect.poll(() => flow.sink.counts.taken, { timeout: 20_000 }).toBe(10)

    const stranger = new Authority(mkdtempSync(join(dir, 'stranger-')), 'stranger')
    const refused = deliver({ ...kafka.ways.plain!, KAFKA_CA_FILE: stranger.ca }, 'refused')
    refused.meter(1)
    await expect.poll(() => refused.lines.join('\n'), { timeout: 20_000 }).toMatch(/certificate/)
    expect(refused.sink.counts.taken).toBe(0)
  }, 60_000)
})
