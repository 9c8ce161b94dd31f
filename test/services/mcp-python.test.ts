/** The official Python client, each transport and era, on both paths: what it does in its life, and what becomes of a call it loses. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { runClient } from '../fixtures/client-process.ts'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { type FaultyLink, startFaultyLink } from '../fixtures/faulty-link.ts'
import { servicesRequired } from '../fixtures/redis-server.ts'
import { type RunningRequests, watchRequests } from '../fixtures/running-requests.ts'

const PYTHON = resolve('.tools/python/bin/python')
const CLIENT = fileURLToPath(new URL('../fixtures/mcp_client.py', import.meta.url))
const missing = !existsSync(PYTHON) && !servicesRequired()

/** Kind of client, the version it settles on, and what it sees of a call whose connection broke. */
const KINDS = [
  ['streamable', '2025-11-25', { ended: true }],
  ['sse', '2025-11-25', { lost: 'MCPError' }],
  ['auto', '2026-07-28', { lost: 'MCPError' }],
] as const
const CASES = KINDS.flatMap(([kind, version, after]) =>
  ['/mcp', '/mcp/sse'].map(path => [kind, path, version, after] as const),
)

describe.skipIf(missing)('the Python client (brought by scripts/services.sh python-mcp)', () => {
  let gateway: Deployment
  let proxy: FaultyLink
  let reports: RunningRequests
  let token: string
  beforeAll(async () => {
    reports = watchRequests('report')
    gateway = await deploy({ SSE_LIMITER_ENABLED: 'false' })
    proxy = await startFaultyLink(gateway.url)
    token = await gateway.token('demo-agent')
  })
  afterAll(async () => {
    reports.stop()
    await proxy.close()
    await gateway.stop()
  })

  it.each(CASES)(
    '%s at %s (%s) connects, lists, calls, hears progress, cancels and ends',
    async (kind, path, version) => {
      let letGo: Promise<void> | undefined
      const seen = await runClient(
        [PYTHON, CLIENT, `${proxy.url}${path}`, token, kind, 'life'],
        (line, child) => {
          if (line.cancelled !== true) return
          // the client waits with its connections open until it is notified
          // the report itself would take eight seconds
          letGo = vi.waitFor(() => expect(reports.count).toBe(0), 5000).finally(() => child.stdin.end('\n'))
          letGo.catch(() => undefined)
        },
      )
      await letGo
      expect(seen).toMatchObject({
        protocol: version,
        called: true,
        unknown: -32602,
        cancelled: true,
        closed: true,
      })
      expect(seen.tools).toContain('shop_runSalesReport')
      expect(seen.steps!.length).toBeGreaterThanOrEqual(3)
      expect(seen.steps).toEqual([...new Set(seen.steps)].sort((a, b) => a - b))
    },
    90_000,
  )

  it.each(CASES)(
    '%s at %s (%s): of a call whose connection breaks it sees %o',
    async (kind, path, _, after) => {
      let cuts = 0
      const seen = await runClient([PYTHON, CLIENT, `${proxy.url}${path}`, token, kind, 'drop'], line => {
        if (line.progress === undefined || cuts > 0) return
        cuts++
        proxy.reset()
      })
      expect(cuts).toBe(1)
      expect(seen).toMatchObject(after)
    },
    90_000,
  )
})
