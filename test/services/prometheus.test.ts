/**
 * What Prometheus says to our metrics: promtool on a scrape of a gateway in use, on the alert rules and on the queries of docs/monitoring.md
 * and of the dashboard; and a server that scrapes OpenMetrics with exemplars.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { freePort } from '../fixtures/free-ports.ts'

const MISSING = spawnSync('promtool', ['--version']).error !== undefined
const REQUIRED = process.env.REQUIRE_SERVICES === '1'
const HINT = MISSING ? ' (missing: bash scripts/services.sh prometheus)' : ''
/** Names that are kept because dashboards read them. */
const OLDER_NAMES =
  /^platform_(quota_evicted|quota_turned_away|quota_waited|policy_shadow_compared|policy_shadow_flips|decisions_dropped) /

function promtool(
  args: readonly string[],
  input = '',
): { readonly code: number | null; readonly out: string } {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' })
  return { code: status, out: `${stdout}${stderr}` }
}

/** What the API of Prometheus returns, as far as it is read here. */
interface ApiData {
  readonly activeTargets?: readonly { readonly health: string; readonly lastError: string }[]
  readonly result?: readonly Series[]
}

interface Series {
  readonly metric: Readonly<Record<string, string>>
  /** Unix seconds, value. */
  readonly value: readonly [number, string]
}

