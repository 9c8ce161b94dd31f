/** Official and popular MCP clients in their own languages, one life each: connect, list, call, both kinds of error, cancel, and work on after a drop. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { runClient } from '../fixtures/client-process.ts'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { startFaultyLink } from '../fixtures/faulty-link.ts'
import { servicesRequired } from '../fixtures/redis-server.ts'
import { watchRequests } from '../fixtures/running-requests.ts'

const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url))
const NODE = resolve('.tools/conformance/node_modules/node/bin/node')
const PYTHON = fixture('clients/life.py')
const JAVASCRIPT = fixture('clients/life.mjs')
const JAVA_CLASSES = resolve('.tools/java-mcp')
const JAVA = [
  ...['java', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'],
  ...['-cp', `${JAVA_CLASSES}:${JAVA_CLASSES}/*`, 'Matrix'],
]

interface Row {
  readonly name: string
  /** Must exist, brought by `scripts/services.sh` with the name of its folder. */
  readonly installed: string
  readonly command: readonly string[]
  readonly kind: string
  readonly protocol: string | null
  /** When the backend of a cancelled call is let go of: clients that do not notify let go when they close. */
  readonly letsGo: 'at the cancellation' | 'at the end' | 'when it has run'
  /** A transport that does not reconnect leaves that to its user. */
  readonly afterDrop: 'goes on' | 'connects again' | 'either, by the connection that its pool picks'
  /** Only with CLIENTS=all. */
  readonly isExtra?: true
}

const ROWS: readonly Row[] = [
  {
    name: 'Go, streamable',
    installed: 'go-mcp/mcp-client',
    command: [resolve('.tools/go-mcp/mcp-client')],
    kind: 'streamable',
    protocol: '2026-07-28',
    letsGo: 'at the cancellation',
    afterDrop: 'goes on',
  },
  {
    name: 'Go, SSE',
    installed: 'go-mcp/mcp-client',
    command: [resolve('.tools/go-mcp/mcp-client')],
    kind: 'sse',
    protocol: '2025-11-25',
    letsGo: 'at the cancellation',
    afterDrop: 'connects again',
  },
  {
    name: 'Java, streamable',
    installed: 'java-mcp/Matrix.class',
    command: JAVA,
    kind: 'streamable',
    protocol: '2025-11-25',
    letsGo: 'at the end',
    afterDrop: 'goes on',
  },
  {
    name: 'Java, SSE',
    installed: 'java-mcp/Matrix.class',
    command: JAVA,
    kind: 'sse',
    protocol: '2024-11-05',
    letsGo: 'at the end',
    afterDrop: 'connects again',
  },
  {
    name: 'Rust (rmcp), initialize',
    installed: 'rust-mcp/mcp-client',
    command: [resolve('.tools/rust-mcp/mcp-client')],
    kind: 'initialize',
    protocol: '2025-11-25',
    letsGo: 'at the cancellation',
    afterDrop: 'goes on',
  },
  {
    name: 'Rust (rmcp), auto',
    installed: 'rust-mcp/mcp-client',
    command: [resolve('.tools/rust-mcp/mcp-client')],
    kind: 'auto',
    protocol: '2026-07-28',
    letsGo: 'at the cancellation',
    afterDrop: 'goes on',
  },
  {
    name: 'fastmcp',
    installed: 'fastmcp/bin/python',
    command: [resolve('.tools/fastmcp/bin/python'), PYTHON],
    kind: 'fastmcp',
    protocol: '2026-07-28',
    letsGo: 'at the cancellation',
    afterDrop: 'goes on',
  },
  {
    name: 'LangChain adapters',
    installed: 'langchain-mcp/bin/python',
    command: [resolve('.tools/langchain-mcp/bin/python'), PYTHON],
    kind: 'langchain',
    protocol: null,
    letsGo: 'when it has run',
    afterDrop: 'connects again',
    isExtra: true,
  },
  {
    name: '@ai-sdk/mcp, HTTP',
    installed: 'node-clients/node_modules/@ai-sdk/mcp',
    command: [NODE, JAVASCRIPT],
    kind: 'ai-sdk',
    protocol: '2026-07-28',
    letsGo: 'at the cancellation',
    afterDrop: 'either, by the connection that its pool picks',
  },
  {
    name: '@ai-sdk/mcp, SSE',
    installed: 'node-clients/node_modules/@ai-sdk/mcp',
    command: [NODE, JAVASCRIPT],
    kind: 'ai-sdk-sse',
    protocol: '2025-11-25',
    letsGo: 'at the end',
    afterDrop: 'either, by the connection that its pool picks',
    isExtra: true,
  },
  {
    name: 'mcp-remote',
    installed: 'node-clients/node_modules/mcp-remote',
    command: [NODE, JAVASCRIPT],
    kind: 'mcp-remote',
    protocol: null,
    letsGo: 'at the cancellation',
    afterDrop: 'goes on',
  },
]

let gateway: Deployment
let token: string
beforeAll(async () => {
  gateway = await deploy({ SSE_LIMITER_ENABLED: 'false' })
  // its plan has no limit per second, which so many clients at once would reach
  token = await gateway.token('demo-admin')
})
afterAll(() => gateway?.stop())

describe('one life of a client', { timeout: 90_000 }, () => {
  const isWhole = process.env.CLIENTS === 'all'
  for (const [at, row] of ROWS.entries()) {
    if (row.isExtra && !isWhole) continue
    const { name, installed, command, kind, protocol, letsGo, afterDrop } = row
    const missing = !existsSync(resolve('.tools', installed)) && !servicesRequired()
    const hint = missing ? ` (skipped: scripts/services.sh ${installed.split('/')[0]})` : ''
    it.skipIf(missing).concurrent(`${name}${hint}`, async () => {
      // the report of this row is known by its time per step
      const stepMs = 1900 + at
      const reports = watchRequests(`stepMs=${stepMs}`)
      const link = await startFaultyLink(gateway.url)
      // its session stays, in which the call goes on
      const timeout = letsGo === 'when it has run' ? 40_000 : 8_000
      const released = () => vi.waitFor(() => expect(reports.count).toBe(0), { timeout, interval: 20 })
      let steps = Promise.resolve()
      const seen = await runClient(
        [...command, `${link.url}/mcp`, token, kind, String(stepMs)],
        (line, child) => {
          if (line.running === true)
            steps = vi
              .waitFor(() => expect(reports.count).toBe(1), { timeout: 20_000, interval: 20 })
              .then(() => void child.stdin.write('\n'))
          if (line.cancelled === true)
            steps = steps
              .then(() => (letsGo === 'at the cancellation' ? released() : expect(reports.count).toBe(1)))
              .then(() => link.reset())
              .finally(() => child.stdin.write('\n'))
          steps.catch(() => undefined)
        },
      )
      await steps
      expect(seen).toMatchObject({
        protocol,
        called: true,
        failed: true,
        again: expect.arrayContaining(['shop_runSalesReport']),
        closed: true,
      })
      if (!afterDrop.startsWith('either'))
        expect(seen.connectedAgain === true ? 'connects again' : 'goes on').toBe(afterDrop)
      expect(String(seen.unknown)).toMatch(/-32602|noSuchTool/)
      expect(seen.tools).toContain('shop_runSalesReport')
      await released()
      reports.stop()
      await link.close()
    })
  }
})
