/** Writes batches of metering events to the topic, keyed by consumer. It reads no topic. */
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
/** A broker that accepts connections and is silent is given up after this time. */
const CONNECT_MS = 1_500
/** A connection may be half-open: the first attempt to send ends after this time, each further one after twice as long, up to the time-out. */
const FIRST_SEND_MS = 2_000

export class KafkaProducer {
  readonly #options: KafkaProducerOptions
  #producer: Producer | undefined
  #sendMs = FIRST_SEND_MS

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
      const sent = producer.send({
        topic: this.#options.topic,
        acks: ALL_REPLICAS,
        timeout: SEND_TIMEOUT_MS,
        messages,
      })
      const waitMs = this.#sendMs
      this.#sendMs = Math.min(waitMs * 2, SEND_TIMEOUT_MS)
      await within(waitMs, sent)
      this.#sendMs = FIRST_SEND_MS
    } catch (error) {
      // a client may keep the address of a dead broker: the next attempt uses a new client, and waits for nothing of this one
      void this.close()
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
    this.#producer = producer
    await within(CONNECT_MS, producer.connect())
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

/** @throws Error when the work takes longer; its result is then ignored */
async function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`the Kafka brokers did not respond within ${timeoutMs} ms`)),
      timeoutMs,
    )
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
    work.catch(() => undefined)
  }
}
