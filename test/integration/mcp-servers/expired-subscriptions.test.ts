/** Subscriptions of sessions that expire without a word end, and with them those at the MCP server; those of sessions in use stay. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it, vi } from 'vitest'
import { ResourceSubscriptions } from '../../../src/data-plane/http/mcp/resource-subscriptions.ts'
import { fileKeyRing } from '../../../src/data-plane/sessions/key-ring.ts'
import { MemorySessionStore } from '../../../src/data-plane/sessions/memory/store.ts'
import type { CompiledTool } from '../../../src/data-plane/snapshot/snapshot.ts'
import { ResourceWatches } from '../../../src/mcp/client/resource-watches.ts'
import { createEgress } from '../../../src/net/egress/client.ts'
import { BackendTokens } from '../../../src/net/egress/oauth/backend-tokens.ts'
import { result, startScriptedServer } from '../../fixtures/scripted-mcp-server.ts'

const TTL_MS = 60_000
const SWEEP_MS = 30_000
const closing: (() => unknown)[] = []
afterEach(async () => {
  vi.useRealTimers()
  for (const close of closing.splice(0).reverse()) await close()
})

interface WatchedServer {
  readonly url: string
  /** URIs that are subscribed now. */
  watched(): readonly string[]
}

async function startWatchedServer(): Promise<WatchedServer> {
  const watched = new Set<string>()
  const server = await startScriptedServer(({ method, id, params }, response) => {
    if (method === 'resources/subscribe') watched.add(params.uri)
    else if (method === 'resources/unsubscribe') watched.delete(params.uri)
    else return undefined
    return result(response, id, {})
  })
  closing.push(() => server.close())
  return { url: server.url, watched: () => [...watched].sort() }
}

it('the subscriptions of an expired session end, those of one in use stay', async () => {
  const { url, watched } = await startWatchedServer()
  const egress = createEgress({ allow: [], allowLoopback: true })
  closing.push(() => egress.close())
  const tokens = new BackendTokens({ egress, now: Date.now })
  const watches = new ResourceWatches({ egress, tokens, client: { name: 'test', version: '1' } })
  closing.push(() => watches.close())
  const dir = mkdtempSync(join(tmpdir(), 'expired-subscriptions-'))
  closing.push(() => rmSync(dir, { recursive: true }))
  let nowMs = Date.now()
  const now = () => nowMs
  const sessions = new MemorySessionStore({
    keys: fileKeyRing(join(dir, 'keys.json'), now),
    ttlMs: TTL_MS,
    maxSessions: 10,
    now,
  })
  closing.push(() => sessions.close())
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const subscriptions = new ResourceSubscriptions(sessions, watches, now)
  const mcp = {
    address: { url, transport: 'auto', headers: [] },
    authentication: { type: 'none' },
    key: url,
    uriPrefix: '',
  }
  const entry = { mcp, tool: { mcp: { serves: ['subscriptions'] } } } as unknown as CompiledTool
  const facts = {
    protocolVersion: '2025-06-18',
    origin: 'initialize',
    elicitation: false,
    owner: 'a'.repeat(16),
    createdAtMs: nowMs,
  } as const
  const [idle, used] = [sessions.create(facts), sessions.create(facts)]
  expect(subscriptions.add(idle.id, entry, 'file:///idle')).toBeUndefined()
  expect(subscriptions.add(used.id, entry, 'file:///used')).toBeUndefined()
  await expect.poll(watched).toEqual(['file:///idle', 'file:///used'])

  nowMs += TTL_MS
  sessions.find(used.id, nowMs)
  nowMs += 1
  await vi.advanceTimersByTimeAsync(SWEEP_MS)
  expect(watched()).toEqual(['file:///idle', 'file:///used'])
  await vi.advanceTimersByTimeAsync(SWEEP_MS)
  await expect.poll(watched).toEqual(['file:///used'])
})
