/** Writes batches of events to the topic: acknowledged by all replicas, keyed by consumer, one batch at a time. It stores no event. */
import { Partitioners, type Producer } from 'kafkajs'
import { decodeEvent } from '../event-codec.ts'
import { type KafkaOptions, kafkaClient } from './client.ts'

export interface KafkaProducerOptions extends KafkaOptions {
  readonly format: 'protobuf' | 'json'
  /** Called for a frame of the spool that is not an event; it is skipped. */
  readonly onUnreadable: () => void
}

const ALL_REPLICAS = -1
const SEND_TIMEOUT_MS = 10_000

export class KafkaProducer {
  readonly #options: KafkaProducerOptions
  #producer: Producer | undefined

  constructor(options: KafkaProducerOptions) {
    this.#options = options
  }

  /**
   * Resolves when the brokers have stored the batch.
   * @throws Error when they may not have; the batch is then sent again, and consumers drop repeats by `event_id`
   */
  async send(events: readonly { readonly bytes: Uint8Array }[]): Promise<void> {
    const messages = events.flatMap(event => this.#message(event.bytes) ?? [])
    if (messages.length === 0) return
    try {
      const producer = await this.#connected()
      await producer.send({
        topic: this.#options.topic,
        acks: ALL_REPLICAS,
        timeout: SEND_TIMEOUT_MS,
        messages,
      })
    } catch (error) {
      // a client may keep the address of a dead broker: the next attempt uses a new client
      await this.close()
      throw error
    }
  }

  async close(): Promise<void> {
    const producer = this.#producer
    this.#producer = undefined
    await producer?.disconnect().catch(() => undefined)
  }

  async #connected(): Promise<Producer> {
    if (this.#producer !== undefined) return this.#producer
    // the idempotent mode of this client is experimental: a sequence error ends its producer
    const producer = kafkaClient(this.#options).producer({
      idempotent: false,
      maxInFlightRequests: 1,
      createPartitioner: Partitioners.DefaultPartitioner,
      retry: { retries: 0 },
    })
    await producer.connect()
    this.#producer = producer
    return producer
  }

  #message(bytes: Uint8Array): { readonly key: string; readonly value: Buffer } | undefined {
    try {
      const event = decodeEvent(bytes)
      // a copy: the client may still use it when the spool reads on
      const value = this.#options.format === 'json' ? Buffer.from(JSON.stringify(event)) : Buffer.from(bytes)
      return { key: event.consumer_id, value }
    } catch {
      this.#options.onUnreadable()
      return undefined
    }
  }
}
