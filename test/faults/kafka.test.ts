/** Kafka behind the fault proxy: no call waits for it, and each call that returned 200 has its event in the topic afterwards. */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { readEvent } from '../../src/data-plane/metering/event-codec.ts'
import { freePorts } from '../fixtures/free-ports.ts'
import { hasKafka, KAFKA_HINT, KafkaServer } from '../services/kafka/kafka-server.ts'
import { startFaultProxy } from './fault-proxy.ts'
import { runTable } from './run-table.ts'
import { prepareSubject } from './subject.ts'
import { KAFKA } from './tables/kafka.ts'
import { breakProxy, type World } from './world.ts'

async function open(): Promise<World> {
  // clients connect to the address that the broker announces: that of the proxy
  const [proxyPort] = (await freePorts(1)) as [number]
  const kafka = await KafkaServer.start(proxyPort)
  const proxy = await startFaultProxy(`http://${kafka.brokers}`, proxyPort)
  const subject = await prepareSubject({
    env: { METERING_ENABLED: 'true', KAFKA_BROKERS: `127.0.0.1:${proxy.port}`, METERING_DURABILITY: 'sync' },
  })
  const responded = new Set<string>()
  return {
    subject: subject.process,
    dependency: breakProxy(proxy),
    maxCallMs: 2_000,
    async call() {
      const id = randomUUID()
      const called = await subject.callTool('fast', subject.token, id)
      if (called.status === 200) responded.add(id)
      return called
    },
    longCall: () => subject.callTool('slow'),
    longCalls: subject.slowCalls,
    isFine: ({ status }) => status === 200,
    see: () => subject.see('metering delivery'),
    async begin() {
      responded.clear()
    },
    async verify() {
      const missing = async (): Promise<string[]> => {
        const messages = await kafka.read('platform.metering')
        const there = new Set(messages.map(({ value }) => readEvent(value).request_id))
        return [...responded].filter(id => !there.has(id))
      }
      await expect.poll(missing, { timeout: 15_000, interval: 200 }).toEqual([])
    },
    async close() {
      await subject.close()
      await kafka.stop()
      await proxy.close()
    },
  }
}

runTable(KAFKA, { skip: hasKafka() ? undefined : KAFKA_HINT, open })
