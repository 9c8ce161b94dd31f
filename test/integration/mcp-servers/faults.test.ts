/** The MCP client against scripted servers: wrong, late and missing responses have their reasons, no call runs twice, and versions are negotiated. */
import type { ServerResponse } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { Cancellation } from '../../../src/base/cancellation.ts'
import type { McpSessions } from '../../../src/mcp/client/sessions.ts'
import { createEgress } from '../../../src/net/egress/client.ts'
import { mcpSessions } from '../../fixtures/mcp-sessions.ts'
import {
  error,
  type RpcCall,
  result,
  type ScriptedServer,
  startScriptedServer,
  text,
} from '../../fixtures/scripted-mcp-server.ts'

const egress = createEgress({ allow: [], allowLoopback: true })
const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function scripted(script: Parameters<typeof startScriptedServer>[0]): Promise<ScriptedServer> {
  const server = await startScriptedServer(script)
  closing.push(() => server.close())
  return server
}

function opened(): McpSessions {
  const sessions = mcpSessions(egress)
  closing.push(() => sessions.close())
  return sessions
}

const call = (sessions: McpSessions, url: string, options: object = {}) =>
  sessions.request(
    { address: { url, transport: 'auto', headers: [] }, key: url, caller: 'a' },
    'tools/call',
    { name: 'x', arguments: {} },
    { timeoutMs: 3_000, maxResponseBytes: 300_000, ...options },
  )

const ended = (response: ServerResponse, status: number): true => {
  response.writeHead(status).end()
  return true
}
const closed = (response: ServerResponse): true => {
  response.destroy()
  return true
}
const callsOf = ({ seen }: ScriptedServer): number => seen.filter(method => method === 'tools/call').length
const isCall = ({ method }: RpcCall): boolean => method === 'tools/call'

