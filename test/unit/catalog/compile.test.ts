/** Documents compiled to tools: what is selected, described, limited and skipped, with servers, authentication and outputs. */
import { describe, expect, it } from 'vitest'
import { compileToolSet } from '../../../src/catalog/compile/compile-tool-set.ts'
import { DocumentError } from '../../../src/catalog/compile/document.ts'
import { DEFAULT_TOOL_DEFAULTS } from '../../../src/model/tool-set.ts'
import { compile, onlyTool, openapi, toolSet, withBody, withParameters } from './build.ts'

describe('a document', () => {
  it.each([
    ['text', 'hello', /is a string/],
    ['a list', [], /is a list/],
    ['no version', { paths: {} }, /neither the field "openapi" nor the field "swagger"/],
    ['an unknown version', { openapi: '4.0.0' }, /4\.0\.0/],
    ['paths that are none', { openapi: '3.0.0', paths: [] }, /paths is a list/],
  ])('that is %s is refused with the reason', (_, document, message) => {
    expect(() => compile(document)).toThrow(DocumentError)
    expect(() => compile(document)).toThrow(message)
  })

  it('is never changed', () => {
    const document = withBody({ type: 'object', properties: { a: { type: 'string', readOnly: true } } })
    const before = JSON.stringify(document)
    compile(document)
    expect(JSON.stringify(document)).toBe(before)
  })

  it('loses only the operation that is wrong, with the reason', () => {
    const { tools, skipped } = compile(
      openapi({
        '/good': { get: { operationId: 'good' } },
        '/bad': {
          get: 7,
          post: { operationId: 'broken', parameters: [{ $ref: '#/components/parameters/Gone' }] },
        },
        '/trace': { trace: { operationId: 'traced' } },
      }),
    )
    expect(tools.map(tool => tool.name)).toEqual(['good'])
    expect(skipped.map(entry => entry.operation).sort()).toEqual(['GET /bad', 'broken', 'traced'])
    expect(skipped.find(entry => entry.operation === 'broken')?.reason).toContain(
      '#/components/parameters/Gone',
    )
  })
})

describe('an input schema that no gateway could check in time', () => {
  const limits = [
    ['keywords and values', { enum: Array.from({ length: 9_999 }, (_, at) => at) }],
    ['characters', { type: 'string', enum: ['x'.repeat(60_000)] }],
  ] as const

  it.each(limits)('has too many %s: the operation is skipped with the fix', (what, schema) => {
    const names = what === 'characters' ? ['a', 'b', 'c', 'd', 'e', 'f'] : ['a', 'b']
    const properties = Object.fromEntries(names.map(name => [name, schema]))
    const { tools, skipped } = compile(
      openapi({
        '/good': { get: { operationId: 'good' } },
        '/large': {
          post: {
            operationId: 'large',
            requestBody: { content: { 'application/json': { schema: { type: 'object', properties } } } },
          },
        },
      }),
    )
    expect(tools.map(tool => tool.name)).toEqual(['good'])
    expect(skipped[0]?.reason).toMatch(new RegExp(`output schema has \\d+ ${what}.*split the operation`))
  })
})

describe('the selector', () => {
  const document = openapi({
    '/a/x': {
      get: { operationId: 'getX', tags: ['one'] },
      post: { operationId: 'postX', tags: ['one', 'two'] },
    },
    '/b': { delete: { operationId: 'deleteB', tags: ['two'] }, get: { operationId: 'getB' } },
  })
  const names = (selector: object) => compile(document, { selector }).tools.map(tool => tool.name)

  it.each([
    ['tags', { tags: ['one'] }, ['getX', 'postX']],
    ['excludeTags', { excludeTags: ['two'] }, ['getX', 'getB']],
    ['methods', { methods: ['GET'] }, ['getX', 'getB']],
    ['pathPrefix', { pathPrefix: '/a/' }, ['getX', 'postX']],
    ['operationIds', { operationIds: ['getB'] }, ['getB']],
    [
      'all at once',
      { tags: ['one'], excludeTags: ['two'], methods: ['GET', 'POST'], pathPrefix: '/a' },
      ['getX'],
    ],
    ['nothing', {}, ['getX', 'postX', 'getB', 'deleteB']],
  ])('by %s', (_, selector, expected) => {
    expect(names(selector)).toEqual(expected)
  })
})

