/** ToolViews where several threads serve: each has them, and each shows their status. */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { fresh } from '../fixtures/fresh-connection.ts'

const root = mkdtempSync(join(tmpdir(), 'view-threads-'))
const VIEW = `
apiVersion: toolgate.dev/v1alpha1
kind: ToolView
metadata: { name: one, namespace: tenant-acme }
spec:
  select: { tools: [shop_getProduct] }
  tools: [{ tool: shop_getProduct, name: product }]
  bindings: [{ role: cpi-admin }]
`

let gateway: Deployment
let token: string
beforeAll(async () => {
  cpSync('toolsets', join(root, 'toolsets'), { recursive: true })
  writeFileSync(join(root, 'toolsets/view.yaml'), VIEW)
  gateway = await deploy({ TOOLSETS: join(root, 'toolsets'), WORKERS: '2', RATE_LIMIT_PER_MIN: '1000' })
  token = await gateway.token('demo-admin')
}, 120_000)
afterAll(async () => {
  await gateway?.stop()
  rmSync(root, { recursive: true, force: true })
})

it('are the same on every thread', async () => {
  const threads = new Set<number>()
  for (let at = 0; threads.size < 2; at++) {
    // the kernel chooses a thread for each connection
    expect(at, `connections, all of them to thread ${[...threads]}`).toBeLessThan(60)
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const headers = { 'x-request-id': `list-${at}` }
    const asked = { method: 'POST', token, body: {}, headers, agent }
    const listed = await fresh(`${gateway.url}/mcp/v1/tools`, asked)
    expect(JSON.parse(listed.text).tools.map(({ name }: { name: string }) => name)).toEqual(['product'])
    const shown = await fresh(`${gateway.url}/admin/toolsets`, { method: 'GET', token, agent })
    const { toolsets, views } = JSON.parse(shown.text)
    expect(toolsets[0]).toMatchObject({ name: 'shop', status: { phase: 'Ready' } })
    expect(views).toMatchObject([{ name: 'one', tools: 1, status: { phase: 'Ready' } }])
    agent.destroy()
    const { json } = await fresh(`${gateway.url}/admin/calls?request_id=list-${at}`, { token })
    threads.add(json.calls[0].worker)
  }
})
