/** Clients of the bridge that disconnect, and programs that go on after the end of their session: neither uses up the sessions for long. */
import { tmpdir } from 'node:os'
import { afterEach, expect, it } from 'vitest'
import { Bridge } from '../../../src/bridge/bridge.ts'
import { processEnv } from '../../fixtures/process-env.ts'

/** Responds to every request but `never` with its process id and what it has received. */
const PROGRAM = `
const seen = []
require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  seen.push(params?.requestId === undefined ? method : method + ' ' + params.requestId)
  if (id === undefined || method === 'never') return
  console.log(JSON.stringify({ jsonrpc: '2.0', id, result: { pid: process.pid, held: globalThis.held, seen } }))
})
`
/** Goes on after the end of its input and SIGTERM. */
const STUBBORN = `${PROGRAM}; setInterval(() => {}, 1000); process.on('SIGTERM', () => {})`
/** Leaves a process outside of its group that holds its output open. */
const HELD = `${PROGRAM}
const options = { detached: true, stdio: ['ignore', 'inherit', 'ignore'] }
const held = require('node:child_process').spawn('sleep', ['120'], options)
held.unref()
globalThis.held = held.pid`
const SILENT = 'process.stdin.resume()'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function bridged(script: string, maxSessions: number, idleMs = 60_000): Promise<string> {
  const bridge = new Bridge({
    command: {
      command: process.execPath,
      args: ['-e', script],
      cwd: tmpdir(),
      env: processEnv(),
    },
    host: '127.0.0.1',
    port: 0,
    maxSessions,
    idleMs,
    log: () => {},
  })
  const url = await bridge.listen()
  closing.push(() => bridge.close())
  return url
}

const post = (url: string, id: number, method: string, session = {}, signal: AbortSignal | null = null) =>
  fetch(url, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id, method, params: {} }),
    headers: { 'content-type': 'application/json', ...session },
    signal,
  })

interface Result {
  readonly pid: number
  readonly held?: number
  readonly seen: readonly string[]
}

async function resultOf(response: Response): Promise<Result> {
  return ((await response.json()) as { result: Result }).result
}

async function opened(url: string): Promise<Result & { session: Record<string, string> }> {
  const response = await post(url, 1, 'initialize')
  expect(response.status).toBe(200)
  const session = { 'mcp-session-id': response.headers.get('mcp-session-id')! }
  return { session, ...(await resultOf(response)) }
}

const ended = (url: string, session: Record<string, string>) =>
  fetch(url, { method: 'DELETE', headers: session })

async function sessionsOf(url: string): Promise<number> {
  const health = await fetch(new URL('/health', url))
  return ((await health.json()) as { sessions: number }).sessions
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

it('cancels the request of a client that disconnects, and its session becomes idle', async () => {
  const url = await bridged(PROGRAM, 1, 3_000)
  const { session } = await opened(url)
  const client = new AbortController()
  const call = post(url, 5, 'never', session, client.signal).catch(() => {})
  // refused while the request is in flight
  await expect.poll(async () => (await post(url, 5, 'ping', session)).status, { timeout: 10_000 }).toBe(503)
  client.abort()
  await call
  const seen = async () => (await resultOf(await post(url, 6, 'ping', session))).seen
  await expect.poll(seen, { timeout: 10_000 }).toContain('notifications/cancelled 5')
  await expect.poll(() => sessionsOf(url), { timeout: 20_000 }).toBe(0)
}, 60_000)

it('ends the session of a client that disconnects before the response to initialize', async () => {
  const url = await bridged(SILENT, 2)
  const client = new AbortController()
  const calls = [1, 2].map(id => post(url, id, 'initialize', {}, client.signal).catch(() => {}))
  await expect.poll(() => sessionsOf(url), { timeout: 10_000 }).toBe(2)
  client.abort()
  await Promise.all(calls)
  await expect.poll(() => sessionsOf(url), { timeout: 10_000 }).toBe(0)
}, 30_000)

it('opens a session when a process of an ended one has stopped, so that there are never more processes', async () => {
  const url = await bridged(STUBBORN, 2)
  const pids: number[] = []
  for (let n = 0; n < 2; n++) {
    const { session, pid } = await opened(url)
    pids.push(pid)
    await ended(url, session)
  }
  expect(pids.filter(isAlive)).toEqual(pids)
  const { pid } = await opened(url)
  expect(pids.filter(isAlive).length).toBeLessThan(2)
  expect(isAlive(pid)).toBe(true)
}, 30_000)

it('counts a session no longer whose process has ended while another one holds its output', async () => {
  const url = await bridged(HELD, 1)
  const { session, pid, held } = await opened(url)
  closing.push(() => process.kill(held!))
  await ended(url, session)
  const next = await opened(url)
  closing.push(() => process.kill(next.held!))
  expect(next.pid).not.toBe(pid)
}, 60_000)
