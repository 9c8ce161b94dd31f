/** What a model reads of backend responses and of the tool list over MCP: header fields, failures, bounds, files. The backend sends fixed bytes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy } from '../fixtures/deployment.ts'

const http = (status: string, headers: string, body = '') =>
  `HTTP/1.1 ${status}\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
const JSON_TYPE = 'Content-Type: application/json\r\n'
const ITEMS = JSON.stringify({
  total: 3000,
  items: Array.from({ length: 3000 }, (_, id) => ({ id, name: `item, "${id}" [` })),
})

/** Name of the operation → the bytes of its response; undefined: the connection is reset. */
const RESPONSES: { readonly [name: string]: string | undefined } = {
  created: http('201 Created', `${JSON_TYPE}Location: /orders/7\r\n`, '{"id":7}'),
  accepted: http('202 Accepted', 'Location: https://api.test/jobs/1\r\nRetry-After: 30\r\n'),
  unnamed: http('202 Accepted', ''),
  moved: http('302 Found', 'Location: https://elsewhere.test/x\r\n'),
  paged: http('200 OK', `${JSON_TYPE}Link: <https://api.test/items?page=2,a>; rel="next"\r\n`, '[1]'),
  truncated: `HTTP/1.1 200 OK\r\n${JSON_TYPE}Content-Length: 100\r\n\r\n{"a":`,
  reset: undefined,
  oversized: http('200 OK', 'Content-Type: text/plain\r\n', 'x'.repeat(300_000)),
  long: http('200 OK', JSON_TYPE, ITEMS),
  whole: http('200 OK', JSON_TYPE, ITEMS),
  page: http(
    '503 Service Unavailable',
    'Content-Type: text/html\r\n',
    `<!DOCTYPE html><html><head><title>Down for\n maintenance</title></head>${'<p>x</p>'.repeat(900)}</html>`,
  ),
  file: http('200 OK', `Content-Type: application/pdf\r\n`, 'p'.repeat(20_000)),
  linked: http(
    '200 OK',
    `Content-Type: application/pdf\r\nContent-Location: https://files.test/1.pdf\r\n`,
    'p'.repeat(20_000),
  ),
  image: http('200 OK', 'Content-Type: image/png\r\n', 'png'),
  many: http(
    '200 OK',
    'Content-Type: multipart/mixed; boundary=b\r\n',
    `${'--b\r\nContent-Type: application/pdf\r\n\r\n'.concat('p'.repeat(2_000), '\r\n').repeat(60)}--b--\r\n`,
  ),
  fits: http('200 OK', JSON_TYPE, '{"id":1,"more":true}'),
  drifted: http('200 OK', JSON_TYPE, '{"id":"one"}'),
  textual: http('200 OK', 'Content-Type: text/plain\r\n', 'plain'),
}
const STRUCTURED = ['fits', 'drifted', 'textual']

const backend = createServer(socket => {
  socket.on('error', () => {})
  socket.once('data', bytes => {
    const name = /^GET \/(\w+)/.exec(bytes.toString('latin1'))?.[1] ?? ''
    const response = RESPONSES[name]
    if (response === undefined) socket.resetAndDestroy()
    else socket.end(response)
  })
})
const toolSets = mkdtempSync(join(tmpdir(), 'results-'))
let gateway: Deployment
let token: string

function toolSet(name: string, operations: readonly string[], toolDefaults: object): void {
  const schema = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] }
  const responses = { 200: { description: 'ok', content: { 'application/json': { schema } } } }
  const parameters = [{ name: 'page', in: 'query', schema: { type: 'integer' } }]
  const paths = operations.map(id => [`/${id}`, { get: { operationId: id, parameters, responses } }])
  const url = `http://127.0.0.1:${(backend.address() as AddressInfo).port}`
  const document = {
    openapi: '3.0.3',
    info: { title: name, version: '1' },
    servers: [{ url }],
    paths: Object.fromEntries(paths),
  }
  const spec = {
    displayName: name,
    openAPISpec: { inline: JSON.stringify(document) },
    toolDefaults: { authentication: { type: 'none' }, ...toolDefaults },
  }
  const resource = {
    apiVersion: 'toolgate.dev/v1alpha1',
    kind: 'ToolSet',
    metadata: { name, namespace: 'platform' },
    spec,
  }
  writeFileSync(join(toolSets, `${name}.json`), JSON.stringify(resource))
}

beforeAll(async () => {
  await new Promise<void>(resolve => backend.listen(0, '127.0.0.1', resolve))
  const plain = Object.keys(RESPONSES).filter(name => name !== 'whole' && !STRUCTURED.includes(name))
  toolSet('plain', plain, {})
  toolSet('structured', STRUCTURED, { outputSchema: true })
  toolSet('larger', ['whole'], { maxResultKiB: 200 })
  gateway = await deploy({ TOOLSETS: toolSets, RESULT_MAX: '8KiB', BACKEND_RESPONSE_MAX: '256KiB' })
  token = await gateway.token('demo-admin')
})
afterAll(async () => {
  await gateway?.stop()
  rmSync(toolSets, { recursive: true, force: true })
  backend.close()
})

async function rpc(method: string, params: object, headers: Record<string, string> = {}) {
  const message = { jsonrpc: '2.0', id: 1, method, params }
  const response = await gateway.post('/mcp', message, token, headers)
  expect(response.json.error, response.text).toBeUndefined()
  return response.json.result
}

