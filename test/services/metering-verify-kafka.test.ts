/** `toolgate metering verify` with a broker: a topic that does not exist, one that holds the events, and a broker that ends. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { KafkaProducer } from '../../src/data-plane/metering/kafka/kafka-producer.ts'
import { SILENT } from '../../src/telemetry/log.ts'
import { runToolgate } from '../fixtures/command.ts'
import { aCall, anOrigin, aReader, aWriter, spoolDirectory } from '../fixtures/metering.ts'
import { hasKafka, KAFKA_HINT, KafkaServer } from './kafka/kafka-server.ts'

describe.skipIf(!hasKafka())(`metering verify (${KAFKA_HINT})`, { timeout: 180_000 }, () => {
  const dataDir = spoolDirectory()
  const spool = join(dataDir, 'metering')
  let kafka: KafkaServer

  beforeAll(async () => {
    const writer = aWriter(spool)
    for (let number = 1; number <= 5; number++) writer.record(anOrigin(), aCall())
    writer.close()
    kafka = await KafkaServer.start()
  }, 180_000)
  afterAll(async () => {
    await kafka?.stop()
    rmSync(dataDir, { recursive: true, force: true })
  })

  const verify = (topic: string) =>
    runToolgate(['metering', 'verify', '--json'], {
      DATA_DIR: dataDir,
      KAFKA_BROKERS: kafka.brokers,
      METERING_TOPIC: topic,
    })

  it('ends with 1 and a message when the brokers do not have the topic', async () => {
    const { code, out, err } = await verify('of.another.installation')
    expect([code, out]).toEqual([1, ''])
    expect(err).toBe(
      `toolgate: the brokers in KAFKA_BROKERS (${kafka.brokers}) have no topic of.another.installation, which METERING_TOPIC names. Set METERING_TOPIC as on the gateways; the topic exists once a gateway has sent an event.\n`,
    )
  })

  it('reads the events of the topic, and ends with 1 and a message once the broker has ended', async () => {
    const topic = 'of.this.installation'
    const producer = new KafkaProducer({
      brokers: kafka.brokers.split(','),
      clientId: 'test',
      topic,
      tls: undefined,
      sasl: undefined,
      format: 'protobuf',
      log: SILENT,
      onUnreadable: () => expect.unreachable(),
      onRefused: () => expect.unreachable(),
    })
    const events = aReader(spool).read(10)
    // the broker creates the topic at the first attempt, and may refuse that one
    await expect.poll(() => producer.send(events).then(() => true), { timeout: 60_000 }).toBe(true)
    await producer.close()
    const found = await verify(topic)
    expect([found.code, JSON.parse(found.out)]).toMatchObject([
      0,
      { missing: 0, unreadable: 0, writers: [{ first: 1, last: 5, spool: 5, topic: 5 }] },
    ])
    await kafka.kill()
    const { code, out, err } = await verify(topic)
    expect([code, out]).toEqual([1, ''])
    expect(err).toMatch(/^toolgate: the topic of\.this\.installation cannot be read from the brokers .*\n$/)
  })
})
