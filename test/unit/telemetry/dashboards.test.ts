/** The dashboard and the alert rules in `deploy` against the table of metrics: names and selectors of all queries; the dashboard's groups and layout. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import type { MetricDefinition } from '../../../src/telemetry/metric-definition.ts'
import { METRICS } from '../../../src/telemetry/metric-table.ts'

interface Panel {
  readonly id: number
  readonly title: string
  readonly gridPos: { readonly x: number; readonly w: number }
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[]
}

const read = (path: string): string =>
  readFileSync(new URL(`../../../deploy/${path}`, import.meta.url), 'utf8')
const dashboard = JSON.parse(read('grafana/toolgate.json')) as {
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] }
}
const targets = dashboard.panels.flatMap(({ targets = [] }) => targets)
const variables = dashboard.templating.list
const alerts = (
  parse(read('prometheus/alerts.yaml')) as { groups: { rules: { expr: string; alert: string }[] }[] }
).groups.flatMap(({ rules }) => rules)

/** Set by Prometheus, or part of a histogram. */
const OF_SCRAPE = ['job', 'instance', 'le']

/** As Prometheus stores it: with the suffixes of a histogram, and `_total` after the name of a counter. */
function definitionOf(series: string): MetricDefinition | undefined {
  const table: Readonly<Record<string, MetricDefinition>> = METRICS
  const histogram = series.replace(/_(bucket|sum|count)$/, '')
  if (histogram !== series && table[histogram]?.type === 'histogram') return table[histogram]
  const counter = table[series] ?? table[series.replace(/_total$/, '')]
  return counter?.type === 'histogram' ? undefined : counter
}

function faultsOf(expr: string): string[] {
  return [...expr.matchAll(/(platform_\w+)(?:\{([^}]*)\})?/g)].flatMap(([, series = '', selector = '']) => {
    const metric = definitionOf(series)
    if (metric === undefined) return [`${series} is not in the table`]
    const labels = [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label]) => label!)
    return labels
      .filter(label => !metric.labels.includes(label) && !OF_SCRAPE.includes(label))
      .map(label => `${series} has no label ${label}`)
  })
}

it('finds what does not exist', () => {
  expect(faultsOf('rate(platform_refusal_total[5m])')).toEqual(['platform_refusal_total is not in the table'])
  expect(faultsOf('platform_refusals_total{tenant="a"}')).toEqual([
    'platform_refusals_total has no label tenant',
  ])
  expect(faultsOf('platform_tool_duration_seconds')).toEqual([
    'platform_tool_duration_seconds is not in the table',
  ])
})

it('has queries of metrics and labels that exist', () => {
  expect(targets.length).toBeGreaterThan(15)
  for (const { expr } of [...targets, ...alerts]) expect(faultsOf(expr), expr).toEqual([])
  for (const { definition = '' } of variables) expect(faultsOf(definition)).toEqual([])
})

it('groups by labels that the metrics have, and names only those in legends', () => {
  for (const { expr, legendFormat } of targets) {
    const labels = [...expr.matchAll(/(platform_\w+)/g)].flatMap(([, name]) => definitionOf(name!)!.labels)
    const used = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list]) => list!.split(/,\s*/))
    const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label!)
    for (const label of [...used, ...shown]) expect([...labels, ...OF_SCRAPE], expr).toContain(label)
  }
})

it('has a row for each of the four questions, different panels within the grid, and known variables', () => {
  const titles = dashboard.panels.map(({ title }) => title)
  for (const question of [
    'Who is refused, and why?',
    'Which tool is slow?',
    'How near to its quota is a consumer?',
    'Who changed this?',
  ])
    expect(titles).toContain(question)
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length)
  for (const { gridPos } of dashboard.panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
  const known = new Set([...variables.map(({ name }) => name), '__rate_interval', '__range'])
  for (const { expr } of targets)
    for (const [, name] of expr.matchAll(/\$\{?(\w+)/g)) expect(known, expr).toContain(name)
})
