/** The MCP client against servers of the official SDK: transports, sessions, restarts, progress, cancellation. */
import { afterEach, describe, expect, it } from 'vitest'
import { Cancellation } from '../../../src/base/cancellation.ts'
import type { McpSessions } from '../../../src/mcp/client/sessions.ts'
import type { RpcOutcome, ServerAddress } from '../../../src/mcp/protocol.ts'
import { createEgress } from '../../../src/net/egress/client.ts'
import { type ServedMcp, startMcpServer } from '../../fixtures/mcp-server.ts'
import { mcpSessions } from '../../fixtures/mcp-sessions.ts'

const egress = createEgress({ allow: [], allowLoopback: true })
const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function served(options: Parameters<typeof startMcpServer>[0] = {}): Promise<ServedMcp> {
  const server = await startMcpServer(options)
  closing.push(() => server.close())
  return server
}

function opened(options = {}): McpSessions {
  const sessions = mcpSessions(egress, options)
  closing.push(() => sessions.close())
  return sessions
}

const OPTIONS = { timeoutMs: 5_000, maxResponseBytes: 1_000_000 }

async function call(
  sessions: McpSessions,
  url: string,
  name: string,
  args: object = {},
  rest: object = {},
  caller = 'a',
  transport: ServerAddress['transport'] = 'auto',
): Promise<RpcOutcome | { readonly kind: 'circuit_open' }> {
  const address = { url, transport, headers: [] }
  return sessions.request(
    { address, key: url, caller },
    'tools/call',
    { name, arguments: args },
    { ...OPTIONS, ...rest },
  )
}

const textOf = (outcome: Awaited<ReturnType<typeof call>>): unknown =>
  outcome.kind === 'result' ? (outcome.result.content as { text: string }[])[0]!.text : outcome

describe.each([
  ['a stream for each call', {}, 'url', 'auto'],
  ['JSON responses', { json: true }, 'url', 'streamable'],
  ['no sessions', { stateless: true }, 'url', 'auto'],
  ['HTTP with SSE, found', {}, 'sseUrl', 'auto'],
  ['HTTP with SSE, named', {}, 'sseUrl', 'sse'],
] as const)('a server with %s', (_, options, address, transport) => {
  it('executes calls, also many at once', async () => {
    const server = await served(options)
    const sessions = opened()
    const texts = Array.from({ length: 20 }, (_, at) => `text ${at}`)
    const outcomes = await Promise.all(
      texts.map(text => call(sessions, server[address], 'echo', { text }, {}, 'a', transport)),
    )
    expect(outcomes.map(textOf)).toEqual(texts)
    expect([...server.calls].sort()).toEqual([...texts].sort())
    expect(server.sessions.size).toBe('stateless' in options ? 0 : 1)
    const failed = await call(sessions, server[address], 'fail', {}, {}, 'a', transport)
    expect(failed).toMatchObject({ kind: 'result', result: { isError: true } })
  })
})

it('keeps the sessions of callers apart, and ends those that are closed', async () => {
  const server = await served()
  const sessions = opened()
  const counts = async (caller: string) => textOf(await call(sessions, server.url, 'count', {}, {}, caller))
  expect([await counts('a'), await counts('a'), await counts('b'), await counts('a')]).toEqual([
    '1',
    '2',
    '1',
    '3',
  ])
  expect(server.sessions.size).toBe(2)
  await sessions.close()
  expect(server.sessions.size).toBe(0)
})

it('repeats a call after the server has lost its sessions, and executes it once', async () => {
  const server = await served()
  const sessions = opened()
  await call(sessions, server.url, 'echo', { text: 'one' })
  server.endSessions()
  expect(textOf(await call(sessions, server.url, 'echo', { text: 'two' }))).toBe('two')
  expect(server.calls).toEqual(['one', 'two'])
  expect(sessions.counts).toMatchObject({ connects: 2, retries: 1 })
})

it('reaches a server that was started again on the same address', async () => {
  const first = await served()
  const sessions = opened()
  await call(sessions, first.url, 'echo', { text: 'one' })
  const port = Number(new URL(first.url).port)
  await first.close()
  expect(await call(sessions, first.url, 'echo', { text: 'lost' })).toMatchObject({ kind: 'failure' })
  const second = await startMcpServer({ port })
  closing.push(() => second.close())
  expect(textOf(await call(sessions, first.url, 'echo', { text: 'two' }))).toBe('two')
  expect(second.calls).toEqual(['two'])
})

it('passes progress on, and cancels a call at the server', async () => {
  const server = await served()
  const sessions = opened()
  const steps: unknown[] = []
  const onProgress = (...step: unknown[]) => steps.push(step)
  expect(textOf(await call(sessions, server.url, 'slow', { steps: 3 }, { onProgress }))).toBe('done')
  expect(steps).toEqual([1, 2, 3].map(step => [step, 3, `step ${step}`]))

  const cancellation = new Cancellation()
  // once the server runs the call
  const cancel = { cancellation, onProgress: () => cancellation.cancel() }
  const outcome = await call(sessions, server.url, 'slow', { steps: 100 }, cancel)
  expect(outcome).toMatchObject({ kind: 'failure', reason: 'cancelled' })
  await expect.poll(() => server.cancelled).toHaveLength(1)
  expect(await call(sessions, server.url, 'slow', { steps: 100 }, { timeoutMs: 1_500 })).toMatchObject({
    reason: 'timeout',
  })
  await expect.poll(() => server.cancelled).toHaveLength(2)
})

it.each(['url', 'sseUrl'] as const)(
  'does not run a call that was cancelled before, over %s',
  async address => {
    const server = await served()
    const sessions = opened()
    const cancellation = new Cancellation()
    cancellation.cancel()
    // for the handshake, then in the open session
    for (const text of ['first', 'second']) {
      const outcome = await call(sessions, server[address], 'echo', { text: 'cancelled' }, { cancellation })
      expect(outcome).toMatchObject({ kind: 'failure', reason: 'cancelled' })
      expect(textOf(await call(sessions, server[address], 'echo', { text }))).toBe(text)
    }
    expect(server.calls).toEqual(['first', 'second'])
  },
)

it('bounds its sessions and closes idle ones', async () => {
  const server = await served()
  const sessions = opened({ maxSessions: 2 })
  for (const caller of ['a', 'b', 'c', 'd']) await call(sessions, server.url, 'count', {}, {}, caller)
  expect(sessions.open).toBe(2)
  await expect.poll(() => server.sessions.size).toBe(2)
})
