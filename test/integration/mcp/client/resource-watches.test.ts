/** Watched resources of a server of 2026-07-28 that ends its streams: each is opened again, and soon while the server accepts them. */
import { afterEach, expect, it } from 'vitest'
import { ResourceWatches } from '../../../../src/mcp/client/resource-watches.ts'
import type { BackendAuthentication } from '../../../../src/model/tool.ts'
import { createEgress } from '../../../../src/net/egress/client.ts'
import { BackendTokens } from '../../../../src/net/egress/oauth/backend-tokens.ts'
import { startOwnTime } from '../../../fixtures/own-time.ts'
import { result, startScriptedServer } from '../../../fixtures/scripted-mcp-server.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** When the server was asked to report changes, in ms of a clock: by default of the time that this process had. */
async function askedAt(
  streamed: string,
  times: number,
  elapsedMs = startOwnTime(),
): Promise<readonly number[]> {
  const at: number[] = []
  const server = await startScriptedServer(({ method, id }, response) => {
    if (method === 'server/discover')
      return result(response, id, {
        resultType: 'complete',
        supportedVersions: ['2026-07-28'],
        capabilities: { resources: { subscribe: true } },
        ttlMs: 0,
        cacheScope: 'public',
      })
    if (method !== 'subscriptions/listen') return undefined
    at.push(elapsedMs())
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(streamed)
    return true
  })
  closing.push(() => server.close())
  const egress = createEgress({ allow: [], allowLoopback: true })
  closing.push(() => egress.close())
  const tokens = new BackendTokens({ egress, now: Date.now })
  const watches = new ResourceWatches({ egress, tokens, client: { name: 'test', version: '1' } })
  closing.push(() => watches.close())
  const address = { url: server.url, transport: 'auto', headers: [] } as const
  const authentication = { type: 'none' } as BackendAuthentication
  watches.watch({ address, authentication, key: server.url }, 'file:///a', () => {})
  await expect.poll(() => at.length, { timeout: 15_000, interval: 50 }).toBe(times)
  return at
}

const event = (method: string, params: object): string =>
  `data: ${JSON.stringify({ jsonrpc: '2.0', method, params })}\n\n`

it.each([
  ['acknowledges', event('notifications/subscriptions/acknowledged', { notifications: {} })],
  ['has reported a change over', event('notifications/resources/updated', { uri: 'file:///a' })],
])(
  'a stream that the server %s is opened again within 1.5 s, each time',
  async (_, streamed) => {
    const delaysMs = async () => {
      const at = await askedAt(streamed, 4)
      return at.slice(1).map((ms, n) => ms - at[n]!)
    }
    // without a reset the delays would be 1, 2 and 4 s; a machine that stands still for a moment prolongs one of a run
    let longestMs = Math.max(...(await delaysMs()))
    for (let tries = 2; tries > 0 && longestMs >= 1_500; tries--) longestMs = Math.max(...(await delaysMs()))
    expect(longestMs).toBeLessThan(1_500)
  },
  60_000,
)

it('a stream that the server ends without a message is opened again later each time', async () => {
  // a lower bound is of the time that passes, of which this process may have a part
  const at = await askedAt('', 3, () => performance.now())
  expect(at[2]! - at[1]!).toBeGreaterThan(1_500)
}, 20_000)
