/** A caller reads which of the faults a backend has: each has a text and a name that no other has, and none names the backend's address. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { rawBackend, type TestBackend } from '../contract/egress/backend.ts'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { toolSetResource } from '../unit/catalog/deployment.ts'

const head = (...fields: string[]) => ['HTTP/1.1 200 OK', ...fields, '', ''].join('\r\n')
const FAULTS: { readonly [failure: string]: (socket: Socket) => void } = {
  protocol: socket => socket.end('SSH-2.0-OpenSSH_9.6\r\n\r\n'),
  encoding: socket => socket.end(`${head('Content-Length: 9', 'Content-Encoding: gzip')}not gzip.`),
  truncated: socket => socket.end(`${head('Content-Length: 9')}not`),
  reset: socket => socket.destroy(),
}

let backend: TestBackend
let toolSets: string
let gateway: Deployment
let token: string
beforeAll(async () => {
  backend = await rawBackend((socket, received) => FAULTS[/^POST \/(\w+)/.exec(received)![1]!]!(socket))
  toolSets = mkdtempSync(join(tmpdir(), 'faults-'))
  const operations = Object.keys(FAULTS).map(operationId => [
    `/${operationId}`,
    { post: { operationId, responses: { 200: { description: 'A text.' } } } },
  ])
  const document = {
    openapi: '3.1.0',
    info: { title: 'Faults', version: '1' },
    paths: Object.fromEntries(operations),
  }
  const spec = { baseURL: backend.url, openAPISpec: { inline: JSON.stringify(document) } }
  writeFileSync(join(toolSets, 'faults.json'), JSON.stringify(toolSetResource('faults', spec)))
  gateway = await deploy({ TOOLSETS: toolSets, EXAMPLE: 'false' })
  token = await gateway.token('demo-admin')
}, 120_000)
afterAll(async () => {
  await gateway?.stop()
  await backend?.close()
  rmSync(toolSets, { recursive: true, force: true })
})

it('each fault has a name and a text', async () => {
  const texts = new Set<string>()
  for (const failure of Object.keys(FAULTS)) {
    const { json } = await gateway.post('/mcp/v1/tools/invoke', { name: failure }, token)
    expect(json).toMatchObject({ isError: true, _meta: { 'toolgate.dev/backend': { failure } } })
    texts.add(json.content[0].text)
    expect(JSON.stringify(json)).not.toContain('127.0.0.1')
  }
  expect(texts.size).toBe(Object.keys(FAULTS).length)
})
