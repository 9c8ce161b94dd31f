/** Official and popular MCP clients in their own languages, one life each: connect, list, call, both kinds of error, cancel, and work on after a drop. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { IS_LONG_CHECK } from '../fixtures/check.ts'
import { runClient } from '../fixtures/client-process.ts'
import { CLIENT_PROGRAMS, installation } from '../fixtures/client-programs.ts'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { startFaultyLink } from '../fixtures/faulty-link.ts'
import { watchRequests } from '../fixtures/running-requests.ts'

interface Row {
  readonly name: keyof typeof CLIENT_PROGRAMS
  readonly protocol: string | null
  /** When the backend of a cancelled call is let go of: clients that do not notify let go when they close. */
  readonly letsGo: 'at the cancellation' | 'at the end' | 'when it has run'
  /** A transport that does not reconnect leaves that to its user. */
  readonly afterDrop: 'goes on' | 'connects again' | 'either, by the connection that its pool picks'
  /** Only with CHECK=long. */
  readonly isExtra?: true
}

const ROWS: readonly Row[] = [
  {
    name: 'Go, streamable',
    protocol: '2026-07-28',
    letsGo: 'at the cancellation',
    afterDrop: 'goes on',
  },
  {
    name: 'Go, SSE',
    protocol: '2025-11-25',
    letsGo: 'at the cancellation',
    afterDrop: 'connects again',
  },
  {
    name: 'Java, streamable',
    protocol: '2025-11-25',
    letsGo: 'at the end',
    afterDrop: 'goes on',
  },
  {
    name: 'Java, SSE',
    protocol: '2024-11-05',
    letsGo: 'at the end',
    afterDrop: 'connects again',
  },
  {
    name: 'Rust (rmcp), initialize',
    protocol: '2025-11-25',
    letsGo: 'at the cancellation',
    afterDrop: 'goes on',
  },
  {
    name: 'Rust (rmcp), auto',
    protocol: '2026-07-28',
    letsGo: 'at the cancellation',
    afterDrop: 'goes on',
  },
  {
    name: 'fastmcp',
    protocol: '2026-07-28',
    letsGo: 'at the cancellation',
    afterDrop: 'goes on',
  },
  {
    name: 'LangChain adapters',
    protocol: null,
    letsGo: 'when it has run',
    afterDrop: 'connects again',
    isExtra: true,
  },
  {
    name: '@ai-sdk/mcp, HTTP',
    protocol: '2026-07-28',
    letsGo: 'at the cancellation',
    afterDrop: 'either, by the connection that its pool picks',
  },
  {
    name: '@ai-sdk/mcp, SSE',
    protocol: '2025-11-25',
    letsGo: 'at the end',
    afterDrop: 'either, by the connection that its pool picks',
    isExtra: true,
  },
  {
    name: 'mcp-remote',
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
  for (const [at, row] of ROWS.entries()) {
    if (row.isExtra && !IS_LONG_CHECK) continue
    const { name, protocol, letsGo, afterDrop } = row
    const { command, kind } = CLIENT_PROGRAMS[name]
    const { missing, hint } = installation(CLIENT_PROGRAMS[name])
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