describe.skipIf(MISSING && !REQUIRED)(`promtool${HINT}`, () => {
  let gateway: Deployment
  let dir: string
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'promtool-'))
    gateway = await deploy({ WORKERS: '2' })
    const token = await gateway.token('demo-agent')
    const call = (name: string) =>
      gateway.post('/mcp/tools/call', { name, arguments: { productId: 'P-1001' } }, token)
    for (let at = 0; at < 12; at++) await call('shop_getProduct')
    await call('no_such_tool')
  }, 120_000)
  afterAll(async () => {
    await gateway?.stop()
    rmSync(dir, { recursive: true, force: true })
  })

  it('accepts a scrape, apart from names that are older than the table', async () => {
    const text = await (await fetch(`${gateway.running.addresses.metrics_url}/metrics`)).text()
    for (const series of [
      /^platform_tool_calls_total\{.*tool="shop_getProduct".*outcome="success".*\} [1-9]/m,
      /^platform_tool_duration_seconds_count\{tool="shop_getProduct"\} [1-9]/m,
      /^platform_tenant_calls_total\{.*tenant="acme".*\} [1-9]/m,
      /^platform_backend_calls_total\{.*backend="http:\/\/.*\} [1-9]/m,
      /^platform_refusals_total\{.*consumer="demo-agent".*\} [1-9]/m,
      /^platform_worker_info\{worker="1",snapshot="[0-9a-f]{12}",policy_revision="[0-9a-f]+"\} 1$/m,
    ])
      expect(text).toMatch(series)
    const { out } = promtool(['check', 'metrics'], text)
    const ours = out.split('\n').filter(line => line.startsWith('platform_') && !OLDER_NAMES.test(line))
    expect(ours).toEqual([])
    expect(out).not.toContain('error while linting')
  })

  it('accepts the alert rules and the queries of the page', () => {
    const rules = join(import.meta.dirname, '../../deploy/prometheus/alerts.yaml')
    const checked = promtool(['check', 'rules', rules])
    expect(checked.code, checked.out).toBe(0)
    const queries = queriesOfPage()
    expect(queries.length).toBeGreaterThanOrEqual(4)
    const file = join(dir, 'queries.json')
    const recorded = queries.map((expr, at) => ({ record: `query:${at}`, expr }))
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'page', rules: recorded }] }))
    const parsed = promtool(['check', 'rules', file])
    expect(parsed.code, parsed.out).toBe(0)
  })

  it('accepts the queries of the dashboard', () => {
    const text = readFileSync(new URL('../../deploy/grafana/toolgate.json', import.meta.url), 'utf8')
    const { panels } = JSON.parse(text) as { panels: { targets?: { expr: string }[] }[] }
    const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    const file = join(dir, 'dashboard.json')
    const recorded = queries.map((expr, at) => ({
      record: `query:${at}`,
      expr: expr.replaceAll(/\$__\w+/g, '5m').replaceAll(/\$\w+/g, '.*'),
    }))
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules: recorded }] }))
    const parsed = promtool(['check', 'rules', file])
    expect(parsed.code, parsed.out).toBe(0)
  })

  it('scrapes OpenMetrics, with the trace of a call as an exemplar', async () => {
    const traceId = '0af7651916cd43dd8448eb211c80319c'
    const token = await gateway.token('demo-agent')
    const body = { name: 'shop_getProduct', arguments: { productId: 'P-1002' } }
    const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` }
    // calls of the tests before may have spent the limit of this second
    const call = () => gateway.post('/mcp/tools/call', body, token, headers)
    await expect.poll(async () => (await call()).status, { timeout: 10_000, interval: 1_100 }).toBe(200)
    const { ask, stop } = await startPrometheus(gateway, dir)
    try {
      const since = Math.floor(Date.now() / 1000) - 600
      const exemplars = async (): Promise<string> =>
        JSON.stringify(
          await ask(
            `query_exemplars?query=platform_tool_duration_seconds_bucket&start=${since}&end=${since + 1200}`,
          ),
        )
      await expect.poll(exemplars, { timeout: 60_000, interval: 500 }).toContain(traceId)
      const [scraped] = (await ask('targets')).activeTargets!
      expect([scraped!.health, scraped!.lastError]).toEqual(['up', ''])
      // a counter that has an older name in the text format
      const { result } = await ask('query?query=platform_quota_evicted_total')
      expect(result).toHaveLength(1)
    } finally {
      await stop()
    }
  }, 90_000)

  it('shows with each query of the page what was caused, in less than a minute each', async () => {
    const token = await gateway.token('demo-agent')
    const call = (name: string) =>
      gateway.post('/mcp/tools/call', { name, arguments: { productId: 'P-1003' } }, token)
    const { ask, stop } = await startPrometheus(gateway, dir)
    const [refused, slow, quota, changes, served] = queriesOfPage()
    const admin = await gateway.token('demo-admin')
    const change = () =>
      fetch(`${gateway.running.addresses.api_url}/v1/tenants/acme`, {
        method: 'PATCH',
        headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
        body: '{"admin_email":"admin@example.com"}',
      })
    /** The series that the query returns now; a rate needs calls between two scrapes. */
    const series = async (query: string | undefined): Promise<readonly Series[]> => {
      await call('shop_getProduct')
      await call('no_such_tool')
      expect((await change()).status).toBe(200)
      return (await ask(`query?query=${encodeURIComponent(query!)}`)).result ?? []
    }
    const find = (query: string | undefined, labels: object, isRight: (value: number) => boolean) =>
      expect
        .poll(
          async () =>
            (await series(query)).filter(
              ({ metric, value }) =>
                Object.entries(labels).every(([name, wanted]) => wanted.test(metric[name] ?? '')) &&
                isRight(Number(value[1])),
            ).length,
          { timeout: 60_000, interval: 700 },
        )
        .toBeGreaterThan(0)
    try {
      await find(refused, { reason: /^tool_not_found$/, consumer: /^demo-agent$/ }, rate => rate > 0)
      await find(slow, { tool: /^shop_getProduct$/ }, seconds => seconds > 0 && seconds < 10)
      await find(quota, { consumer: /^demo-agent$/, type: /^(daily|monthly|minute)$/ }, share => share > 0)
      await find(changes, { actor: /^demo-admin$/, action: /^control\.tenants\.update$/ }, count => count > 0)
      await find(served, { worker: /^2$/, snapshot: /^[0-9a-f]{12}$/ }, count => count === 0)
    } finally {
      await stop()
    }
  }, 120_000)
})

/** The PromQL of the section "Four questions" in the order of the page: one for each question, and one for when a change was served. */
function queriesOfPage(): readonly string[] {
  const page = readFileSync(new URL('../../docs/monitoring.md', import.meta.url), 'utf8')
  const section = page.split('## Four questions')[1]!.split('\n## ')[0]!
  return [...section.matchAll(/`([^`]*platform_[^`]*\(?[^`]*)`/g)].map(([, query]) => query!)
}

/** A server that scrapes the gateway every second. */
async function startPrometheus(gateway: Deployment, dir: string) {
  const target = new URL(gateway.running.addresses.metrics_url!).host
  const scrape = { job_name: 'toolgate', scrape_interval: '1s', static_configs: [{ targets: [target] }] }
  const data = mkdtempSync(join(dir, 'prometheus-'))
  writeFileSync(join(data, 'prometheus.yml'), JSON.stringify({ scrape_configs: [scrape] }))
  const port = await freePort()
  const server = spawn(
    'prometheus',
    [
      `--config.file=${join(data, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(data, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--enable-feature=exemplar-storage',
    ],
    { stdio: 'ignore' },
  )
  const ended = once(server, 'exit')
  return {
    async ask(path: string): Promise<ApiData> {
      const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`).catch(() => undefined)
      return ((await response?.json().catch(() => undefined)) as { data?: ApiData } | undefined)?.data ?? {}
    },
    async stop(): Promise<void> {
      server.kill('SIGTERM')
      await ended
    },
  }
}
