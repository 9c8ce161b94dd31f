/** Calls by tool, tenant and backend, times by tool, and refusals by reason and consumer. It bounds no reason, outcome or consumer: its caller does. */
import { getOrSet, oncePer } from '../base/once-per.ts'
import type { Tool } from '../model/tool.ts'
import { originOf } from '../model/upstream-url.ts'
import { Histogram, type HistogramSeries, type TracedValue } from './histogram.ts'

/** The label of all values beyond the bound. */
const OTHER = 'other'
/** Upper bounds in seconds; few, because there is a series for each tool. */
const TOOL_SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 10]

/** Calls by outcome. */
type Outcomes = Map<string, { calls: number }>

interface ToolCounts {
  readonly outcomes: Outcomes
  readonly duration: HistogramSeries
  readonly backend: Outcomes
}

export interface TargetCall {
  readonly tool: Tool | undefined
  readonly tenant: string | undefined
  /** Origin of a proxied API; undefined: the one of the tool. */
  readonly upstream: string | undefined
  /** `success`, or the reason of the refusal or failure: a closed set. */
  readonly outcome: string
  readonly seconds: number
  /** Below 0: no backend was called. */
  readonly backendSeconds: number
  /** For a call whose trace is recorded. */
  readonly traced?: TracedValue | undefined
}

export class TargetCounts {
  /** By tool. */
  readonly duration = new Histogram(TOOL_SECONDS)
  readonly #max: number
  /** tool set, line feed, tool → counts */
  readonly #tools = new Map<string, Outcomes>()
  readonly #tenants = new Map<string, Outcomes>()
  readonly #backends = new Map<string, Outcomes>()
  /** reason, line feed, consumer → refusals */
  readonly #refusals = new Map<string, { calls: number }>()
  /** Found by the tool itself, because a call should build no text. */
  readonly #ofTool = oncePer(
    (tool: Tool): ToolCounts => ({
      outcomes: boundLabel(this.#tools, `${tool.toolSet}\n${tool.name}`, this.#max, `${OTHER}\n${OTHER}`),
      duration: this.duration.of(shownLabel(this.duration.all, tool.name, this.#max, OTHER)),
      backend: this.#backendOf(tool.request.baseUrl),
    }),
  )
  readonly #latest = { upstream: '', outcomes: new Map() as Outcomes }

  /** @param max values of each label; the others share one */
  constructor(max: number) {
    this.#max = max
  }

  call({ tool, tenant, upstream, outcome, seconds, backendSeconds, traced }: TargetCall): void {
    if (tenant !== undefined) add(this.#tenantOf(tenant), outcome)
    if (tool !== undefined) {
      const counts = this.#ofTool(tool)
      add(counts.outcomes, outcome)
      counts.duration.observe(seconds, traced)
      if (backendSeconds >= 0) add(counts.backend, outcome)
    } else if (upstream !== undefined && backendSeconds >= 0) add(this.#upstreamOf(upstream), outcome)
  }

  /** @param consumer bounded by the caller */
  countRefusal(reason: string, consumer: string): void {
    getOrSet(this.#refusals, `${reason}\n${consumer}`, () => ({ calls: 0 })).calls++
  }

  *tools() {
    for (const [name, outcomes] of this.#tools) {
      const [toolset, tool] = name.split('\n')
      for (const [outcome, { calls }] of outcomes) yield { labels: { tool, toolset, outcome }, calls }
    }
  }

  *tenants() {
    for (const [tenant, outcomes] of this.#tenants)
      for (const [outcome, { calls }] of outcomes) yield { labels: { tenant, outcome }, calls }
  }

  *backends() {
    for (const [backend, outcomes] of this.#backends)
      for (const [outcome, { calls }] of outcomes) yield { labels: { backend, outcome }, calls }
  }

  *refusals() {
    for (const [name, { calls }] of this.#refusals) {
      const [reason, consumer] = name.split('\n')
      yield { labels: { reason, consumer }, calls }
    }
  }

  #tenantOf(tenant: string): Outcomes {
    return this.#tenants.get(tenant) ?? boundLabel(this.#tenants, tenant, this.#max, OTHER)
  }

  #upstreamOf(upstream: string): Outcomes {
    const latest = this.#latest
    if (latest.upstream !== upstream) {
      latest.outcomes = this.#backendOf(upstream)
      latest.upstream = upstream
    }
    return latest.outcomes
  }

  /** Without path: it may hold what only the backend should see. */
  #backendOf(url: string): Outcomes {
    return boundLabel(this.#backends, originOf(url) ?? OTHER, this.#max, OTHER)
  }
}

/** The outcomes of a label, or of the label that the values beyond the bound share. */
function boundLabel(labels: Map<string, Outcomes>, label: string, max: number, other: string): Outcomes {
  return getOrSet(labels, shownLabel(labels, label, max, other), (): Outcomes => new Map())
}

/** A label that is known keeps its place: a reload replaces the object of every tool. */
function shownLabel(
  labels: Pick<ReadonlyMap<string, unknown>, 'has' | 'size'>,
  label: string,
  max: number,
  other: string,
): string {
  return labels.has(label) || labels.size < max ? label : other
}

function add(outcomes: Outcomes, outcome: string): void {
  const known = outcomes.get(outcome)
  if (known === undefined) outcomes.set(outcome, { calls: 1 })
  else known.calls++
}
