/** The loop that passes batches of events from a source to a taker, retries after failures and reports faults. */
import { Backoff } from '../../base/async/backoff.ts'
import type { Log } from '../../telemetry/log.ts'

/** Where events come from; the spool's reader. */
export interface EventSource<E> {
  read(maxEvents: number): readonly E[]
  commit(): Promise<void>
}

export interface EventSinkOptions<E> {
  readonly source: EventSource<E>
  /**
   * Takes a batch, or the first events of it. After a rejection, none of them may have been taken, and they are repeated.
   * @returns how many it has taken, at least one; the others are passed again
   */
  readonly take: (events: readonly E[]) => Promise<number>
  /** For the log: `Kafka`, `the database`. */
  readonly taker: string
  readonly maxBatch: number
  /** Between a batch with fewer events than `maxBatch` and the next one; for takers to which a batch costs more than its events. */
  readonly gatherMs?: number
  /** Called with the reason when events cannot be read, taken or committed, and with undefined once all of it succeeds again. */
  readonly onFault: (fault: string | undefined) => void
  readonly log: Log
}

const IDLE_MS = 50
const BACKOFF = { firstMs: 200, maxMs: 500 }

/** What the loop was doing; each has a fault with a cause that differs. */
type Step = 'read' | 'take' | 'commit'

const REFUSED = 'does not accept metering events; they stay in the spool and are sent again'
const SPOOL_FAULTS = {
  read: 'the metering spool cannot be read; its events stay there and are sent later',
  commit:
    'the position in the metering spool cannot be stored, or a delivered segment cannot be removed; events are delivered, but may be sent again after a restart',
}

export class EventSink<E> {
  readonly counts = { taken: 0, failures: 0 }
  readonly #options: EventSinkOptions<E>
  #closing = false
  #stopped = false
  #failing: Step | undefined
  #wake: (() => void) | undefined
  readonly #ended: Promise<void>

  constructor(options: EventSinkOptions<E>) {
    this.#options = options
    this.#ended = this.#run()
  }

  /** Waits until the spool has no further event or a batch fails, for at most `timeoutMs`. */
  async close(timeoutMs = 3000): Promise<void> {
    this.#closing = true
    this.#wake?.()
    let timer: NodeJS.Timeout | undefined
    await Promise.race([this.#ended, new Promise(resolve => (timer = setTimeout(resolve, timeoutMs)))])
    clearTimeout(timer)
    this.#stopped = true
  }

  async #run(): Promise<void> {
    const { source, maxBatch, gatherMs = 0 } = this.#options
    const backoff = new Backoff(BACKOFF)
    let batch: readonly E[] = []
    let isCommitted = true
    // events already in the spool are still passed on after close(); the loop ends when it finds none
    while (true) {
      let step: Step = 'read'
      try {
        if (batch.length === 0) batch = source.read(maxBatch)
        const count = batch.length
        step = 'take'
        while (batch.length > 0) {
          if (this.#stopped) return
          const taken = await this.#options.take(batch)
          this.counts.taken += taken
          batch = batch.slice(taken)
          isCommitted = false
        }
        step = 'commit'
        if (!isCommitted) await source.commit()
        isCommitted = true
        this.#handleRecovery()
        backoff.reset()
        if (count === 0 && this.#closing) return
        if (count === 0) await this.#sleep(IDLE_MS)
        else if (gatherMs > 0 && count < maxBatch && !this.#closing) await this.#sleep(gatherMs)
      } catch (error) {
        this.counts.failures++
        if (this.#closing) return
        this.#handleFailure(step, error)
        await this.#sleep(backoff.nextMs())
      }
    }
  }

  /** Reports it once, until everything succeeds again or another step fails. */
  #handleFailure(step: Step, error: unknown): void {
    if (this.#failing === step) return
    this.#failing = step
    const fault = step === 'take' ? `${this.#options.taker} ${REFUSED}` : SPOOL_FAULTS[step]
    this.#options.onFault(fault)
    this.#options.log.warn({ err: error }, fault)
  }

  #handleRecovery(): void {
    const { taker, onFault, log } = this.#options
    if (this.#failing === undefined) return
    onFault(undefined)
    const text = `${taker} accepts metering events again`
    log.info({}, this.#failing === 'take' ? text : 'the metering spool works again')
    this.#failing = undefined
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
