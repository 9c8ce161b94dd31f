/** `x-mcp-resources` and `x-mcp-prompts` of an OpenAPI document on the wire: GET operations read as resources, prompts, completion; by the same rules as calls. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy, type ReadResponse, rpc } from '../fixtures/deployment.ts'

const KEY = 'io.modelcontextprotocol'
const MODERN = '2026-07-28'
const NOT_FOUND = { '2025-11-25': -32002, [MODERN]: -32602 }

const PRODUCTS = `
apiVersion: toolgate.dev/v1alpha1
kind: ToolSet
metadata: { name: products, namespace: tenant-acme }
spec:
  displayName: Products
  baseURL: \${EXAMPLE_URL}
  openAPISpec:
    inline: |
      openapi: 3.1.0
      info: { title: Products, version: '1' }
      x-mcp-resources:
        - operation: getProduct
          uri: shop://products/{productId}
          title: One product
        - operation: GET /products
          uri: shop://products
          name: products
          description: The first products.
          annotations: { audience: [user], priority: 0.5 }
        - operation: listSome
          uri: shop://kinds/{kind}/{limit}
        - { operation: deleteProduct, uri: 'shop://gone/{productId}' }
        - { operation: getProduct, uri: 'shop://without-variable' }
        - { operation: nothing, uri: 'shop://nothing' }
      x-mcp-prompts:
        - name: compare
          title: Compare two products
          description: Asks for a comparison.
          arguments:
            - { name: first, required: true }
            - { name: second, required: true }
            - { name: tone, enum: [short, detailed, dry] }
          messages:
            - text: 'Compare {{first}} with {{ second }}. Be {{tone}}.'
            - { role: assistant, content: { type: text, text: 'I read both first.' } }
        - { name: broken, messages: [{ text: 'Of {{third}}' }] }
      paths:
        /products:
          get:
            operationId: listProducts
            summary: Lists products
            responses: { '200': { description: ok, content: { application/json: {} } } }
        /products/{productId}:
          parameters: [{ name: productId, in: path, required: true, schema: { type: string } }]
          get:
            operationId: getProduct
            summary: Shows a product
            responses: { '200': { description: ok, content: { application/json: {} } } }
          delete:
            operationId: deleteProduct
            responses: { '204': { description: ok } }
        /products#some:
          get:
            operationId: listSome
            summary: Lists products of a kind
            parameters:
              - { name: kind, in: query, schema: { type: string, enum: [coffee, tea, cocoa] } }
              - { name: limit, in: query, required: true, schema: { type: integer, minimum: 1, maximum: 5 } }
            responses: { '200': { description: ok, content: { application/json: {} } } }
`

const toolsets = join(mkdtempSync(join(tmpdir(), 'features-')), 'toolsets')
let gateway: Deployment
let admin: string
beforeAll(async () => {
  mkdirSync(toolsets)
  writeFileSync(join(toolsets, 'products.yaml'), PRODUCTS)
  gateway = await deploy({ TOOLSETS: toolsets })
  admin = await gateway.token('demo-admin')
})
afterAll(async () => {
  await gateway.stop()
  rmSync(toolsets, { recursive: true, force: true })
})

type Json = ReadResponse['json']
type Send = (method: string, params?: object, token?: string) => Promise<Json>

const legacy: Send = async (method, params = {}, token = admin) =>
  (await gateway.post('/mcp', rpc(method, params), token, { 'mcp-protocol-version': '2025-11-25' })).json
const modern: Send = async (method, params = {}, token = admin) => {
  const _meta = { [`${KEY}/protocolVersion`]: MODERN, [`${KEY}/clientCapabilities`]: {} }
  const { name, uri } = params as { name?: string; uri?: string }
  const mirrored = uri ?? (method === 'prompts/get' ? name : undefined)
  const headers = { 'mcp-protocol-version': MODERN, 'mcp-method': method }
  const response = await gateway.post('/mcp', rpc(method, { ...params, _meta }), token, {
    ...headers,
    ...(mirrored === undefined ? {} : { 'mcp-name': mirrored }),
  })
  return response.json
}

describe.each([
  ['2025-11-25', legacy],
  [MODERN, modern],
] as const)('a document with x-mcp-resources and x-mcp-prompts in %s', (version, send) => {
  it('lists resources, templates and prompts', async () => {
    expect((await send('resources/list')).result.resources).toEqual([
      {
        uri: 'shop://products',
        name: 'products',
        title: 'Lists products',
        description: 'The first products.',
        mimeType: 'application/json',
        annotations: { audience: ['user'], priority: 0.5 },
      },
    ])
    const { resourceTemplates } = (await send('resources/templates/list')).result
    expect(resourceTemplates.map(({ uriTemplate }: { uriTemplate: string }) => uriTemplate)).toEqual([
      'shop://kinds/{kind}/{limit}',
      'shop://products/{productId}',
    ])
    expect(resourceTemplates[1]).toMatchObject({ title: 'One product', name: 'getProduct' })
    expect((await send('prompts/list')).result.prompts).toEqual([
      {
        name: 'compare',
        title: 'Compare two products',
        description: 'Asks for a comparison.',
        arguments: [{ name: 'first', required: true }, { name: 'second', required: true }, { name: 'tone' }],
      },
    ])
  })

  it('reads a resource and a template from the backend', async () => {
    const { contents } = (await send('resources/read', { uri: 'shop://products/P-1008' })).result
    expect(contents).toHaveLength(1)
    expect(contents[0]).toMatchObject({ uri: 'shop://products/P-1008', mimeType: 'application/json' })
    const called = await legacy('tools/call', { name: 'getProduct', arguments: { productId: 'P-1008' } })
    expect(contents[0].text).toBe(called.result.content[0].text)
    const all = await send('resources/read', { uri: 'shop://products' })
    expect(all.result.contents[0].text).toContain('P-1008')
  })

  it('says when there is none, in the words of the version', async () => {
    for (const uri of ['shop://products/P-0', 'shop://other/1'])
      expect((await send('resources/read', { uri })).error.code).toBe(NOT_FOUND[version])
    const invalid = await send('resources/read', { uri: 'shop://kinds/wine/3' })
    expect(JSON.stringify(invalid.error)).toContain('/kind')
    const many = await send('resources/read', { uri: 'shop://kinds/tea/9' })
    expect(JSON.stringify(many.error)).toContain('/limit')
    expect((await send('resources/read', { uri: 'shop://products/..' })).error).toBeDefined()
  })

  it('fills a prompt in, once', async () => {
    const args = { first: '{{second}}', second: 'P-1009' }
    const { result } = await send('prompts/get', { name: 'compare', arguments: args })
    expect(result).toMatchObject({
      description: 'Asks for a comparison.',
      messages: [
        { role: 'user', content: { type: 'text', text: 'Compare {{second}} with P-1009. Be .' } },
        { role: 'assistant', content: { type: 'text', text: 'I read both first.' } },
      ],
    })
    const missing = await send('prompts/get', { name: 'compare', arguments: { first: 'a' } })
    expect(missing.error.code).toBe(-32602)
  })

  it('completes variables and arguments with an enum', async () => {
    const template = { type: 'ref/resource', uri: 'shop://kinds/{kind}/{limit}' }
    const kinds = await send('completion/complete', {
      ref: template,
      argument: { name: 'kind', value: 'co' },
    })
    expect(kinds.result.completion).toEqual({ values: ['coffee', 'cocoa'], total: 2, hasMore: false })
    const prompt = { type: 'ref/prompt', name: 'compare' }
    const tones = await send('completion/complete', { ref: prompt, argument: { name: 'tone', value: 'D' } })
    expect(tones.result.completion.values).toEqual(['detailed', 'dry'])
    const none = await send('completion/complete', { ref: template, argument: { name: 'limit', value: '' } })
    expect(none.result.completion.values).toEqual([])
  })
})

it('declares completion, and reports entries that cannot be served', async () => {
  const initialized = await legacy('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 't', version: '1' },
  })
  expect(initialized.result.capabilities).toMatchObject({ completions: {}, prompts: { listChanged: true } })
  const response = await fetch(`${gateway.url}/admin/toolsets`, {
    headers: { authorization: `Bearer ${admin}` },
  })
  const status = JSON.stringify(await response.json())
  for (const reason of [
    'x-mcp-resources[3]: the operation \\\\\\"deleteProduct\\\\\\" is not a GET operation',
    'x-mcp-resources[4]: the field \\\\\\"uri\\\\\\" has no variable for these required parameters of the operation: productId',
    'x-mcp-resources[5]: the document has no operation \\\\\\"nothing\\\\\\"',
    'x-mcp-prompts[1]: messages[0] contains {{third}}, which is not an argument of the prompt',
  ])
    expect(status).toContain(reason.replaceAll('\\\\\\"', '\\"'))
})

it('asks the policy and records the call under the name of the resource', async () => {
  const before = await gateway.post('/mcp', rpc('resources/read', { uri: 'shop://products' }), admin)
  expect(before.headers.get('x-policy-revision')).toBeTruthy()
  const response = await fetch(
    `${gateway.url}/admin/calls?consumer=demo-admin&limit=1&action=resources.read`,
    {
      headers: { authorization: `Bearer ${admin}` },
    },
  )
  const { calls } = (await response.json()) as Json
  expect(calls[0]).toMatchObject({ tool: 'resource:shop://products', outcome: 'success' })
})
