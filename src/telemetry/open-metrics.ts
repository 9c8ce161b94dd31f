/** Writes metrics as OpenMetrics text 1.0 with exemplars, and finds the newest exemplar of a bucket. */
import type { Exemplar } from './histogram.ts'

export const OPEN_METRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8'

interface Sample {
  readonly metricName?: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
  readonly example?: Exemplar
}

/** A metric as the library describes it. */
export interface MetricFamily {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly values: readonly Sample[]
}

/** The newest example of each bucket, by its name with labels. */
type Examples = ReadonlyMap<string, Exemplar>

export function examplesOf(threads: readonly (readonly MetricFamily[])[]): Examples {
  const newest = new Map<string, Exemplar>()
  for (const families of threads)
    for (const { name, values } of families)
      for (const { metricName = name, labels, example } of values) {
        if (example === undefined) continue
        const series = metricName + labelsText(labels)
        if (example.receivedAtMs >= (newest.get(series)?.receivedAtMs ?? 0)) newest.set(series, example)
      }
  return newest
}

export function openMetricsText(families: readonly MetricFamily[], examples: Examples): string {
  const lines: string[] = []
  for (const { name, help, type, values } of families) {
    // the family of a counter is named without the suffix, and its samples always have it (OpenMetrics 1.0, Suffixes)
    const family = type === 'counter' ? name.replace(/_total$/, '') : name
    lines.push(`# TYPE ${family} ${type}`, `# HELP ${family} ${escapeLabel(help)}`)
    for (const { metricName, labels, value } of values) {
      const sample = type === 'counter' ? `${family}_total` : (metricName ?? name)
      const series = sample + labelsText(labels)
      lines.push(`${series} ${numberText(value)}${exampleText(examples.get(series))}`)
    }
  }
  return `${lines.join('\n')}\n# EOF\n`
}

function exampleText(example: Exemplar | undefined): string {
  if (example === undefined) return ''
  const { traceId, value, receivedAtMs } = example
  return ` # {trace_id="${escapeLabel(traceId)}"} ${numberText(value)} ${receivedAtMs / 1000}`
}

function labelsText(labels: Sample['labels']): string {
  const pairs = Object.entries(labels).map(([name, value]) => {
    // bounds have a canonical form, because they are compared as text (Canonical Numbers)
    const text = name === 'le' && typeof value === 'number' ? boundText(value) : String(value)
    return `${name}="${escapeLabel(text)}"`
  })
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function boundText(bound: number): string {
  const text = numberText(bound)
  return Number.isInteger(bound) && !text.includes('e') ? `${text}.0` : text
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  if (value === Number.NEGATIVE_INFINITY) return '-Inf'
  return String(value)
}

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
}