describe('a tool', () => {
  it.each([
    ['GET', { readOnlyHint: true, destructiveHint: false, idempotentHint: true }],
    ['HEAD', { readOnlyHint: true, destructiveHint: false, idempotentHint: true }],
    ['PUT', { readOnlyHint: false, destructiveHint: true, idempotentHint: true }],
    ['DELETE', { readOnlyHint: false, destructiveHint: true, idempotentHint: true }],
    ['POST', { readOnlyHint: false, idempotentHint: false }],
    ['PATCH', { readOnlyHint: false, destructiveHint: true, idempotentHint: false }],
  ])('of %s has its annotations', (method, hints) => {
    const tool = onlyTool(openapi({ '/a': { [method.toLowerCase()]: { summary: 'Do it' } } }))
    expect(tool.annotations).toEqual({ title: 'Do it', ...hints, openWorldHint: true })
    // the scope `write` goes with DELETE alone
    expect(tool.destructive).toBe(method === 'DELETE')
  })

  it('is described by summary and description, else by what it calls', () => {
    const describeWith = (operation: object) => onlyTool(openapi({ '/a': { get: operation } })).description
    expect(describeWith({ summary: 'Short.', description: 'Long.' })).toBe('Short.\n\nLong.')
    expect(describeWith({})).toBe('GET /a of Shop API')
    expect(describeWith({ summary: ' \u200b\u202e ' })).toBe('GET /a of Shop API')
    expect(describeWith({ deprecated: true, summary: 'Old.' })).toBe('Deprecated. Old.')
  })

  it('has no invisible characters in its description, and a bounded one', () => {
    const hidden = 'safe\u200b\u202e\u{e0041}\u0007 text'
    const tool = onlyTool(openapi({ '/a': { get: { description: `${hidden}${'x'.repeat(9000)}` } } }))
    expect(tool.description).toHaveLength(600)
    expect(tool.description.startsWith('safe text')).toBe(true)
    expect(tool.description.endsWith('…')).toBe(true)
  })

  it('carries the defaults of its tool-set', () => {
    const tool = onlyTool(openapi({ '/a': { get: { tags: ['t'] } } }), {
      toolDefaults: {
        ...DEFAULT_TOOL_DEFAULTS,
        tags: ['t', 'added'],
        timeoutMs: 1234,
        rateLimit: { requestsPerMinute: 60, burst: 5 },
        cache: { ttlMs: 1000 },
      },
    })
    expect(tool).toMatchObject({
      tags: ['t', 'added'],
      timeoutMs: 1234,
      rateLimit: { requestsPerMinute: 60, burst: 5 },
      cache: { ttlMs: 1000 },
      namespace: 'tenant-acme',
      tenant: 'acme',
    })
  })

  it('of namespace platform belongs to no tenant', () => {
    expect(onlyTool(openapi({ '/a': { get: {} } }), { namespace: 'platform' }).tenant).toBeNull()
  })
})

describe('the server', () => {
  const document = (servers: unknown[]) => openapi({ '/a': { get: {} } }, { servers })
  const base = (servers: unknown[], options = {}) => {
    const { baseURL: _, ...bare } = toolSet()
    return compileToolSet(document(servers), bare, options)
  }

  it('is spec.baseURL before anything else, without its trailing slash', () => {
    const tool = onlyTool(document([{ url: 'https://other.test' }]), { baseURL: 'https://mine.test/api/' })
    expect(tool.request.baseUrl).toBe('https://mine.test/api')
  })

  it('takes the defaults of its variables', () => {
    const server = {
      url: 'https://{region}.api.test/{v}',
      variables: { region: { default: 'eu' }, v: { default: 'v2' } },
    }
    expect(base([server]).tools[0]?.request.baseUrl).toBe('https://eu.api.test/v2')
  })

  it('is resolved against the address of the document', () => {
    const options = { documentUrl: 'https://api.test/docs/openapi.json' }
    expect(base([{ url: '/v3' }], options).tools[0]?.request.baseUrl).toBe('https://api.test/v3')
  })

  it('may be a Unix socket, in one spelling', () => {
    const socket = 'http+unix://%2frun%2F%73hop.sock/v1/'
    expect(base([{ url: socket }]).tools[0]?.request.baseUrl).toBe('http+unix://%2Frun%2Fshop.sock/v1')
    const tool = onlyTool(document([]), { baseURL: 'http+unix://%2Frun%2Fshop.sock' })
    expect(tool.request.baseUrl).toBe('http+unix://%2Frun%2Fshop.sock')
  })

  it.each([
    ['http+unix:///run/shop.sock'],
    ['http+unix://shop.sock'],
    ['http+unix://%2Frun%2F..%2Fshop.sock'],
    ['unix:///run/shop.sock'],
    ['ftp://files.test'],
    ['https://user:secret@api.test'],
    ['/relative'],
    ['https://{unknown}.test'],
  ])('%s is not a server: the operation is skipped with the fix', url => {
    const { tools, skipped } = base([{ url }])
    expect(tools).toEqual([])
    expect(skipped[0]?.reason).toContain('set spec.baseURL')
  })
})

describe('authentication', () => {
  const securitySchemes = { key: { type: 'apiKey', in: 'query', name: 'token' } }
  const parameters = [
    { name: 'token', in: 'query', schema: { type: 'string' } },
    { name: 'Authorization', in: 'header', schema: { type: 'string' } },
    { name: 'q', in: 'query', schema: { type: 'string' } },
  ]
  const document = withParameters('/a', parameters, {
    components: { securitySchemes },
    security: [{ key: [] }],
  })

  it('of type apiKey is placed as in the security scheme, and is not an argument', () => {
    const toolDefaults = { ...DEFAULT_TOOL_DEFAULTS, authentication: { type: 'apiKey' as const } }
    const { tools } = compileToolSet(document, toolSet({ toolDefaults }), { credential: { value: 's3cret' } })
    expect(tools[0]?.authentication).toEqual({
      type: 'apiKey',
      in: 'query',
      name: 'token',
      credential: 's3cret',
    })
    expect(Object.keys(tools[0]!.inputSchema.properties!)).toEqual(['q'])
  })

  it('of type none offers callers neither the key nor the Authorization header', () => {
    expect(Object.keys(onlyTool(document).inputSchema.properties!)).toEqual(['q'])
  })
})

describe('outputSchema', () => {
  const responses = {
    '200': { content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } } },
  }
  const components = {
    schemas: {
      Thing: {
        type: 'object',
        properties: { id: { type: 'string' }, pin: { type: 'string', writeOnly: true } },
      },
    },
  }
  const document = openapi({ '/a': { get: { responses } } }, { components })

  it('is there when opted in, without writeOnly fields', () => {
    const tool = onlyTool(document, { toolDefaults: { ...DEFAULT_TOOL_DEFAULTS, outputSchema: true } })
    expect(tool.outputSchema).toEqual({ type: 'object', properties: { id: { type: 'string' } } })
  })

  it('is absent otherwise', () => {
    expect(onlyTool(document).outputSchema).toBeUndefined()
  })
})