describe('a call fails, and is not repeated, when the server', () => {
  it.each([
    ['closes the connection', 'reset', (_, response) => void response.destroy()],
    ['does not respond', 'timeout', () => {}],
    [
      'sends a page',
      'not_mcp',
      (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
    ],
    [
      'sends text that is not JSON',
      'not_mcp',
      (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{"a'),
    ],
    [
      'sends JSON that is not JSON-RPC',
      'not_mcp',
      (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('[1]'),
    ],
    ['responds to another id', 'not_mcp', (_, response) => void result(response, 4711, {})],
    [
      'sends more than is allowed',
      'too_large',
      ({ id }, response) => void result(response, id, text('x'.repeat(400_000))),
    ],
    [
      'sends more values than can be read in time',
      'not_mcp',
      ({ id }, response) =>
        void result(response, id, { a: Array.from({ length: 18_000 }, (_, n) => ({ [`n${n}`]: 0 })) }),
    ],
    [
      'sends a value that is nested deeply',
      'not_mcp',
      ({ id }, response) =>
        void response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(`{"jsonrpc":"2.0","id":${id},"result":{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}}`),
    ],
    ['accepts it and sends nothing', 'not_mcp', (_, response) => void response.writeHead(202).end()],
    ['fails', 'status', (_, response) => void response.writeHead(500).end('oops')],
    [
      'ends the stream',
      'truncated',
      (_, response) =>
        void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': hello\n\n'),
    ],
  ] as [
    string,
    string,
    (call: RpcCall, response: Parameters<Parameters<typeof startScriptedServer>[0]>[1]) => void,
  ][])('%s', async (_, reason, respond) => {
    const server = await scripted((message, response) => {
      if (!isCall(message)) return undefined
      respond(message, response)
      return true
    })
    const outcome = await call(opened(), server.url, { timeoutMs: reason === 'timeout' ? 2_000 : 3_000 })
    expect(outcome).toMatchObject({ kind: 'failure', reason, sent: true })
    expect(callsOf(server)).toBe(1)
  })
})

it.each([
  ['404', (response: Parameters<typeof error>[0]) => void response.writeHead(404).end()],
  [
    '400 and the code of the official servers',
    (response: Parameters<typeof error>[0]) =>
      void error(response, null, -32000, 'Bad Request: No valid session ID provided', 400),
  ],
  [
    '400 and a text, as older official servers do,',
    (response: Parameters<typeof error>[0]) =>
      void response.writeHead(400).end('Bad Request: No valid session ID provided'),
  ],
])('a session that the server refuses with %s is opened again, and the call runs once', async (_, refuse) => {
  let sessions = 0
  let executed = 0
  const server = await scripted(({ method, id, request }, response) => {
    if (method === 'initialize') {
      const value = {
        protocolVersion: '2025-06-18',
        capabilities: {},
        serverInfo: { name: 's', version: '1' },
      }
      return result(response, id, value, { 'mcp-session-id': `s${++sessions}` })
    }
    if (method !== 'tools/call') return undefined
    if (request.headers['mcp-session-id'] === 's1' && executed > 0) {
      refuse(response)
      return true
    }
    expect(request.headers['mcp-protocol-version']).toBe('2025-06-18')
    executed++
    return result(response, id, text('ok'))
  })
  const client = opened()
  expect(await call(client, server.url)).toMatchObject({ kind: 'result' })
  expect(await call(client, server.url)).toMatchObject({ kind: 'result' })
  expect([sessions, executed]).toEqual([2, 2])
})

it('resumes the stream of a call that was interrupted, and the call runs once', async () => {
  const resumed: unknown[] = []
  const server = await scripted(({ method, id, request }, response) => {
    if (method === 'tools/call') {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('id: 1\nretry: 50\ndata: \n\n')
      setTimeout(() => response.destroy(), 50)
      server.seen.push(String(id))
      return true
    }
    if (method !== 'GET') return undefined
    resumed.push(request.headers['last-event-id'])
    if (resumed.length === 1) return closed(response)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(
      `id: 2\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: Number(server.seen.at(-3)), result: text('late') })}\n\n`,
    )
    return true
  })
  expect(await call(opened(), server.url)).toMatchObject({ kind: 'result', result: text('late') })
  expect(resumed).toEqual(['1', '1'])
  expect(callsOf(server)).toBe(1)
})

it('does not call a server that failed five times in a row, and says when it will', async () => {
  const server = await scripted(() => undefined)
  await server.close()
  const sessions = opened()
  const outcomes = []
  for (let n = 0; n < 6; n++) outcomes.push(await call(sessions, server.url))
  expect(outcomes.slice(0, 5).every(outcome => outcome.kind === 'failure' && !outcome.sent)).toBe(true)
  expect(outcomes[5]).toEqual({ kind: 'circuit_open', retryAfterSecs: 1 })
})

it('the failed handshake of a cancelled call does not fail the next call', async () => {
  const held: ServerResponse[] = []
  let isUp = false
  const server = await scripted(({ method, id }, response) => {
    if (method === 'server/discover') return error(response, id, -32601, 'Method not found')
    if (method === 'tools/call') return result(response, id, text('ok'))
    if (isUp || method !== 'initialize') return undefined
    held.push(response)
    return true
  })
  const sessions = opened()
  const cancellation = new Cancellation()
  const cancelled = call(sessions, server.url, { cancellation })
  await expect.poll(() => held.length).toBe(1)
  cancellation.cancel()
  expect(await cancelled).toMatchObject({ kind: 'failure', reason: 'cancelled' })
  isUp = true
  ended(held[0]!, 500)
  await expect.poll(() => sessions.open).toBe(0)
  expect(await call(sessions, server.url)).toMatchObject({ kind: 'result' })
})

it('does not wait for a server that leaves the first request of 2026-07-28 without a response', async () => {
  const server = await scripted(({ method, id }, response) => {
    if (method === 'tools/call') return result(response, id, text('ok'))
    return method === 'server/discover' ? true : undefined
  })
  // half of it is waited for the first request, the rest is for the call
  expect(await call(opened(), server.url, { timeoutMs: 5_000 })).toMatchObject({ kind: 'result' })
})

it('sends the level of log messages again after the server has not taken it, and once it has, no more', async () => {
  const levels: string[] = []
  const server = await scripted(({ method, id, params }, response) => {
    if (method === 'initialize') {
      const capabilities = { tools: {}, logging: {} }
      const serverInfo = { name: 's', version: '1' }
      const value = { protocolVersion: '2025-11-25', capabilities, serverInfo }
      return result(response, id, value, { 'mcp-session-id': 's1' })
    }
    if (isCall({ method } as RpcCall)) return result(response, id, text('ok'))
    if (method !== 'logging/setLevel') return undefined
    levels.push(params.level)
    // it does not respond to the first one, and fails at the second
    if (levels.length === 1) return true
    return levels.length === 2 ? error(response, id, -32603, 'later') : result(response, id, {})
  })
  const sessions = opened()
  expect(await call(sessions, server.url, { logLevel: 'debug', timeoutMs: 1_500 })).toMatchObject({
    reason: 'timeout',
  })
  for (let n = 0; n < 3; n++)
    expect(await call(sessions, server.url, { logLevel: 'debug' })).toMatchObject({ kind: 'result' })
  expect(levels).toEqual(['debug', 'debug', 'debug'])
})

it('refuses an endpoint of another origin before the call is sent', async () => {
  const server = await scripted(({ request }, response) => {
    if (request.method !== 'GET') return ended(response, 405)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('event: endpoint\ndata: http://other.example/messages\n\n')
    return true
  })
  expect(await call(opened(), server.url)).toMatchObject({ kind: 'failure', reason: 'not_mcp', sent: false })
})

it('names a refused credential', async () => {
  const server = await scripted((_, response) => ended(response, 401))
  expect(await call(opened(), server.url)).toMatchObject({ reason: 'status', status: 401, sent: false })
  expect(server.seen).toEqual(['server/discover'])
})

describe('a server of 2026-07-28', () => {
  const discovered = {
    resultType: 'complete',
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: {} },
    ttlMs: 0,
    cacheScope: 'public',
  }

  it('is called without handshake and session, with the headers it compares', async () => {
    const headers: unknown[] = []
    const server = await scripted(({ method, id, params, request }, response) => {
      if (method === 'server/discover') return result(response, id, discovered)
      headers.push([
        request.headers['mcp-protocol-version'],
        request.headers['mcp-method'],
        request.headers['mcp-name'],
        request.headers['mcp-session-id'],
        params._meta['io.modelcontextprotocol/protocolVersion'],
        params._meta['io.modelcontextprotocol/clientCapabilities'],
      ])
      return result(response, id, { resultType: 'complete', ...text('ok') }, { 'mcp-session-id': 'ignored' })
    })
    const sessions = opened()
    for (let n = 0; n < 2; n++) expect(await call(sessions, server.url)).toMatchObject({ kind: 'result' })
    expect(headers).toEqual(Array(2).fill(['2026-07-28', 'tools/call', 'x', undefined, '2026-07-28', {}]))
    expect(server.seen).toEqual(['server/discover', 'tools/call', 'tools/call'])
  })

  // as the Go SDK responds
  it('that names only earlier versions in its discovery is called with the newest of them', async () => {
    const supportedVersions = ['2025-11-25', '2024-11-05']
    const server = await scripted(({ method, id }, response) => {
      if (method === 'server/discover') return result(response, id, { ...discovered, supportedVersions })
      return method === 'tools/call' ? result(response, id, text('ok')) : undefined
    })
    expect(await call(opened(), server.url)).toMatchObject({ kind: 'result' })
    expect(server.seen).toEqual(['server/discover', 'initialize', 'notifications/initialized', 'tools/call'])
  })

  it('of which only later versions exist is refused with its versions', async () => {
    const server = await scripted(({ method, id }, response) => {
      if (method !== 'server/discover') return undefined
      response.writeHead(400, { 'content-type': 'application/json' })
      const data = { supported: ['2031-01-01'], requested: '2026-07-28' }
      response.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32022, message: 'no', data } }))
      return true
    })
    expect(await call(opened(), server.url)).toMatchObject({
      reason: 'not_mcp',
      message: expect.stringContaining('2031-01-01'),
    })
  })
})
