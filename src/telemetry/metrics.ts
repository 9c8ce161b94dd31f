/** The Prometheus registry with the specification's names. Label sets are bounded here and nowhere else. */
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

const OTHER = 'other'

type CallCount = { readonly requests: { inc(): void }; readonly duration: { observe(seconds: number): void } }

/** How much of a calendar quota a consumer has used; above 1 after a limit was lowered. */
export interface QuotaUsage {
  readonly consumer: string
  readonly type: 'daily' | 'monthly'
  readonly ratio: number
}

/** The metrics of one thread as they are posted to the one that is scraped. Opaque. */
export type MetricJson = readonly object[]

/** Every metric of the process. Values are read by a scrape of `/metrics`. */
export class Metrics {
  readonly registry = new Registry()
  readonly #requests: Counter<'consumer' | 'status'>
  readonly #outcomes: Counter<'action' | 'outcome'>
  readonly #rateLimited: Counter
  readonly #quotaExceeded: Counter
  readonly #duration: Histogram<'action'>
  readonly #backend: Histogram
  readonly #connectionsRefused: Counter<'reason'>
  readonly #streamsRefused: Counter<'reason'>
  readonly #streamsEnded: Counter<'reason'>
  readonly #bugs: Counter<'stage'>
  readonly #stages: Histogram<'stage'>
  readonly #policyFailures: Counter<'failure'>
  readonly #consumers = new Set<string>()
  #others: (() => Promise<readonly MetricJson[]>) | undefined
  /** Of the process, not of a thread: made where they are scraped. */
  #process: Registry | undefined
  readonly #maxConsumers: number
  /** Children by label values: asking prom-client for one hashes the labels each time. */
  readonly #children = new Map<string, CallCount>()

