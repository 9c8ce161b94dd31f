/** The official Python client, each transport and era, on both paths: what it does in its life, and what becomes of a call it loses. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type CuttingProxy, startCuttingProxy } from '../fixtures/cutting-proxy.ts'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
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

interface Seen {
  readonly protocol?: string
  readonly tools?: readonly string[]
  readonly called?: boolean
  readonly unknown?: number
  readonly steps?: readonly number[]
  readonly [other: string]: unknown
}

describe.skipIf(missing)('the Python client (brought by scripts/services.sh python-mcp)', () => {
  let gateway: Deployment
  let proxy: CuttingProxy
  let reports: RunningRequests
  let token: string
  beforeAll(async () => {
    reports = watchRequests('report')
    gateway = await deploy({ SSE_LIMITER_ENABLED: 'false' })
    proxy = await startCuttingProxy(gateway.url)
    token = await gateway.token('demo-agent')
  })
  afterAll(async () => {
    reports.stop()
    await proxy.close()
    await gateway.stop()
  })

  /** @param on hears each line as it comes @returns all that was printed, and what went wrong when it ended badly */
  async function runClient(
    args: readonly string[],
    on: (seen: Seen, child: ChildProcessWithoutNullStreams) => void,
  ): Promise<Seen> {
    const child = spawn(PYTHON, [CLIENT, ...args])
    let errors = ''
    child.stderr.on('data', chunk => {
      errors = `${errors}${chunk}`.slice(-4000)
    })
    let all: Seen = {}
    createInterface(child.stdout).on('line', line => {
      const seen = JSON.parse(line) as Seen
      all = { ...all, ...seen }
      on(seen, child)
    })
    const limit = setTimeout(() => child.kill(), 25_000)
    const code = await new Promise(done => child.once('close', done))
    clearTimeout(limit)
    expect(code, errors).toBe(0)
    return all
  }

  it.each(CASES)(
    '%s at %s (%s) connects, lists, calls, hears progress, cancels and ends',
    async (kind, path, version) => {
      let letGo: Promise<void> | undefined
      const seen = await runClient([`${proxy.url}${path}`, token, kind, 'life'], (line, child) => {
        if (line.cancelled !== true) return
        // the client waits with its connections open until it is told
        letGo = vi.waitFor(() => expect(reports.count).toBe(0), 1000).finally(() => child.stdin.end('\n'))
        letGo.catch(() => undefined)
      })
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
      const seen = await runClient([`${proxy.url}${path}`, token, kind, 'drop'], line => {
        if (line.progress === undefined || cuts > 0) return
        cuts++
        proxy.cut()
      })
      expect(cuts).toBe(1)
      expect(seen).toMatchObject(after)
    },
    90_000,
  )
})
