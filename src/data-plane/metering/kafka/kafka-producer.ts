/** Writes batches of metering events, of a size that the topic takes, keyed by consumer. */
import { KafkaJSProtocolError, Partitioners, type Producer } from 'kafkajs'
import type { MeteringEvent } from '../../../link/metering-event.ts'
import { decodeEvent } from '../event-codec.ts'
import { type KafkaOptions, kafkaClient } from './client.ts'

export interface KafkaProducerOptions extends KafkaOptions {
  readonly format: 'protobuf' | 'json'
  /** Called for a frame of the spool that is not an event; it is skipped. */
  readonly onUnreadable: () => void
  /** Called for an event that the brokers refuse for itself, with the name of their error; it is not sent again. */
  readonly onRefused: (event: MeteringEvent, reason: string) => Promise<void>
}

interface Message {
  readonly key: string
  readonly value: Buffer
}

const ALL_REPLICAS = -1
const SEND_TIMEOUT_MS = 10_000
/** A broker that accepts connections and is silent is given up after this time. */
const CONNECT_MS = 1_500
/** A connection may be half-open: the first attempt to send ends after this time, each further one after twice as long, up to the time-out. */
const FIRST_SEND_MS = 2_000
/** Half the default of `message.max.bytes`, which bounds the records of one partition: a larger request takes the thread longer and is not faster. */
const MAX_BATCH_BYTES = 512 * 1024
/** Batch header bytes of a record batch, and at most of a record beside key and value. */
const BATCH_HEADER_BYTES = 61
const RECORD_HEADER_BYTES = 21
/** Errors about the records, which are refused each time; all others are about the brokers, the topic or rights, and may pass. */
const TOO_LARGE = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE'])
const INVALID = 'INVALID_RECORD'

export class KafkaProducer {
  readonly counts = { refused: 0 }
  readonly #options: KafkaProducerOptions
  #producer: Producer | undefined
  #sendMs = FIRST_SEND_MS
  /** Half of what was refused last: more than half of what the topic takes. It grows slowly, since a topic may take more later. */
  #maxBytes = MAX_BATCH_BYTES
  /** Lowered to find a record that is not valid. */
  #maxEvents = Number.POSITIVE_INFINITY

  constructor(options: KafkaProducerOptions) {
    this.#options = options
  }

  /**
   * Resolves when the brokers have stored the first events, as many as fit in a request, or when the first one cannot be sent at all.
   * @returns the number of these events
   * @throws Error when the brokers may not have stored them; they are then sent again, and consumers drop repeats by `event_id`
   */
  async send(events: readonly { readonly bytes: Uint8Array }[]): Promise<number> {
    while (true) {
      const { messages, bytes } = this.#firstOf(events)
      if (messages.length === 0) return 1
      const refusal = await this.#store(messages)
      if (refusal === undefined) {
        this.#maxBytes = Math.min(MAX_BATCH_BYTES, this.#maxBytes + bytes / 1000)
        this.#maxEvents *= 2
        return messages.length
      }
      if (TOO_LARGE.has(refusal)) this.#maxBytes = Math.min(this.#maxBytes, bytes / 2)
      else this.#maxEvents = Math.max(1, messages.length >> 1)
      if (messages.length > 1) continue
      await this.#options.onRefused(decodeEvent(events[0]!.bytes), refusal)
      this.counts.refused++
      return 1
    }
  }

  /** The messages of one request; none when the first event cannot be read. */
  #firstOf(events: readonly { readonly bytes: Uint8Array }[]) {
    const messages: Message[] = []
    let bytes = BATCH_HEADER_BYTES
    for (const event of events) {
      const message = this.#message(event.bytes)
      // it is reported when it is the first one
      if (message === undefined && messages.length === 0) this.#options.onUnreadable()
      if (message === undefined) break
      const after = bytes + RECORD_HEADER_BYTES + Buffer.byteLength(message.key) + message.value.length
      if (messages.length > 0 && (after > this.#maxBytes || messages.length >= this.#maxEvents)) break
      messages.push(message)
      bytes = after
    }
    return { messages, bytes }
  }

  /** @returns the name of the error when the brokers refuse the messages for themselves @throws Error when they may store them later */
  async #store(messages: Message[]): Promise<string | undefined> {
    try {
      const producer = await this.#connectOnce()
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
      return undefined
    } catch (error) {
      if (error instanceof KafkaJSProtocolError && (TOO_LARGE.has(error.type) || error.type === INVALID)) {
        this.#sendMs = FIRST_SEND_MS
        return error.type
      }
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

  async #connectOnce(): Promise<Producer> {
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

  /** undefined: not an event. */
  #message(bytes: Uint8Array): Message | undefined {
    try {
      const event = decodeEvent(bytes)
      // a copy: the client may still use it when the spool reads on
      const value = this.#options.format === 'json' ? Buffer.from(JSON.stringify(event)) : Buffer.from(bytes)
      return { key: event.consumer_id, value }
    } catch {
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
