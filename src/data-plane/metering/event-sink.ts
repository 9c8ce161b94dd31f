/** The loop that passes events from the spool to a taker: one batch at a time, repeated until it is accepted. It contains no taker. */
import { Backoff } from '../../shared/async/backoff.ts'
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
  /** Between a batch with fewer events than `maxBatch` and the next one; for takers to which a batch costs more than its events. */
  readonly gatherMs?: number
  /** Called with the reason when events are no longer taken, and with undefined once they are again. */
  readonly onFault: (fault: string | undefined) => void
  readonly log: Log
}

const IDLE_MS = 50
const BACKOFF = { firstMs: 200, maxMs: 500 }

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
    const { source, maxBatch, gatherMs = 0 } = this.#options
    const backoff = new Backoff(BACKOFF)
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
        const gathers = gatherMs > 0 && batch.length < maxBatch
        batch = []
        if (backoff.retries > 0) {
          this.#options.onFault(undefined)
          this.#options.log.info({}, `${this.#options.taker} accepts metering events again`)
        }
        backoff.reset()
        await source.commit()
        if (gathers && !this.#closing) await this.#sleep(gatherMs)
      } catch (error) {
        this.counts.failures++
        if (this.#closing) return
        if (backoff.retries === 0) {
          const fault = `${this.#options.taker} does not accept metering events; they stay in the spool and are sent again`
          this.#options.onFault(fault)
          this.#options.log.warn({ err: error }, fault)
        }
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
