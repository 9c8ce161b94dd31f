/** Streams of MCP servers that stay open beside calls to the same host: they take no connection of calls, and have a bound. No server ends a stream. */
import { afterEach, describe, expect, it } from 'vitest'
import { ResourceWatches } from '../../../src/mcp/client/resource-watches.ts'
import type { McpSessions } from '../../../src/mcp/client/sessions.ts'
import type { BackendAuthentication } from '../../../src/model/tool.ts'
import { createEgress } from '../../../src/net/egress/client.ts'
import type { Egress } from '../../../src/net/egress/egress.ts'
import { BackendTokens } from '../../../src/net/egress/oauth/backend-tokens.ts'
import { startMcpServer } from '../../fixtures/mcp-server.ts'
import { mcpSessions } from '../../fixtures/mcp-sessions.ts'
import { startOwnTime } from '../../fixtures/own-time.ts'
import { result, startScriptedServer, text } from '../../fixtures/scripted-mcp-server.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

function kept<T extends { close(): unknown }>(part: T): T {
  closing.push(() => part.close())
  return part
}
/** One connection for calls. */
function client(more: Partial<Parameters<typeof createEgress>[0]> = {}): Egress {
  return kept(createEgress({ allow: [], allowLoopback: true, maxConnectionsPerOrigin: 1, ...more }))
}
const callAs = (sessions: McpSessions, url: string, caller: string, capabilities: object | undefined) =>
  sessions.request(
    {
      address: { url, transport: 'auto', headers: [] },
      key: url,
      caller,
      ...(capabilities === undefined ? {} : { capabilities: { ...capabilities } }),
    },
    'tools/call',
    { name: 'echo', arguments: { text: 'hello' } },
    { timeoutMs: 5_000, maxResponseBytes: 300_000 },
  )

describe.each([
  ['of sessions over HTTP with SSE', 'sseUrl', undefined],
  ['of sessions whose servers may ask the client', 'url', { elicitation: {} }],
] as const)('streams %s', (_, at, capabilities) => {
  it('leave the connections of calls to calls', async () => {
    const server = kept(await startMcpServer())
    const sessions = kept(mcpSessions(client()))
    for (const caller of ['a', 'b', 'c', 'a', 'b', 'c'])
      expect(await callAs(sessions, server[at], caller, capabilities)).toMatchObject({ kind: 'result' })
    expect(server.sessions.size).toBe(3)
  })
})

it('streams of watched resources leave the connections of calls to calls', async () => {
  let watched = 0
  const server = kept(
    await startScriptedServer(({ method, id }, response) => {
      if (method === 'server/discover')
        return result(response, id, {
          resultType: 'complete',
          supportedVersions: ['2026-07-28'],
          capabilities: { resources: { subscribe: true } },
          ttlMs: 0,
          cacheScope: 'public',
        })
      if (method === 'tools/call') return result(response, id, text('ok'))
      if (method !== 'subscriptions/listen') return undefined
      watched++
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(':\n\n')
      return true
    }),
  )
  const egress = client()
  const tokens = new BackendTokens({ egress, now: Date.now })
  const watches = kept(new ResourceWatches({ egress, tokens, client: { name: 'test', version: '1' } }))
  const address = { url: server.url, transport: 'auto', headers: [] } as const
  const authentication = { type: 'none' } as BackendAuthentication
  for (const key of ['a', 'b']) watches.watch({ address, authentication, key }, 'file:///a', () => {})
  await expect.poll(() => watched).toBe(2)
  expect(await callAs(kept(mcpSessions(egress)), server.url, '', undefined)).toMatchObject({ kind: 'result' })
})

it('a stream beyond the bound fails at once, and says nothing about the server', async () => {
  const server = kept(await startMcpServer())
  const sessions = kept(mcpSessions(client({ maxStreamsPerOrigin: 1 })))
  expect(await callAs(sessions, server.sseUrl, 'a', undefined)).toMatchObject({ kind: 'result' })
  const elapsedMs = startOwnTime()
  for (let n = 0; n < 6; n++)
    expect(await callAs(sessions, server.sseUrl, 'b', undefined)).toMatchObject({
      kind: 'failure',
      reason: 'unreachable',
      message: expect.stringMatching(
        /^http:\S+ was not called: the limit of 1 open streams to it is reached$/,
      ),
      sent: false,
      saturated: true,
    })
  expect(elapsedMs()).toBeLessThan(3_000)
  // its circuit is closed
  expect(await callAs(sessions, server.sseUrl, 'a', undefined)).toMatchObject({ kind: 'result' })
})
