/** The loop that passes events from the spool to a taker: one batch at a time, repeated until it is accepted. It contains no taker. */
import type { Log } from '../../shared/telemetry/log.ts'

/** Where events come from; the spool's reader. */
export interface EventSource<E> {
  read(maxEvents: number): readonly E[]
  commit(): Promise<void>
}

export interface EventSinkOptions<E> {
  readonly source: EventSource<E>
  /** Takes a batch. After a rejection, the batch may not have been taken and is repeated. */
  readonly take: (events: readonly E[]) => Promise<void>
  /** For the log: `Kafka`, `the database`. */
  readonly taker: string
  readonly maxBatch: number
  readonly log: Log
}

const IDLE_MS = 50
const FIRST_BACKOFF_MS = 200
const MAX_BACKOFF_MS = 5000

export class EventSink<E> {
  readonly counts = { taken: 0, failures: 0 }
  readonly #options: EventSinkOptions<E>
  #closing = false
  #wake: (() => void) | undefined
  readonly #ended: Promise<void>

  constructor(options: EventSinkOptions<E>) {
    this.#options = options
    this.#ended = this.#run()
  }

  /** Waits for the current batch, for at most `timeoutMs`. */
  async close(timeoutMs = 3000): Promise<void> {
    this.#closing = true
    this.#wake?.()
    let timer: NodeJS.Timeout | undefined
    await Promise.race([this.#ended, new Promise(resolve => (timer = setTimeout(resolve, timeoutMs)))])
    clearTimeout(timer)
  }

  async #run(): Promise<void> {
    const { source, maxBatch } = this.#options
    let backoffMs = FIRST_BACKOFF_MS
    let batch: readonly E[] = []
    // events already in the spool are still passed on after close(); the loop ends when it finds none
    while (true) {
      try {
        if (batch.length === 0) batch = source.read(maxBatch)
        if (batch.length === 0) {
          if (this.#closing) return
          await this.#sleep(IDLE_MS)
          continue
        }
        await this.#options.take(batch)
        this.counts.taken += batch.length
        batch = []
        if (backoffMs > FIRST_BACKOFF_MS)
          this.#options.log.info({}, `${this.#options.taker} accepts metering events again`)
        backoffMs = FIRST_BACKOFF_MS
        await source.commit()
      } catch (error) {
        this.counts.failures++
        if (this.#closing) return
        if (backoffMs === FIRST_BACKOFF_MS)
          this.#options.log.warn(
            { err: error },
            `${this.#options.taker} does not accept metering events; they stay in the spool and are sent again`,
          )
        await this.#sleep(backoffMs)
        backoffMs = Math.min(MAX_BACKOFF_MS, 2 * backoffMs)
      }
    }
  }

  #sleep(ms: number): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