const call = (name: string) => rpc('tools/call', { name, arguments: {} })
const modern = (method: string, params: object, name?: string) =>
  rpc(
    method,
    {
      ...params,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
    {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(name === undefined ? {} : { 'mcp-name': name }),
    },
  )
const textOf = (result: { content: { text?: string }[] }): string =>
  result.content.map(part => part.text ?? '').join('\n')

describe('header fields of a backend response', () => {
  it.each([
    ['created', false, /\{"id":7\}\nCreated at \/orders\/7/, { status: 201, location: '/orders/7' }],
    [
      'accepted',
      false,
      /result will be at https:\/\/api\.test\/jobs\/1\nWait 30 s/,
      { status: 202, location: 'https://api.test/jobs/1', retryAfter: '30' },
    ],
    ['unnamed', false, /does not contain the address of the result/, { status: 202 }],
    [
      'moved',
      true,
      /redirects to https:\/\/elsewhere\.test\/x/,
      { status: 302, location: 'https://elsewhere.test/x' },
    ],
    [
      'paged',
      false,
      /\[1\]\nLinks: next https:\/\/api\.test\/items\?page=2,a/,
      { status: 200, links: [{ rel: 'next', uri: 'https://api.test/items?page=2,a' }] },
    ],
  ])('%s: a sentence, and data in _meta', async (name, isError, sentence, meta) => {
    const result = await call(name)
    expect(result.isError).toBe(isError)
    expect(textOf(result)).toMatch(sentence)
    expect(result._meta).toEqual({ 'toolgate.dev/backend': meta })
  })

  it('stand beside the server info in the stateless version', async () => {
    const result = await modern('tools/call', { name: 'created', arguments: {} }, 'created')
    expect(Object.keys(result._meta).sort()).toEqual([
      'io.modelcontextprotocol/serverInfo',
      'toolgate.dev/backend',
    ])
  })
})

describe('failures', () => {
  it.each([
    ['truncated', 'truncated', /before its response was complete/],
    ['reset', 'reset', /without a response/],
    ['oversized', 'too_large', /larger than 262144 bytes.*BACKEND_RESPONSE_MAX/],
  ])('%s has its reason and sentence', async (name, failure, sentence) => {
    const result = await call(name)
    expect(result).toMatchObject({ isError: true, _meta: { 'toolgate.dev/backend': { failure } } })
    expect(textOf(result)).toMatch(sentence)
  })

  it('a page of HTML is one sentence', async () => {
    expect(textOf(await call('page'))).toBe(
      'The backend responded with status 503 and an HTML page titled "Down for maintenance".',
    )
  })
})

describe('bounds', () => {
  it('a long result stays JSON, and says what is left out and how to get it', async () => {
    const { content } = await call('long')
    expect(content).toHaveLength(2)
    expect(content[0].text.length).toBeLessThanOrEqual(8192)
    const shown = JSON.parse(content[0].text)
    expect(shown.total).toBe(3000)
    expect(shown.items.length).toBeGreaterThan(100)
    expect(content[1].text).toMatch(
      /^\[Left out: the last \d+ of \d+ characters\..*arguments page.*X-Token-Optimization/,
    )
  })

  it('a tool set has its bound, and REST callers get all of it', async () => {
    expect((await call('whole')).content).toEqual([{ type: 'text', text: ITEMS }])
    const response = await gateway.post('/mcp/tools/call', { name: 'long', arguments: {} }, token)
    expect(response.json.content).toEqual([{ type: 'text', text: ITEMS }])
  })

  it('a file is a link where the backend names its address, else a sentence; an image is an image', async () => {
    expect((await modern('tools/call', { name: 'linked', arguments: {} }, 'linked')).content).toEqual([
      {
        type: 'resource_link',
        uri: 'https://files.test/1.pdf',
        name: 'response',
        size: 20_000,
        mimeType: 'application/pdf',
      },
    ])
    expect(textOf(await call('file'))).toMatch(/^\[Left out: 20000 bytes of application\/pdf\./)
    expect((await call('image')).content).toEqual([{ type: 'image', data: 'cG5n', mimeType: 'image/png' }])
  })
})

describe('structured content', () => {
  it('many files are bounded together, as texts are', async () => {
    const { content } = await call('many')
    const files = content.filter((part: { type: string }) => part.type === 'resource')
    expect(files.length).toBeGreaterThan(0)
    expect(JSON.stringify(files).length).toBeLessThan(10 * 1024)
    expect(JSON.stringify(content).length).toBeLessThan(16 * 1024)
    expect(content.at(-1).text).toMatch(/^\[Left out: further parts of the result \(\d+\)\.\]$/)
  })

  it('matches the outputSchema that is listed, or is an error with the text', async () => {
    const { tools } = await modern('tools/list', {})
    const listed = tools.find(({ name }: { name: string }) => name === 'fits')
    expect(listed.outputSchema).toMatchObject({ type: 'object', required: ['id'] })
    const inModern = (name: string) => modern('tools/call', { name, arguments: {} }, name)
    expect(await inModern('fits')).toMatchObject({ isError: false, structuredContent: { id: 1, more: true } })
    for (const [name, reason] of [
      ['drifted', /does not match the outputSchema of the tool: \/id .*\n\{"id":"one"\}/],
      ['textual', /is not JSON.*\nplain/],
    ] as const) {
      const result = await inModern(name)
      expect(result).toMatchObject({ isError: true })
      expect(result.structuredContent).toBeUndefined()
      expect(textOf(result)).toMatch(reason)
    }
  })
})

describe('the list', () => {
  it('holds only hints that differ from the defaults, and no keyword that adds nothing', async () => {
    const { tools } = await modern('tools/list', {})
    const { name, annotations, inputSchema } = tools.find((tool: { name: string }) => tool.name === 'long')
    expect({ name, annotations, inputSchema }).toEqual({
      name: 'long',
      annotations: { readOnlyHint: true },
      inputSchema: { type: 'object', properties: { page: { type: 'integer' } } },
    })
  })
})
