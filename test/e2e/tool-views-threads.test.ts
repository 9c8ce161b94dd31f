/** ToolViews where several threads serve: each has them, and each shows their status. */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
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
  for (let at = 0; at < 8; at++) {
    const listed = await fresh(`${gateway.url}/mcp/v1/tools`, { method: 'POST', token, body: {} })
    expect(JSON.parse(listed.text).tools.map(({ name }: { name: string }) => name)).toEqual(['product'])
    const shown = await fresh(`${gateway.url}/admin/toolsets`, { method: 'GET', token })
    const { toolsets, views } = JSON.parse(shown.text)
    expect(toolsets[0]).toMatchObject({ name: 'shop', status: { phase: 'Ready' } })
    expect(views).toMatchObject([{ name: 'one', tools: 1, status: { phase: 'Ready' } }])
  }
})
