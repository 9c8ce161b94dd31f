/** The loop between spool and whoever takes the events: one batch at a time, repeated until it is taken, then never again. It knows no taker. */
import { Backoff } from '../../shared/async/backoff.ts'
import type { Log } from '../../shared/telemetry/log.ts'

/** Where events come from; the spool's reader. */
export interface EventSource<E> {
  read(maxEvents: number): readonly E[]
  commit(): Promise<void>
}

export interface EventSinkOptions<E> {
  readonly source: EventSource<E>
  /** Takes a batch for good. A rejection means that it may not have been taken; it is then given again. */
  readonly take: (events: readonly E[]) => Promise<void>
  /** For the log: `Kafka`, `the database`. */
  readonly taker: string
  readonly maxBatch: number
  readonly log: Log
}

const IDLE_MS = 50
const BACKOFF = { firstMs: 200, maxMs: 5000 }

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

  /** Lets the batch that is under way end, for at most `timeoutMs`. */
  async close(timeoutMs = 3000): Promise<void> {
    this.#closing = true
    this.#wake?.()
    let timer: NodeJS.Timeout | undefined
    await Promise.race([this.#ended, new Promise(resolve => (timer = setTimeout(resolve, timeoutMs)))])
    clearTimeout(timer)
  }

  async #run(): Promise<void> {
    const { source, maxBatch } = this.#options
    const backoff = new Backoff(BACKOFF)
    let batch: readonly E[] = []
    // closing does not forget what is already there: the last look finds nothing
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
        if (backoff.retries > 0)
          this.#options.log.info({}, `${this.#options.taker} takes metering events again`)
        backoff.reset()
        await source.commit()
      } catch (error) {
        this.counts.failures++
        if (this.#closing) return
        if (backoff.retries === 0)
          this.#options.log.warn(
            { err: error },
            `${this.#options.taker} does not take metering events; they stay in the spool until it does`,
          )
        await this.#sleep(backoff.nextMs())
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
