/** The end of a caller's session with an MCP server, when Redis removes it from the store but its response is late. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { redisServerSessions } from '../../src/mcp/client/server-sessions.ts'
import type { McpSessions } from '../../src/mcp/client/sessions.ts'
import { createEgress } from '../../src/net/egress/client.ts'
import { openConnection } from '../../src/net/redis/redis-connection.ts'
import { startFaultyLink } from '../fixtures/faulty-link.ts'
import { startMcpServer } from '../fixtures/mcp-server.ts'
import { mcpSessions } from '../fixtures/mcp-sessions.ts'
import { hasRedis, REDIS_HINT, RedisServer } from '../fixtures/redis-server.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** The sessions of an instance of the gateway. */
async function sessionsIn(redisUrl: string): Promise<McpSessions> {
  const redis = openConnection(redisUrl, {
    commandTimeoutMs: 200,
    firstRetryMs: 50,
    maxRetryMs: 100,
    onError() {},
  })
  await new Promise<void>(resolve => redis.once('ready', () => resolve()))
  const egress = createEgress({ allow: [], allowLoopback: true })
  const sessions = mcpSessions(egress, { stored: { store: redisServerSessions(redis, 60_000) } })
  closing.push(
    () => redis.disconnect(),
    () => egress.close(),
    () => sessions.close(),
  )
  return sessions
}

/** A session of the caller `a` that stays at its server and in Redis, as at a restart of the gateway. */
async function leaveSession() {
  const redis = await RedisServer.start()
  closing.push(() => redis.stop())
  const server = await startMcpServer()
  closing.push(() => server.close())
  const address = { url: server.url, transport: 'auto', headers: [] } as const
  const before = await sessionsIn(redis.url)
  const scope = { address, key: server.url, caller: 'a', callerSession: 'a' }
  const call = { name: 'echo', arguments: { text: 'hello' } }
  const options = { timeoutMs: 5_000, maxResponseBytes: 300_000 }
  expect(await before.request(scope, 'tools/call', call, options)).toMatchObject({ kind: 'result' })
  await before.close()
  expect(server.sessions.size).toBe(1)
  return { redis, server, address }
}

describe.skipIf(!hasRedis())(`sessions in Redis (${REDIS_HINT})`, () => {
  it('are ended at their server although the response to the removal is late', async () => {
    const { redis, server, address } = await leaveSession()
    const link = await startFaultyLink(redis.url)
    closing.push(() => link.close())
    const after = await sessionsIn(`redis://127.0.0.1:${link.port}`)
    link.holdAt(':1\r\n', () => sleep(1_000))
    await after.endCaller('a', () => address)
    expect(server.sessions.size).toBe(0)
  }, 30_000)

  it('are ended when the address of their server becomes known after the start', async () => {
    const { redis, server, address } = await leaveSession()
    const after = await sessionsIn(redis.url)
    let asked = 0
    await after.endCaller('a', () => (++asked < 3 ? undefined : address))
    expect([asked, server.sessions.size]).toEqual([3, 0])
  }, 30_000)
})
