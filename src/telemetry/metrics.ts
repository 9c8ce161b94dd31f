/** Registers the metrics of a thread, counts some of them, and renders them with those of other threads. `metric-table.ts` defines them. */
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client'
import { CallCounts } from './call-counts.ts'
import type { Exemplar, Histogram } from './histogram.ts'
import type { MetricDefinition } from './metric-definition.ts'
import { METRICS, type MetricName } from './metric-table.ts'
import { examplesOf, type MetricFamily, openMetricsText } from './open-metrics.ts'
import { type TargetCall, TargetCounts } from './target-counts.ts'

/** How much of a calendar quota a consumer has used; above 1 after a limit was lowered. */
export interface QuotaUsage {
  readonly consumer: string
  readonly type: 'daily' | 'monthly'
  readonly ratio: number
}

/** The metrics of one thread as they are posted to the one that is scraped. Opaque. */
export type MetricJson = readonly MetricFamily[]

/** Every metric of the process. Values are read by a scrape of `/metrics`. */
export class Metrics {
  readonly registry = new Registry()
  readonly #calls: CallCounts
  /** See `CallMetrics` in the record-metrics stage. */
  readonly call: CallCounts['call']
  readonly #targets: TargetCounts
  #rateLimited = 0
  #quotaExceeded = 0
  readonly #connectionsRefused: Counter<'reason'>
  readonly #streamsRefused: Counter<'reason'>
  readonly #streamsEnded: Counter<'reason'>
  readonly #bugs: Counter<'stage'>
  readonly #unexpected: Counter<'kind'>
  readonly #policyFailures: Counter<'failure'>
  readonly #changes: Counter<'action' | 'actor'>
  #others: (() => Promise<readonly MetricJson[]>) | undefined
  /** For the process, not of a thread: made where they are scraped. */
  #process: Registry | undefined