  constructor(maxConsumers: number) {
    this.#maxConsumers = maxConsumers
    const registers = [this.registry]
    const seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
    this.#requests = new Counter({
      name: 'platform_requests_total',
      help: 'Calls by consumer and status.',
      labelNames: ['consumer', 'status'],
      registers,
    })
    this.#outcomes = new Counter({
      name: 'platform_outcomes_total',
      help: 'Calls by action and outcome.',
      labelNames: ['action', 'outcome'],
      registers,
    })
    this.#rateLimited = new Counter({
      name: 'platform_rate_limited_total',
      help: 'Calls refused by a window of a second or a minute, by burst or by the rate of a tool.',
      registers,
    })
    this.#quotaExceeded = new Counter({
      name: 'platform_quota_exceeded_total',
      help: 'Calls refused by a daily or monthly quota.',
      registers,
    })
    this.#duration = new Histogram({
      name: 'platform_request_duration_seconds',
      help: 'Time in the pipeline, backend included.',
      labelNames: ['action'],
      buckets: seconds,
      registers,
    })
    this.#backend = new Histogram({
      name: 'platform_backend_duration_seconds',
      help: 'Time the backend took.',
      buckets: seconds,
      registers,
    })
    this.#connectionsRefused = new Counter({
      name: 'platform_connections_refused_total',
      help: 'Connections closed before a request was taken.',
      labelNames: ['reason'],
      registers,
    })
    this.#streamsRefused = new Counter({
      name: 'platform_streams_refused_total',
      help: 'Event streams the limiter did not open.',
      labelNames: ['reason'],
      registers,
    })
    this.#streamsEnded = new Counter({
      name: 'platform_streams_ended_total',
      help: 'Event streams by why they ended.',
      labelNames: ['reason'],
      registers,
    })
    this.#stages = new Histogram({
      name: 'platform_stage_duration_seconds',
      help: 'Time in a stage, of the calls that are sampled for it (STAGE_TIMING_SAMPLE).',
      labelNames: ['stage'],
      buckets: [1e-6, 5e-6, 2e-5, 1e-4, 5e-4, ...seconds.slice(1)],
      registers,
    })
    this.#bugs = new Counter({
      name: 'platform_internal_errors_total',
      help: 'Exceptions caught by the pipeline.',
      labelNames: ['stage'],
      registers,
    })
    this.#policyFailures = new Counter({
      name: 'platform_policy_failures_total',
      help: 'Decisions the policy could not make; each was a denial.',
      labelNames: ['failure'],
      registers,
    })
  }

  /** See `CallMetrics` in the record-metrics stage. */
  call(
    consumer: string,
    status: number,
    outcome: string,
    action: string,
    seconds: number,
    backendSeconds: number,
  ): void {
    const key = `${consumer}\n${status}\n${action}`
    const child = this.#children.get(key) ?? this.#child(key, consumer, status, action)
    child.requests.inc()
    child.duration.observe(seconds)
    if (outcome !== 'success') this.#outcomes.inc({ action, outcome })
    if (backendSeconds >= 0) this.#backend.observe(backendSeconds)
  }

  #child(key: string, consumer: string, status: number, action: string): CallCount {
    const child = {
      requests: this.#requests.labels({ consumer: this.#boundedConsumer(consumer), status: String(status) }),
      duration: this.#duration.labels({ action }),
    }
    if (this.#children.size < 8 * this.#maxConsumers) this.#children.set(key, child)
    return child
  }

  #boundedConsumer(consumer: string): string {
    if (this.#consumers.has(consumer)) return consumer
    if (this.#consumers.size >= this.#maxConsumers) return OTHER
    this.#consumers.add(consumer)
    return consumer
  }

  quotaRefused(calendar: boolean): void {
    if (calendar) this.#quotaExceeded.inc()
    else this.#rateLimited.inc()
  }

  /** `platform_quota_usage_ratio`, read when scraped. Of several counters of one consumer the fullest is shown. */
  quotaUsage(read: () => Iterable<QuotaUsage>): void {
    const bounded = (consumer: string) => this.#boundedConsumer(consumer)
    new Gauge({
      name: 'platform_quota_usage_ratio',
      help: 'Used share of a quota, 0.0 to 1.0.',
      labelNames: ['consumer', 'type'],
      registers: [this.registry],
      collect() {
        this.reset()
        const fullest = new Map<string, QuotaUsage>()
        for (const { consumer, type, ratio } of read()) {
          const label = bounded(consumer)
          const key = `${type} ${label}`
          if (ratio >= (fullest.get(key)?.ratio ?? 0)) fullest.set(key, { consumer: label, type, ratio })
        }
        for (const { consumer, type, ratio } of fullest.values())
          this.set({ consumer, type }, Math.min(1, ratio))
      },
    })
  }

  connectionRefused(reason: string): void {
    this.#connectionsRefused.inc({ reason })
  }

  /** An event stream the limiter did not open. */
  streamRefused(reason: string): void {
    this.#streamsRefused.inc({ reason })
  }

  streamEnded(reason: string): void {
    this.#streamsEnded.inc({ reason })
  }

  /** See `CallMetrics`. */
  stage(stage: string, seconds: number): void {
    this.#stages.observe({ stage }, seconds)
  }

  bug(stage: string): void {
    this.#bugs.inc({ stage })
  }

  /** @param failure one of a closed set (`PolicyFailure`). */
  policyFailed(failure: string): void {
    this.#policyFailures.inc({ failure })
  }

  /** Counts that are kept elsewhere and read when scraped. */
  counter(name: string, help: string, read: () => number): void {
    new Counter({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.reset()
        this.inc(read())
      },
    })
  }

  /** Gauges that are read when scraped. @param threads `max` where every thread knows the same, instead of its share */
  gauge(name: string, help: string, read: () => number, threads: 'sum' | 'max' = 'sum'): void {
    new Gauge({
      name,
      help,
      aggregator: threads,
      registers: [this.registry],
      collect() {
        this.set(read())
      },
    })
  }

  /** Where other threads count too, and are asked when scraped. */
  gather(read: () => Promise<readonly MetricJson[]>): void {
    this.#others = read
  }

  /** What this thread has counted; nothing of the process as a whole. */
  json(): Promise<MetricJson> {
    return this.registry.getMetricsAsJSON()
  }

  async text(): Promise<string> {
    this.#process ??= processMetrics()
    const others = (await this.#others?.()) ?? []
    const all =
      others.length === 0
        ? this.registry
        : AggregatorRegistry.aggregate([await this.json(), ...others] as object[])
    return `${await all.metrics()}\n${await this.#process.metrics()}`
  }
}

function processMetrics(): Registry {
  const register = new Registry()
  collectDefaultMetrics({ register })
  return register
}
