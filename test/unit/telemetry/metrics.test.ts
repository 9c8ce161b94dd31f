/** Our counting of calls against the library's own: the same text, the same merging of threads, and labels that stay bounded. */
import fc from 'fast-check'
import { AggregatorRegistry } from 'prom-client'
import { expect, it } from 'vitest'
import type { CallMetrics } from '../../../src/data-plane/stages/6-settle/record-metrics.ts'
import { HistogramSeries } from '../../../src/telemetry/histogram.ts'
import { Metrics } from '../../../src/telemetry/metrics.ts'
import { LibraryMetrics } from '../../fixtures/library-metrics.ts'

type Finding =
  | readonly ['call', ...Parameters<CallMetrics['call']>]
  | readonly ['stage', ...Parameters<CallMetrics['stage']>]
  | readonly ['quotaRefused', boolean]

/** On the bounds, and multiples of 2^-16 beside, below and above them, whose sums do not depend on the order. */
const seconds = fc.oneof(
  fc.constantFrom(0, 0.0005, 0.0025, 0.5, 1, 2.5, 30, 1e9),
  fc.integer({ min: 0, max: 2 ** 22 }).map(parts => parts / 2 ** 16),
)
const reported = fc.oneof(
  fc
    .record({
      consumer: fc.constantFrom('', 'a', 'demo-agent', 'with "quotes"\n'),
      status: fc.constantFrom(200, 401, 429, 503),
      outcome: fc.constantFrom('success', 'quota_exceeded', 'forbidden'),
      action: fc.constantFrom('tools.call', 'tools.list', 'proxy'),
      seconds,
      backend: fc.oneof(fc.constant(-0.001), seconds),
    })
    .map((x): Finding => ['call', x.consumer, x.status, x.outcome, x.action, x.seconds, x.backend]),
  fc.tuple(fc.constant('stage' as const), fc.constantFrom('authenticate', 'authorize'), seconds),
  fc.tuple(fc.constant('quotaRefused' as const), fc.boolean()),
)

function notify(metrics: CallMetrics, all: readonly Finding[]): void {
  for (const one of all) {
    if (one[0] === 'call') metrics.call(one[1], one[2], one[3], one[4], one[5], one[6])
    else if (one[0] === 'stage') metrics.stage(one[1], one[2])
    else metrics.quotaRefused(one[1])
  }
}

/** Lines of the metrics that both have; the order of series is not defined. */
function linesOf(text: string): string[] {
  const names =
    /platform_(requests|outcomes|rate_limited|quota_exceeded)_total|platform_(request|backend|stage)_duration/
  return text
    .split('\n')
    .filter(line => names.test(line))
    .sort()
}

it('says what the library says, line by line, whatever was counted', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(reported, { maxLength: 60 }), async all => {
      const ours = new Metrics(100)
      const library = new LibraryMetrics()
      notify(ours, all)
      notify(library, all)
      const text = await ours.registry.metrics()
      expect(linesOf(text)).toEqual(linesOf(await library.registry.metrics()))
      // a scrape counts nothing and resets nothing
      expect(await ours.registry.metrics()).toBe(text)
    }),
    { numRuns: 60 },
  )
})

it('merges threads as the library does, also when what they say was posted', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(reported, { maxLength: 20 }), { minLength: 2, maxLength: 4 }),
      async threads => {
        const [first, ...others] = threads.map(all => {
          const metrics = new Metrics(100)
          notify(metrics, all)
          return metrics
        })
        first!.gather(() => Promise.all(others.map(async other => structuredClone(await other.json()))))
        const library = await Promise.all(
          threads.map(all => {
            const metrics = new LibraryMetrics()
            notify(metrics, all)
            return metrics.registry.getMetricsAsJSON()
          }),
        )
        const merged = await AggregatorRegistry.aggregate(library).metrics()
        expect(linesOf(await first!.text())).toEqual(linesOf(merged))
      },
    ),
    { numRuns: 30 },
  )
})

it('gives 64 statuses of a consumer a label, and one for each class to all others', async () => {
  const metrics = new Metrics(3)
  for (const status of Array.from({ length: 500 }, (_, index) => 100 + index))
    for (let calls = 0; calls < 2; calls++) metrics.call('c', status, 'success', 'proxy', 0.001, -1)
  const lines = (await metrics.registry.metrics()).split('\n')
  const found = lines.filter(line => line.startsWith('platform_requests_total{'))
  expect(found).toHaveLength(64 + 5)
  expect(found).toContain('platform_requests_total{consumer="c",status="163"} 2')
  expect(found).toContain('platform_requests_total{consumer="c",status="1xx"} 72')
  expect(found).toContain('platform_requests_total{consumer="c",status="4xx"} 200')
})

it('gives that many consumers a label, and one to all others', async () => {
  const metrics = new Metrics(3)
  for (let index = 0; index < 1000; index++)
    metrics.call(`consumer-${index}`, 200, 'success', 'tools.call', 0.001, -1)
  metrics.call('other', 200, 'success', 'tools.call', 0.001, -1)
  metrics.call('consumer-1', 429, 'quota_exceeded', 'tools.call', 0.001, -1)
  metrics.quotaUsage(() => [
    { consumer: 'consumer-2', type: 'daily', ratio: 0.25 },
    { consumer: 'consumer-998', type: 'daily', ratio: 0.5 },
    { consumer: 'consumer-999', type: 'daily', ratio: 2 },
  ])
  const lines = (await metrics.registry.metrics()).split('\n')
  expect(lines.filter(line => line.startsWith('platform_requests_total{')).sort()).toEqual([
    'platform_requests_total{consumer="consumer-0",status="200"} 1',
    'platform_requests_total{consumer="consumer-1",status="200"} 1',
    'platform_requests_total{consumer="consumer-1",status="429"} 1',
    'platform_requests_total{consumer="consumer-2",status="200"} 1',
    'platform_requests_total{consumer="other",status="200"} 998',
  ])
  expect(lines.filter(line => line.startsWith('platform_quota_usage_ratio{')).sort()).toEqual([
    'platform_quota_usage_ratio{consumer="consumer-2",type="daily"} 0.25',
    'platform_quota_usage_ratio{consumer="other",type="daily"} 1',
  ])
})

it('refuses a value that would spoil a sum for good', () => {
  const series = new HistogramSeries(Float64Array.of(1, 2))
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY])
    expect(() => series.observe(value)).toThrow(TypeError)
  for (const value of [0.5, 1, 1.5, 2, 3]) series.observe(value)
  expect([series.cumulated, series.sum]).toEqual([[2, 4, 5], 8])
})
