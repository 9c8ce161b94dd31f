/** Bodies that arrive slowly: a caller without a valid credential is refused long before the listener's own limit, whatever its length; others are not. */
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Deployment, deploy, rpc } from '../fixtures/deployment.ts'
import { startOwnTime } from '../fixtures/own-time.ts'

let gateway: Deployment
let admin: string

beforeAll(async () => {
  gateway = await deploy()
  admin = await gateway.token('demo-admin')
})
afterAll(() => gateway?.stop())

/** Sends one byte of the body each 100 ms. @returns the status, and after how long it came */
async function drip(path: string, credential: string, body: string, pauseMs = 100) {
  const { hostname, port } = new URL(gateway.url)
  const socket = connect(Number(port), hostname)
  let received = ''
  const elapsedMs = startOwnTime()
  const closed = new Promise<void>(resolve => socket.once('close', () => resolve()))
  socket.on('data', chunk => {
    received += chunk.toString('latin1')
  })
  socket.on('error', () => {})
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\naccept: application/json, text/event-stream\r\ncontent-type: application/json\r\n${credential}content-length: ${body.length}\r\n\r\n`,
  )
  for (const letter of body) {
    if (received !== '') break
    socket.write(letter)
    await Promise.race([closed, sleep(pauseMs)])
  }
  await expect.poll(() => received, { timeout: 15_000 }).not.toBe('')
  const ms = elapsedMs()
  socket.destroy()
  return { status: Number(received.split(' ')[1]), ms }
}

const INVALID = 'authorization: Bearer a.b.c\r\n'
const CALL = JSON.stringify(rpc('tools/list'))

it.each([
  ['without a credential', ''],
  ['with an invalid token', INVALID],
  ['with an unknown key', `x-api-key: tgk_${'a'.repeat(8)}_${'b'.repeat(32)}\r\n`],
])('refuses a caller %s while the body still arrives', async (_, credential) => {
  for (const path of ['/mcp/tools/call', '/mcp/v1/tools', '/admin/simulate']) {
    const { status, ms } = await drip(path, credential, CALL.padEnd(400))
    expect([path, status, ms < 1_500]).toEqual([path, 401, true])
  }
  for (const path of ['/mcp', '/mcp/sse']) {
    const { status, ms } = await drip(path, credential, CALL.padEnd(400))
    expect([path, status, ms < 4_000]).toEqual([path, 401, true])
  }
})

it('serves public methods to such a caller when the body arrives in time', async () => {
  const { status } = await drip('/mcp', INVALID, JSON.stringify(rpc('ping')), 5)
  expect(status).toBe(200)
})

it('waits for the body of a caller with a valid credential', async () => {
  const token = `authorization: Bearer ${admin}\r\n`
  const { status, ms } = await drip('/mcp', token, CALL)
  expect(status).toBe(200)
  expect(ms).toBeGreaterThan(3_000)
})
