/** The Prometheus registry with the specification's names. Label sets are bounded here and nowhere else. */
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { CallCounts } from './call-counts.ts'
import type { Histogram } from './histogram.ts'
import { scrapedHistogram } from './scraped-histogram.ts'

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
  readonly #calls: CallCounts
  #rateLimited = 0
  #quotaExceeded = 0
  readonly #connectionsRefused: Counter<'reason'>
  readonly #streamsRefused: Counter<'reason'>
  readonly #streamsEnded: Counter<'reason'>
  readonly #bugs: Counter<'stage'>
  readonly #policyFailures: Counter<'failure'>
  #others: (() => Promise<readonly MetricJson[]>) | undefined
  /** Of the process, not of a thread: made where they are scraped. */
  #process: Registry | undefined

  constructor(maxConsumers: number) {
    const calls = new CallCounts(maxConsumers)
    this.#calls = calls
    const registers = [this.registry]
    new Counter({
      name: 'platform_requests_total',
      help: 'Calls by consumer and status.',
      labelNames: ['consumer', 'status'],
      registers,
      collect() {
        this.reset()
        for (const { consumer, status, calls: n } of calls.requests()) this.inc({ consumer, status }, n)
      },
    })
    new Counter({
      name: 'platform_outcomes_total',
      help: 'Calls by action and outcome.',
      labelNames: ['action', 'outcome'],
      registers,
      collect() {
        this.reset()
        for (const { action, outcome, calls: n } of calls.outcomes()) this.inc({ action, outcome }, n)
      },
    })
    this.counter(
      'platform_rate_limited_total',
      'Calls refused by a window of a second or a minute, by burst or by the rate of a tool.',
      () => this.#rateLimited,
    )
    this.counter(
      'platform_quota_exceeded_total',
      'Calls refused by a daily or monthly quota.',
      () => this.#quotaExceeded,
    )
    this.#histogram(
      'platform_request_duration_seconds',
      'Time in the pipeline, backend included.',
      'action',
      calls.duration,
    )
    this.#histogram('platform_backend_duration_seconds', 'Time the backend took.', undefined, calls.backend)
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
    this.#histogram(
      'platform_stage_duration_seconds',
      'Time in a stage, of the calls that are sampled for it (STAGE_TIMING_SAMPLE).',
      'stage',
      calls.stages,
    )
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
    this.#calls.call(consumer, status, outcome, action, seconds, backendSeconds)
  }

  quotaRefused(calendar: boolean): void {
    if (calendar) this.#quotaExceeded++
    else this.#rateLimited++
  }

  /** `platform_quota_usage_ratio`, read when scraped. Of several counters of one consumer the fullest is shown. */
  quotaUsage(read: () => Iterable<QuotaUsage>): void {
    const calls = this.#calls
    new Gauge({
      name: 'platform_quota_usage_ratio',
      help: 'Used share of a quota, 0.0 to 1.0.',
      labelNames: ['consumer', 'type'],
      registers: [this.registry],
      collect() {
        this.reset()
        const fullest = new Map<string, QuotaUsage>()
        for (const { consumer, type, ratio } of read()) {
          const label = calls.labelOf(consumer)
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
    this.#calls.stages.of(stage).observe(seconds)
  }

  bug(stage: string): void {
    this.#bugs.inc({ stage })
  }

  /** @param failure one of a closed set (`PolicyFailure`). */
  policyFailed(failure: string): void {
    this.#policyFailures.inc({ failure })
  }

  #histogram(name: string, help: string, label: string | undefined, histogram: Histogram): void {
    this.registry.registerMetric(scrapedHistogram(name, help, label, histogram))
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

  /**
   * Gauges that are read when scraped.
   * @param read where it rejects, what it said last stands
   * @param threads `max` where every thread knows the same, instead of its share
   */
  gauge(
    name: string,
    help: string,
    read: () => number | Promise<number>,
    threads: 'sum' | 'max' = 'sum',
  ): void {
    new Gauge({
      name,
      help,
      aggregator: threads,
      registers: [this.registry],
      async collect() {
        try {
          this.set(await read())
        } catch {
          // one that cannot be asked must not cost the scrape all others
        }
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
