/** The command `toolgate demo` where every response of the backend takes so long that the gateway opens an event stream. */
import { spawn } from 'node:child_process'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { built } from '../fixtures/built.ts'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { type SlowShop, startSlowShop } from '../fixtures/slow-shop.ts'

/** More than the gateway waits before it opens a stream. */
const DELAY_MS = 600

let shop: SlowShop
let gateway: Deployment
beforeAll(async () => {
  shop = await startSlowShop(DELAY_MS)
  gateway = await deploy({ TOOLSETS: shop.toolSets })
  shop.target = gateway.running.embedded.exampleUrl!
})
afterAll(async () => {
  await gateway?.stop()
  await shop?.close()
})

it('ends with 0, and shows the response that came on the event stream', async () => {
  const args = ['demo', '--json', '--url', gateway.url, '--auth-url', gateway.running.addresses.auth_url!]
  const child = spawn(process.execPath, [built('cli/index.js'), ...args])
  let out = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      out += chunk
    })
  const code = await new Promise<number | null>(resolve => child.once('close', resolve))
  expect(code, out).toBe(0)
  const steps = out.trim().split('\n')
  const call = JSON.parse(steps.find(line => line.includes('"call-jsonrpc"'))!)
  const { response } = call.exchanges.at(-1)
  expect(response.headers['content-type']).toMatch(/^text\/event-stream/)
  expect(response.body).toMatchObject({ jsonrpc: '2.0', id: 1, result: { content: expect.any(Array) } })
})
