/** Presents a histogram of `histogram.ts` to prom-client as a metric. */
import type { Metric } from 'prom-client'
import type { Exemplar, Histogram } from './histogram.ts'

/** @param label whose values name the series; undefined: there is one series, without labels */
export function scrapedHistogram(
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
