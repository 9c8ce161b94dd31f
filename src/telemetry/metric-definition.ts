/** What the definition of a metric says, and functions that make definitions. `metric-table.ts` has the definitions. */

export interface MetricDefinition {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly unit: string
  readonly help: string
  /** Folder of `src` that holds the value. */
  readonly source: string
  readonly labels: readonly string[]
  /** How the values of worker threads are combined; `sum` unless every thread reports the same value. */
  readonly threads?: 'max'
}

type Described = Omit<MetricDefinition, 'source'>

/** @param source folder of `src` that holds the values */
export function heldBy<Name extends string>(source: string, metrics: Readonly<Record<Name, Described>>) {
  const entries = Object.entries<Described>(metrics).map(([name, metric]) => [name, { ...metric, source }])
  return Object.fromEntries(entries) as Readonly<Record<Name, MetricDefinition>>
}

export function counter(unit: string, help: string, ...labels: readonly string[]): Described {
  return { type: 'counter', unit, help, labels }
}

export function gauge(unit: string, help: string, ...labels: readonly string[]): Described {
  return { type: 'gauge', unit, help, labels }
}

export function histogram(help: string, ...labels: readonly string[]): Described {
  return { type: 'histogram', unit: 'seconds', help, labels }
}