  constructor(maxConsumers: number) {
    const calls = new CallCounts(maxConsumers)
    this.#calls = calls
    this.call = calls.call.bind(calls)
    new Counter({
      ...this.#labelledMetric('platform_requests_total'),
      collect() {
        this.reset()
        for (const { consumer, status, calls: n } of calls.requests()) this.inc({ consumer, status }, n)
      },
    })
    new Counter({
      ...this.#labelledMetric('platform_outcomes_total'),
      collect() {
        this.reset()
        for (const { action, outcome, calls: n } of calls.outcomes()) this.inc({ action, outcome }, n)
      },
    })
    const targets = new TargetCounts(maxConsumers)
    this.#targets = targets
    this.#collectCounts('platform_tool_calls_total', () => targets.tools())
    this.#collectCounts('platform_tenant_calls_total', () => targets.tenants())
    this.#collectCounts('platform_backend_calls_total', () => targets.backends())
    this.#collectCounts('platform_refusals_total', () => targets.refusals())
    this.#histogram('platform_tool_duration_seconds', targets.duration)
    this.read('platform_rate_limited_total', () => this.#rateLimited)
    this.read('platform_quota_exceeded_total', () => this.#quotaExceeded)
    this.#histogram('platform_request_duration_seconds', calls.duration)
    this.#histogram('platform_backend_duration_seconds', calls.backend)
    this.#connectionsRefused = new Counter(this.#labelledMetric('platform_connections_refused_total'))
    this.#streamsRefused = new Counter(this.#labelledMetric('platform_streams_refused_total'))
    this.#streamsEnded = new Counter(this.#labelledMetric('platform_streams_ended_total'))
    this.#histogram('platform_stage_duration_seconds', calls.stages)
    this.#bugs = new Counter(this.#labelledMetric('platform_internal_errors_total'))
    this.#unexpected = new Counter(this.#labelledMetric('platform_unexpected_errors_total'))
    this.#policyFailures = new Counter(this.#labelledMetric('platform_policy_failures_total'))
    this.#changes = new Counter(this.#labelledMetric('platform_changes_total'))
  }

  /** @param build of uWS, or the version of Node */
  httpServer(server: string, build: string): void {
    new Gauge(this.#labelledMetric('platform_http_server_info')).set({ server, build }, 1)
  }

  /** What a thread serves, read when scraped. */
  workerInfo(
    read: () => { readonly worker: string; readonly snapshot: string; readonly policy_revision: string },
  ): void {
    new Gauge({
      ...this.#labelledMetric('platform_worker_info'),
      collect() {
        this.reset()
        this.set(read(), 1)
      },
    })
  }

  /** See `CallMetrics` in the record-metrics stage. */
  target(call: TargetCall): void {
    this.#targets.call(call)
  }

  /** See `CallMetrics`. */
  countRefusal(reason: string, consumer: string): void {
    this.#targets.countRefusal(reason, this.#calls.labelOf(consumer))
  }

  quotaRefused(calendar: boolean): void {
    if (calendar) this.#quotaExceeded++
    else this.#rateLimited++
  }

  /** `platform_quota_usage_ratio`, read when scraped. Of several counters of one consumer the fullest is shown. */
  quotaUsage(read: () => Iterable<QuotaUsage>): void {
    const calls = this.#calls
    new Gauge({
      ...this.#labelledMetric('platform_quota_usage_ratio'),
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

  /** `platform_degraded`, read when scraped: pairs of part and whether it has a fault. */
  observeDegraded(read: () => Iterable<readonly [string, boolean]>): void {
    new Gauge({
      ...this.#labelledMetric('platform_degraded'),
      aggregator: 'max',
      collect() {
        this.reset()
        for (const [part, isFaulty] of read()) this.set({ part }, isFaulty ? 1 : 0)
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

  /** @param kind one of a closed set (`app/main/unexpected.ts`). */
  unexpected(kind: string): void {
    this.#unexpected.inc({ kind })
  }

  /** @param action of the policy input, a closed set. @param actor its consumer */
  countChange(action: string, actor: string): void {
    this.#changes.inc({ action, actor: this.#calls.labelOf(actor) })
  }

  bug(stage: string): void {
    this.#bugs.inc({ stage })
  }

  /** @param failure one of a closed set (`PolicyFailure`). */
  policyFailed(failure: string): void {
    this.#policyFailures.inc({ failure })
  }

  #labelledMetric(name: MetricName) {
    const { help, labels } = METRICS[name]
    return { name, help, labelNames: labels, registers: [this.registry] }
  }

  /** A counter whose values are kept elsewhere. */
  #collectCounts(
    name: MetricName,
    read: () => Iterable<{ readonly labels: Partial<Record<string, string>>; readonly calls: number }>,
  ): void {
    new Counter({
      ...this.#labelledMetric(name),
      collect() {
        this.reset()
        for (const { labels, calls } of read()) this.inc(labels as Record<string, string>, calls)
      },
    })
  }

  #histogram(name: MetricName, histogram: Histogram): void {
    const { help, labels } = METRICS[name]
    this.registry.registerMetric(scrapedHistogram(name, help, labels[0], histogram))
  }

  /**
   * Registers a metric whose value is kept elsewhere and read by each scrape.
   * @param value undefined or a rejection keeps the value of the scrape before
   */
  read(name: MetricName, value: () => number | Promise<number | undefined>): void {
    const { type, help, threads }: MetricDefinition = METRICS[name]
    const options = { name, help, registers: [this.registry] }
    if (type === 'counter')
      new Counter({
        ...options,
        async collect() {
          const current = await valueOrNone(value)
          if (current === undefined) return
          this.reset()
          this.inc(current)
        },
      })
    else
      new Gauge({
        ...options,
        aggregator: threads ?? 'sum',
        async collect() {
          const current = await valueOrNone(value)
          if (current !== undefined) this.set(current)
        },
      })
  }

  /** Where other threads count too, and are asked when scraped. */
  gather(read: () => Promise<readonly MetricJson[]>): void {
    this.#others = read
  }

  /** What this thread has counted; nothing of the process as a whole. */
  json(): Promise<MetricJson> {
    return familiesOf(this.registry)
  }

  async text(): Promise<string> {
    this.#process ??= processMetrics()
    const others = (await this.#others?.()) ?? []
    const all = others.length === 0 ? this.registry : mergeThreads([await this.json(), ...others])
    return `${await all.metrics()}\n${await this.#process.metrics()}`
  }

  /** The same in the format of OpenMetrics, with an example for each bucket of the durations. */
  async openMetrics(): Promise<string> {
    this.#process ??= processMetrics()
    const threads = [await this.json(), ...((await this.#others?.()) ?? [])]
    const all = [...(await familiesOf(mergeThreads(threads))), ...(await familiesOf(this.#process))]
    return openMetricsText(all, examplesOf(threads))
  }
}

function mergeThreads(threads: readonly MetricJson[]): Registry {
  return AggregatorRegistry.aggregate(threads as unknown as object[])
}

/** The library's own description, in which ours may have examples. */
async function familiesOf(registry: Registry): Promise<readonly MetricFamily[]> {
  return (await registry.getMetricsAsJSON()) as unknown as readonly MetricFamily[]
}

/** One source that fails must not fail the whole scrape. */
async function valueOrNone(value: () => number | Promise<number | undefined>): Promise<number | undefined> {
  try {
    return await value()
  } catch {
    return undefined
  }
}

function processMetrics(): Registry {
  const register = new Registry()
  collectDefaultMetrics({ register })
  return register
}

/** @param label whose values name the series; undefined: there is one series, without labels */
function scrapedHistogram(
  name: string,
  help: string,
  label: string | undefined,
  histogram: Histogram,
): Metric {
  const scraped = {
    name,
    get: async () => ({
      name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      values: valuesOf(name, label, histogram),
    }),
  }
  // a registry asks a metric for its name and its values, and for nothing else
  return scraped as unknown as Metric
}

interface Value {
  readonly metricName: string
  readonly labels: { readonly [label: string]: string | number }
  readonly value: number
  /** For a bucket; the library's text leaves it out. */
  readonly example?: Exemplar
}

/** In the order and form of the library: each bucket with those below, then sum and count. */
function valuesOf(name: string, label: string | undefined, { bounds, all }: Histogram): Value[] {
  const values: Value[] = []
  for (const [of, series] of all) {
    const labels = label === undefined ? {} : { [label]: of }
    const counts = series.cumulated
    for (const [at, value] of counts.entries()) {
      const example = series.exemplar(at)
      values.push({
        metricName: `${name}_bucket`,
        labels: { le: bounds[at] ?? '+Inf', ...labels },
        value,
        ...(example === undefined ? undefined : { example }),
      })
    }
    values.push(
      { metricName: `${name}_sum`, labels, value: series.sum },
      { metricName: `${name}_count`, labels, value: counts.at(-1)! },
    )
  }
  return values
}
