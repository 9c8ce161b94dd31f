/** Counts and durations of calls, with a bound on the labels of consumers. */
import { Histogram, type TracedValue } from './histogram.ts'

/** The label of all consumers beyond `maxConsumers`. */
const OTHER = 'other'

/** For one consumer with separate labels; backends of proxied APIs choose any. Others are counted by class, such as `4xx`. */
const MAX_STATUSES = 64

interface Count {
  calls: number
}

/** Upper bounds in seconds. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const STAGE_SECONDS = [1e-6, 5e-6, 2e-5, 1e-4, 5e-4, ...SECONDS.slice(1)]

export class CallCounts {
  /** By action. */
  readonly duration = new Histogram(SECONDS)
  /** One series, named ''. */
  readonly backend = new Histogram(SECONDS)
  /** By stage. */
  readonly stages = new Histogram(STAGE_SECONDS)
  readonly #backend = this.backend.of('')
  readonly #byConsumer = new Map<string, Map<number | string, Count>>([[OTHER, new Map()]])
  readonly #byAction = new Map<string, Map<string, Count>>()
  readonly #maxConsumers: number

  /** @param maxConsumers with separate labels; the others share one */
  constructor(maxConsumers: number) {
    this.#maxConsumers = maxConsumers
  }

  /** See `CallMetrics` in the record-metrics stage. */
  call(
    consumer: string,
    status: number,
    outcome: string,
    action: string,
    seconds: number,
    backendSeconds: number,
    traced?: TracedValue,
  ): void {
    const statuses = this.#byConsumer.get(consumer) ?? this.#consumer(consumer)
    const isSeparate = statuses.size < MAX_STATUSES || statuses.has(status)
    add(statuses, isSeparate ? status : `${Math.trunc(status / 100)}xx`)
    this.duration.of(action).observe(seconds, traced)
    if (outcome !== 'success') this.#countFailure(action, outcome)
    if (backendSeconds >= 0) this.#backend.observe(backendSeconds, traced)
  }

  #countFailure(action: string, outcome: string): void {
    let outcomes = this.#byAction.get(action)
    if (outcomes === undefined) {
      outcomes = new Map()
      this.#byAction.set(action, outcomes)
    }
    add(outcomes, outcome)
  }

  #consumer(consumer: string): Map<number | string, Count> {
    return this.#byConsumer.get(this.labelOf(consumer))!
  }

  /** The consumer's own label up to the limit, `other` beyond it. */
  labelOf(consumer: string): string {
    if (this.#byConsumer.has(consumer)) return consumer
    // the label of the others takes no place
    if (this.#byConsumer.size > this.#maxConsumers) return OTHER
    this.#byConsumer.set(consumer, new Map())
    return consumer
  }

  *requests(): Iterable<{ readonly consumer: string; readonly status: string; readonly calls: number }> {
    for (const [consumer, statuses] of this.#byConsumer)
      for (const [status, { calls }] of statuses) yield { consumer, status: String(status), calls }
  }

  *outcomes(): Iterable<{ readonly action: string; readonly outcome: string; readonly calls: number }> {
    for (const [action, outcomes] of this.#byAction)
      for (const [outcome, { calls }] of outcomes) yield { action, outcome, calls }
  }
}

function add<K>(counts: Map<K, Count>, key: K): void {
  const known = counts.get(key)
  if (known === undefined) counts.set(key, { calls: 1 })
  else known.calls++
}
