/** The bridge and its command with a server of the official SDK on stdio: sessions, crashes, bounds, isolation, shutdown; the gateway's client calls it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { Bridge } from '../../../src/bridge/bridge.ts'
import type { McpSessions } from '../../../src/mcp/client/sessions.ts'
import { createEgress } from '../../../src/net/egress/client.ts'
import { runToolgate } from '../../fixtures/command.ts'
import { mcpSessions } from '../../fixtures/mcp-sessions.ts'
import { processEnv } from '../../fixtures/process-env.ts'

const BIN = join(import.meta.dirname, '../../../dist/cli/index.js')
const SERVER = join(import.meta.dirname, '../../fixtures/stdio-mcp-server.mjs')
const egress = createEgress({ allow: [], allowLoopback: true })
const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

type Options = Partial<ConstructorParameters<typeof Bridge>[0]> & { env?: Record<string, string> }

async function bridged({
  env = {},
  ...options
}: Options = {}): Promise<{ url: string; log: string[]; bridge: Bridge }> {
  const log: string[] = []
  const bridge = new Bridge({
    command: {
      command: process.execPath,
      args: [SERVER],
      cwd: tmpdir(),
      env: { ...processEnv(), ...env },
    },
    host: '127.0.0.1',
    port: 0,
    maxSessions: 4,
    idleMs: 60_000,
    log: line => log.push(line),
    ...options,
  })
  const url = await bridge.listen()
  closing.push(() => bridge.close())
  return { url, log, bridge }
}

function opened(): McpSessions {
  const sessions = mcpSessions(egress)
  closing.push(() => sessions.close())
  return sessions
}

async function call(
  sessions: McpSessions,
  url: string,
  name: string,
  args: object = {},
  rest: object = {},
  caller = 'a',
) {
  const { headers = [], ...options } = rest as { headers?: string[] }
  const outcome = await sessions.request(
    { address: { url, transport: 'auto', headers }, key: url + headers.join(), caller },
    'tools/call',
    { name, arguments: args },
    { timeoutMs: 10_000, maxResponseBytes: 1_000_000, ...options },
  )
  if (outcome.kind !== 'result') return outcome
  return (outcome.result.content as { text: string }[])[0]!.text
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

it('runs a process for each session, passes progress on, and ends the process with the session', async () => {
  const { url } = await bridged()
  const sessions = opened()
  const pids = [
    Number(await call(sessions, url, 'pid')),
    Number(await call(sessions, url, 'pid', {}, {}, 'b')),
  ]
  expect(pids[0]).not.toBe(pids[1])
  expect([await call(sessions, url, 'count'), await call(sessions, url, 'count')]).toEqual(['1', '2'])
  expect(await call(sessions, url, 'count', {}, {}, 'b')).toBe('1')
  const steps: number[] = []
  expect(await call(sessions, url, 'steps', { steps: 3 }, { onProgress: (n: number) => steps.push(n) })).toBe(
    'done',
  )
  expect(steps).toEqual([1, 2, 3])
  await sessions.close()
  await expect.poll(() => pids.some(isAlive), { timeout: 10_000 }).toBe(false)
})

it('keeps no request that was cancelled: the session becomes idle, and its process ends', async () => {
  const { url } = await bridged({ idleMs: 500 })
  const sessions = opened()
  const pid = Number(await call(sessions, url, 'pid'))
  expect(await call(sessions, url, 'sleep', {}, { timeoutMs: 300 })).toMatchObject({ reason: 'timeout' })
  await expect.poll(() => isAlive(pid), { timeout: 15_000 }).toBe(false)
})

it('passes on only the variables that are named', async () => {
  const { url } = await bridged({ env: { NAMED: '1' } })
  const names = [...Object.keys(processEnv()), 'NAMED'].sort().join(' ')
  expect(await call(opened(), url, 'variables')).toBe(names)
})

it('reports a process that ends in a call, and the next call gets a new one', async () => {
  const { url, log } = await bridged()
  const sessions = opened()
  expect(await call(sessions, url, 'die')).toMatchObject({
    kind: 'error',
    message: expect.stringContaining('exit code 7'),
  })
  await expect.poll(() => call(sessions, url, 'count'), { timeout: 10_000, interval: 300 }).toBe('1')
  expect(log.join()).toContain('exit code 7')
  expect(await call(sessions, url, 'flood')).toMatchObject({
    kind: 'error',
    message: expect.stringContaining('a line of more than'),
  })
})

it('pauses before it starts a command again that crashes at once', async () => {
  const { url, log } = await bridged({ env: { CRASH: '1' } })
  const sessions = opened()
  const outcomes = []
  for (let n = 0; n < 3; n++) outcomes.push(await call(sessions, url, 'count'))
  expect(outcomes[0]).toMatchObject({
    kind: 'failure',
    sent: false,
    message: expect.stringContaining('exit code 3'),
  })
  expect(outcomes[2]).toMatchObject({ kind: 'failure', reason: 'status', status: 503 })
  expect(log.length).toBeLessThan(3)
})

it('says which command cannot be started', async () => {
  const { url } = await bridged({ command: { command: 'no-such-command', args: [], cwd: tmpdir(), env: {} } })
  expect(await call(opened(), url, 'count')).toMatchObject({
    message: expect.stringContaining('no-such-command cannot be started'),
  })
})

describe('refuses', () => {
  const post = (url: string, body: string, headers: Record<string, string> = {}) =>
    fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } })
  const INITIALIZE = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
  })

  it('more sessions than allowed, and serves again when one has ended', async () => {
    const { url } = await bridged({ maxSessions: 1 })
    const first = await post(url, INITIALIZE)
    expect(first.status).toBe(200)
    expect((await post(url, INITIALIZE)).status).toBe(503)
    const headers = { 'mcp-session-id': first.headers.get('mcp-session-id')! }
    expect((await fetch(url, { method: 'DELETE', headers })).status).toBe(200)
    expect((await post(url, INITIALIZE)).status).toBe(200)
    expect((await post(url, '{"jsonrpc":"2.0","id":2,"method":"ping"}', headers)).status).toBe(404)
  })

  it('pages of browsers, other hosts, other paths, what is not MCP, and requests without the token', async () => {
    const { url } = await bridged({ token: 'a-token-of-the-bridge' })
    const headers = { authorization: 'Bearer a-token-of-the-bridge' }
    const refused = await post(url, INITIALIZE)
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
    expect((await post(url, INITIALIZE, { authorization: 'Bearer other' })).status).toBe(401)
    expect((await post(url, INITIALIZE, { ...headers, origin: 'https://evil.test' })).status).toBe(403)
    expect((await post(`${url}x`, INITIALIZE, headers)).status).toBe(404)
    expect((await post(url, 'x', headers)).status).toBe(400)
    expect((await post(url, '[]', headers)).status).toBe(400)
    expect((await fetch(url, { headers })).status).toBe(405)
    expect(
      await call(opened(), url, 'count', {}, { headers: ['authorization', headers.authorization] }),
    ).toBe('1')
  })
})

it('ends idle sessions', async () => {
  const { url } = await bridged({ idleMs: 100 })
  const sessions = opened()
  const pid = Number(await call(sessions, url, 'pid'))
  await expect.poll(() => isAlive(pid), { timeout: 12_000 }).toBe(false)
  expect(await call(sessions, url, 'count')).toBe('1')
})

it('as a command prints its address, and ends every process at a signal', async () => {
  const sessions = opened()
  const args = [BIN, 'bridge', '--env', 'NAMED=2', '--', process.execPath, SERVER]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] })
  closing.push(() => child.kill('SIGKILL'))
  const [line] = (await once(child.stdout!.setEncoding('utf8'), 'data')) as [string]
  const { ready, url } = JSON.parse(line)
  expect(ready).toBe(true)
  expect(await call(sessions, url, 'variables')).toContain('NAMED PATH')
  const pid = Number(await call(sessions, url, 'pid'))
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
  expect(isAlive(pid)).toBe(false)
})

it('as a command listens on other addresses only with a token', async () => {
  const { code, err } = await runToolgate(['bridge', '--host', '0.0.0.0', '--', 'true'], {})
  expect([code, err]).toEqual([64, expect.stringContaining('--token-file')])
})
