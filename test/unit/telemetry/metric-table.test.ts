/** The table of metrics against a scrape, the rules that names follow, and docs/monitoring.md, which it writes when UPDATE_DOCS is 1. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { METRICS, type MetricName } from '../../../src/telemetry/metric-table.ts'
import { Metrics } from '../../../src/telemetry/metrics.ts'

const SRC = join(import.meta.dirname, '../../../src')
const entries = Object.entries(METRICS)

/** Counters that had their names before the table; names are an interface. */
const WITHOUT_TOTAL = [
  'platform_quota_evicted',
  'platform_quota_turned_away',
  'platform_quota_waited',
  'platform_policy_shadow_compared',
  'platform_policy_shadow_flips',
  'platform_decisions_dropped',
]

function declared(text: string, keyword: 'TYPE' | 'HELP'): Map<string, string> {
  const lines = [...text.matchAll(new RegExp(`^# ${keyword} (platform_\\w+) (.*)$`, 'gm'))]
  return new Map(lines.map(([, name, value]) => [name!, value!]))
}

describe('the table of metrics', () => {
  it('has the types and help texts that a scrape shows', async () => {
    const metrics = new Metrics(10)
    metrics.quotaUsage(() => [])
    metrics.workerInfo(() => ({ worker: '1', snapshot: '', policy_revision: '' }))
    const shown = declared(await metrics.registry.metrics(), 'TYPE')
    for (const [name] of entries) if (!shown.has(name)) metrics.read(name as MetricName, () => 1)
    const text = await metrics.text()
    expect(declared(text, 'TYPE')).toEqual(new Map(entries.map(([name, { type }]) => [name, type])))
    expect(declared(text, 'HELP')).toEqual(new Map(entries.map(([name, { help }]) => [name, help])))
  })

  it('has a place in the code that provides each metric', () => {
    const code = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
      .filter(path => path.endsWith('.ts') && !path.endsWith('metric-table.ts'))
      .map(path => readFileSync(join(SRC, path), 'utf8'))
      .join('\n')
    expect(entries.map(([name]) => name).filter(name => !code.includes(`'${name}'`))).toEqual([])
  })

  it('names counters as counters, and units in their base form', () => {
    const counters = entries.filter(([, { type }]) => type === 'counter').map(([name]) => name)
    expect(counters.filter(name => !name.endsWith('_total'))).toEqual(WITHOUT_TOTAL)
    for (const [name, { type, unit }] of entries) {
      if (type !== 'counter') expect(name).not.toMatch(/_total$/)
      if (['seconds', 'bytes', 'ratio'].includes(unit)) expect(name).toContain(unit)
    }
  })

  it('names folders that exist, and ends each help text with a full stop', () => {
    for (const [, { source, help }] of entries) {
      expect(existsSync(join(SRC, source)), source).toBe(true)
      expect(help).toMatch(/^[A-Z0-9].*\.$/)
    }
  })

  it('is in docs/monitoring.md', () => {
    const page = join(SRC, '../docs/monitoring.md')
    const rows = entries.map(
      ([name, { type, labels, help }]) =>
        `| \`${name}\` | ${type} | ${labels.map(label => `\`${label}\``).join(', ')} | ${help} |`,
    )
    const table = ['| Metric | Type | Labels | Meaning |', '|---|---|---|---|', ...rows, ''].join('\n')
    const [head = ''] = readFileSync(page, 'utf8').split('| Metric | Type |')
    if (process.env.UPDATE_DOCS === '1') writeFileSync(page, head + table)
    expect(readFileSync(page, 'utf8')).toBe(head + table)
  })

  it('keeps the value of the scrape before when a source fails', async () => {
    const metrics = new Metrics(10)
    let fails = false
    metrics.read('platform_sessions', async () => {
      if (fails) throw new Error('Redis is unavailable')
      return 3
    })
    expect(await metrics.text()).toContain('\nplatform_sessions 3\n')
    fails = true
    expect(await metrics.text()).toContain('\nplatform_sessions 3\n')
  })
})
