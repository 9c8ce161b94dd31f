/** Reads the events of a topic from its beginning to its present end, and passes them on. */
import { randomUUID } from 'node:crypto'
import type { MeteringEvent } from '../../../link/metering-event.ts'
import { readEvent } from '../event-codec.ts'
import { type KafkaOptions, kafkaClient } from './client.ts'

/**
 * @returns false when the topic does not exist
 * @param onEvent undefined for a message that is not a metering event
 * @throws Error when the brokers cannot be reached or refuse
 */
export async function readTopic(
  options: KafkaOptions,
  onEvent: (event: MeteringEvent | undefined) => void,
): Promise<boolean> {
  const kafka = kafkaClient(options)
  const admin = kafka.admin({ retry: { retries: 3 } })
  const groupId = `toolgate-verify-${randomUUID()}`
  const consumer = kafka.consumer({ groupId, retry: { retries: 5, initialRetryTime: 200 } })
  await admin.connect()
  try {
    if (!(await admin.listTopics()).includes(options.topic)) return false
    const ends = new Map<number, bigint>()
    for (const { partition, low, high } of await admin.fetchTopicOffsets(options.topic))
      if (BigInt(high) > BigInt(low)) ends.set(partition, BigInt(high))
    if (ends.size === 0) return true
    await consumer.connect()
    await consumer.subscribe({ topic: options.topic, fromBeginning: true })
    await new Promise<void>((resolve, reject) => {
      consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
      const eachBatch: Parameters<typeof consumer.run>[0] = {
        autoCommit: false,
        eachBatch: async ({ batch }) => {
          const end = ends.get(batch.partition)
          if (end === undefined) return
          for (const message of batch.messages)
            if (BigInt(message.offset) < end) onEvent(eventOf(message.value))
          if (BigInt(batch.lastOffset()) + 1n >= end) ends.delete(batch.partition)
          if (ends.size === 0) resolve()
        },
      }
      consumer.run(eachBatch).catch(reject)
    })
    return true
  } finally {
    await consumer.disconnect().catch(() => undefined)
    await admin.deleteGroups([groupId]).catch(() => undefined)
    await admin.disconnect().catch(() => undefined)
  }
}

function eventOf(value: Buffer | null): MeteringEvent | undefined {
  try {
    return readEvent(value ?? Buffer.alloc(0))
  } catch {
    return undefined
  }
}
