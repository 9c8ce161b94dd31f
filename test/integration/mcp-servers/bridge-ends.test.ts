/** Commands of the bridge that cannot be started or do not end by themselves, and a port in use: what its client gets; no command outlives the bridge. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { Bridge } from '../../../src/bridge/bridge.ts'
import { BridgeSession, type ClientRequest } from '../../../src/bridge/bridge-session.ts'
import type { Reply } from '../../../src/bridge/reply.ts'
import { readMessages } from '../../../src/mcp/client/messages.ts'
import { bundledScript } from '../../fixtures/bundled-script.ts'
import { processEnv } from '../../fixtures/process-env.ts'

const SERVER = join(import.meta.dirname, '../../fixtures/stdio-mcp-server.mjs')
const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
})
const PID = JSON.stringify({
  jsonrpc: '2.0',
  id: 2,
  method: 'tools/call',
  params: { name: 'pid', arguments: {} },
})
const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const post = (url: string, body: string, headers: Record<string, string> = {}) =>
  fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } })

async function bridged(args: readonly string[], idleMs = 60_000): Promise<{ bridge: Bridge; url: string }> {
  const bridge = new Bridge({
    command: { command: process.execPath, args, cwd: tmpdir(), env: processEnv() },
    host: '127.0.0.1',
    port: 0,
    maxSessions: 4,
    idleMs,
    log: () => {},
  })
  const url = await bridge.listen()
  closing.push(() => bridge.close())
  return { bridge, url }
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** A session, and the process id of its server, which SIGTERM does not end. */
async function opened(url: string): Promise<{ session: Record<string, string>; pid: number }> {
  const response = await post(url, INITIALIZE)
  const session = { 'mcp-session-id': response.headers.get('mcp-session-id')! }
  const called = (await (await post(url, PID, session)).json()) as {
    result: { content: { text: string }[] }
  }
  return { session, pid: Number(called.result.content[0]!.text) }
}

/** A server that goes on after the end of its input. */
const KEPT = ['--import', 'data:text/javascript,setInterval(()=>{},1000)', SERVER]

it('waits for the command of a session that its client has ended', async () => {
  const { bridge, url } = await bridged(KEPT)
  const { session, pid } = await opened(url)
  expect((await fetch(url, { method: 'DELETE', headers: session })).status).toBe(200)
  expect(isAlive(pid)).toBe(true)
  await bridge.close()
  expect(isAlive(pid)).toBe(false)
}, 20_000)

it('waits for the command of a session that was idle', async () => {
  // longer than this process may stand still between the two requests of a session
  const { bridge, url } = await bridged(KEPT, 2_000)
  const { pid } = await opened(url)
  const sessions = async (): Promise<number> => {
    const health = await fetch(new URL('/health', url))
    return ((await health.json()) as { sessions: number }).sessions
  }
  await expect.poll(sessions, { interval: 20, timeout: 30_000 }).toBe(0)
  expect(isAlive(pid)).toBe(true)
  await bridge.close()
  expect(isAlive(pid)).toBe(false)
}, 20_000)

it('counts the time without use of a session from the end of its last request', async () => {
  const command = {
    command: process.execPath,
    args: [SERVER],
    cwd: tmpdir(),
    env: processEnv(),
  }
  const session = new BridgeSession(
    'one',
    command,
    () => {},
    () => {},
  )
  closing.push(() => session.stop())
  const ended = new Promise<string>(resolve => {
    const reply = { end: resolve, notify: () => false } as unknown as Reply
    const [message] = readMessages(INITIALIZE, Number.POSITIVE_INFINITY)
    expect(session.request(message as ClientRequest, INITIALIZE, reply)).toBeUndefined()
  })
  // as if the request had been sent long ago
  session.usedAtMs = 0
  expect(JSON.parse(await ended)).toMatchObject({ id: 1, result: {} })
  expect(session.usedAtMs).toBeGreaterThan(0)
})

it('says which command cannot be started when the system refuses its arguments', async () => {
  const { url } = await bridged(['-e', 'x'.repeat(1024 * 1024)])
  const refused = await post(url, INITIALIZE)
  expect(await refused.json()).toMatchObject({
    id: 1,
    error: { message: expect.stringMatching(/cannot be started: .*E2BIG/) },
  })
  expect((await fetch(new URL('/health', url))).status).toBe(200)
})

it('goes on without file descriptors for the command', async () => {
  const script = await bundledScript(join(import.meta.dirname, 'bridge-child.ts'))
  const child: ChildProcess = spawn('sh', ['-c', `ulimit -n 128; exec "${process.execPath}" "${script}"`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  closing.push(() => child.kill('SIGKILL'))
  const [line] = (await once(child.stdout!.setEncoding('utf8'), 'data')) as [string]
  const url = line.trim()
  const refused = await post(url, INITIALIZE)
  expect(await refused.json()).toMatchObject({
    id: 1,
    error: { message: expect.stringMatching(/cannot be started: .*EMFILE/) },
  })
  expect(await (await fetch(new URL('/health', url))).json()).toEqual({ status: 'ok', sessions: 0 })
}, 30_000)

it('that finds its port taken names its options, not the settings of the gateway', async () => {
  const { url } = await bridged([SERVER])
  const { port } = new URL(url)
  const second = new Bridge({
    command: { command: process.execPath, args: [SERVER], cwd: tmpdir(), env: {} },
    host: '127.0.0.1',
    port: Number(port),
    maxSessions: 1,
    idleMs: 60_000,
    log: () => {},
  })
  closing.push(() => second.close())
  await expect(second.listen()).rejects.toThrow(
    new RegExp(
      `^cannot listen on 127\\.0\\.0\\.1:${port}: .*; set --port \\(or --host\\) to a free port or address$`,
    ),
  )
})
