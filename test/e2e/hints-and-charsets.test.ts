/** What a client is shown of an operation and of its response: hints that follow the method, and text in the charset that the backend names. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Deployment, deploy, rpc } from '../fixtures/deployment.ts'

/** The same three characters, in bytes and as the backend names them. */
const RESPONSES: { readonly [charset: string]: Buffer } = {
  'utf-8': Buffer.from('é€ü'),
  'windows-1252': Buffer.from([0xe9, 0x80, 0xfc]),
  '"iso-8859-15"': Buffer.from([0xe9, 0xa4, 0xfc]),
  'utf-16le': Buffer.from('é€ü', 'utf16le'),
}
const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const

let backend: Server
let toolSets: string
let gateway: Deployment
let token: string
beforeAll(async () => {
  backend = createServer((request, response) => {
    const charset = decodeURIComponent(request.url!.slice('/'.length))
    response.writeHead(200, { 'content-type': `text/plain; charset=${charset}` }).end(RESPONSES[charset])
  })
  await new Promise<void>(resolve => backend.listen(0, '127.0.0.1', resolve))
  toolSets = mkdtempSync(join(tmpdir(), 'hints-'))
  const baseURL = `http://127.0.0.1:${(backend.address() as AddressInfo).port}`
  writeFileSync(join(toolSets, 'texts.json'), JSON.stringify(toolSet(baseURL)))
  gateway = await deploy({ TOOLSETS: toolSets, EXAMPLE: 'false' })
  token = await gateway.token('demo-admin')
}, 120_000)
afterAll(async () => {
  await gateway?.stop()
  backend.closeAllConnections()
  backend.close()
  rmSync(toolSets, { recursive: true, force: true })
})

function toolSet(baseURL: string): object {
  const charset = { name: 'charset', in: 'path', required: true, schema: { type: 'string' } }
  const operation = (method: string): object => ({
    operationId: `text_${method}`,
    parameters: [charset],
    responses: { 200: { description: 'A text.' } },
  })
  const operations = Object.fromEntries(METHODS.map(method => [method, operation(method)]))
  const document = {
    openapi: '3.1.0',
    info: { title: 'Texts', version: '1' },
    paths: { '/{charset}': operations },
  }
  return {
    apiVersion: 'toolgate.dev/v1alpha1',
    kind: 'ToolSet',
    metadata: { name: 'texts', namespace: 'tenant-acme' },
    spec: { displayName: 'Texts', baseURL, openAPISpec: { inline: JSON.stringify(document) } },
  }
}

it('only a read is marked as one; DELETE, PUT and PATCH are destructive, and POST is left open', async () => {
  const { tools } = (await gateway.post('/mcp', rpc('tools/list'), token)).json.result
  const hints = Object.fromEntries(
    // biome-ignore lint/suspicious/noExplicitAny: a tool as it is listed
    tools.map(({ name, annotations }: any) => [
      name,
      [annotations?.readOnlyHint, annotations?.destructiveHint],
    ]),
  )
  expect(hints).toEqual({
    // what only reads cannot destroy, so that hint is not listed
    text_get: [true, undefined],
    text_post: [undefined, undefined],
    text_put: [undefined, true],
    text_patch: [undefined, true],
    text_delete: [undefined, true],
  })
})

it.each(Object.keys(RESPONSES))('a text in %s has its characters', async charset => {
  const params = { name: 'text_get', arguments: { charset } }
  const { result } = (await gateway.post('/mcp', rpc('tools/call', params), token)).json
  expect(result.content).toEqual([{ type: 'text', text: 'é€ü' }])
})
