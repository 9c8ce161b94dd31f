/** `spec.upstream` of ToolSets through a running gateway: calls of tools share connections to their backends as the author chose. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Http2Backend, http2Backend } from '../contract/egress/http2-backend.ts'
import { type CountingBackend, countingBackend } from '../fixtures/counting-backend.ts'
import { type Deployment, deploy } from '../fixtures/deployment.ts'

const CALLS = 40
const toolSets = mkdtempSync(join(tmpdir(), 'connections-'))
let http1: CountingBackend
let http2: Http2Backend
let gateway: Deployment
let token: string

function toolSet(name: string, url: string, upstream: object): void {
  const parameters = [{ name: 'page', in: 'query', schema: { type: 'integer' } }]
  const responses = { 200: { description: 'ok' } }
  const document = {
    openapi: '3.0.3',
    info: { title: name, version: '1' },
    servers: [{ url }],
    paths: { '/a': { get: { operationId: name, parameters, responses } } },
  }
  const resource = {
    apiVersion: 'toolgate.dev/v1alpha1',
    kind: 'ToolSet',
    metadata: { name, namespace: 'platform' },
    spec: { displayName: name, openAPISpec: { inline: JSON.stringify(document) }, upstream },
  }
  writeFileSync(join(toolSets, `${name}.json`), JSON.stringify(resource))
}

beforeAll(async () => {
  http1 = await countingBackend(request => `text of ${request.url}`)
  http2 = await http2Backend({ isTls: false, maxStreams: 100 }, (stream, path) => {
    stream.respond({ ':status': 200, 'content-type': 'text/plain' })
    stream.end(`text of ${path}`)
  })
  toolSet('ordinary', http1.url, {})
  toolSet('multiplexed', http2.url, { http2: true })
  toolSet('mistaken', http1.url, { http2: true })
  gateway = await deploy({ TOOLSETS: toolSets })
  token = await gateway.token('demo-admin')
})
afterAll(async () => {
  await gateway?.stop()
  rmSync(toolSets, { recursive: true, force: true })
  http1?.close()
  await http2.close()
})

async function call(name: string, page: number): Promise<string> {
  const params = { name, arguments: { page } }
  const { json } = await gateway.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, token)
  return json.result?.content[0].text ?? JSON.stringify(json)
}
const pages = Array.from({ length: CALLS }, (_, page) => page)
const callAll = (name: string) => Promise.all(pages.map(page => call(name, page)))
const expected = pages.map(page => `text of /a?page=${page}`)

it('has one request in flight on each connection without it', async () => {
  expect(await callAll('ordinary')).toEqual(expected)
  expect(http1.maxInFlight).toBe(1)
})

it('has streams of one connection with http2', async () => {
  expect(await callAll('multiplexed')).toEqual(expected)
  expect(http2.connections()).toBe(1)
  expect(http2.requests.length).toBe(CALLS)
})

it('fails clearly where the backend has no HTTP/2', async () => {
  expect(await call('mistaken', 1)).toMatch(/backend/i)
})
