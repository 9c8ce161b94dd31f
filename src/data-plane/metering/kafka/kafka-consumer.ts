/** Reads metering events from the topic as a member of a consumer group, and passes them on in batches. */
import { once } from 'node:events'
import type { Consumer, EachBatchPayload } from 'kafkajs'
import { Backoff } from '../../../base/async/backoff.ts'
import type { MeteringEvent } from '../../../link/metering-event.ts'
import { readEvent } from '../event-codec.ts'
import { type KafkaOptions, kafkaClient } from './client.ts'

export interface KafkaConsumerOptions extends KafkaOptions {
  /** Control planes of one database share the partitions under it. */
  readonly group: string
  /**
   * Takes the events of one partition. After a rejection, they may not have been taken and are repeated.
   * @param source topic and partition
   */
  readonly take: (source: string, events: readonly MeteringEvent[]) => Promise<void>
}

const BACKOFF = { firstMs: 500, maxMs: 10_000 }

export class KafkaConsumer {
  readonly counts = { taken: 0, unreadable: 0, restarts: 0 }
  readonly #options: KafkaConsumerOptions
  readonly #stopped = new AbortController()
  readonly #stopRequested = once(this.#stopped.signal, 'abort')
  readonly #ended: Promise<void>
  #consumer: Consumer | undefined

  constructor(options: KafkaConsumerOptions) {
    this.#options = options
    this.#ended = this.#run()
  }

  async close(): Promise<void> {
    this.#stopped.abort()
    await this.#ended
  }

  /** A crashed client does not recover from every error: each crash is followed by a new client. */
  async #run(): Promise<void> {
    const backoff = new Backoff(BACKOFF)
    while (!this.#stopped.signal.aborted) {
      const startedAt = Date.now()
      try {
        await this.#consume()
      } catch (error) {
        this.counts.restarts++
        this.#options.log.warn(
          { err: error },
          'metering events cannot be read from Kafka; the Kafka consumer retries',
        )
      }
      await this.#consumer?.disconnect().catch(() => undefined)
      if (Date.now() - startedAt > BACKOFF.maxMs) backoff.reset()
      await backoff.wait(this.#stopped.signal)
    }
  }

  /** Returns only after `close`. @throws Error of the connection or of the crash */
  async #consume(): Promise<void> {
    const { topic, group } = this.#options
    const consumer = kafkaClient(this.#options).consumer({
      groupId: group,
      sessionTimeout: 10_000,
      heartbeatInterval: 2000,
      maxWaitTimeInMs: 500,
      maxBytesPerPartition: 1024 * 1024,
      // the first member of a group waits for its coordinator to come up
      retry: { retries: 5, initialRetryTime: 200, restartOnFailure: () => Promise.resolve(false) },
    })
    this.#consumer = consumer
    const crashed = new Promise<never>((_, reject) => {
      consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
    })
    // a stop may come during another await
    crashed.catch(() => undefined)
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({ eachBatchAutoResolve: false, eachBatch: batch => this.#take(batch) })
    await Promise.race([crashed, this.#stopRequested])
  }

  async #take({ batch, resolveOffset, heartbeat }: EachBatchPayload): Promise<void> {
    const events = batch.messages.flatMap(message => this.#event(message.value) ?? [])
    if (events.length > 0) await this.#options.take(`${batch.topic}/${batch.partition}`, events)
    this.counts.taken += events.length
    resolveOffset(batch.lastOffset())
    await heartbeat()
  }

  #event(value: Buffer | null): MeteringEvent | undefined {
    try {
      return readEvent(value ?? Buffer.alloc(0))
    } catch {
      this.counts.unreadable++
      return undefined
    }
  }
}
