/** Swagger 2.0: parameters, bodies, forms, servers, security, outputs. */
import { describe, expect, it } from 'vitest'
import { compileToolSet } from '../../../src/catalog/compile/compile-tool-set.ts'
import { DEFAULT_TOOL_DEFAULTS } from '../../../src/model/tool-set.ts'
import { preparedTool } from '../../fixtures/prepared-tool.ts'
import { onlyTool, toolSet } from './build.ts'

function swagger(operation: object, rest: object = {}): object {
  return {
    swagger: '2.0',
    info: { title: 'Old', version: '1' },
    host: 'api.test',
    basePath: '/v1',
    schemes: ['http', 'https'],
    paths: { '/things/{id}': { post: { operationId: 'make', ...operation } } },
    ...rest,
  }
}

const id = { name: 'id', in: 'path', required: true, type: 'integer', minimum: 1 }

function built(operation: object, args: object, rest: object = {}) {
  const { validate, buildRequest } = preparedTool(onlyTool(swagger(operation, rest)))
  expect(validate(args)).toEqual([])
  return buildRequest(args as Record<string, unknown>)
}

describe('Swagger 2.0', () => {
  it('takes https and basePath of the document for the server', () => {
    const { baseURL: _, ...bare } = toolSet()
    const { tools } = compileToolSet(swagger({ parameters: [id] }), bare)
    expect(tools[0]?.request.baseUrl).toBe('https://api.test/v1')
  })

  it('keeps the constraints of parameters', () => {
    const tool = onlyTool(
      swagger({ parameters: [id, { name: 'q', in: 'query', type: 'string', enum: ['a'], default: 'a' }] }),
    )
    expect(tool.inputSchema.properties).toEqual({
      id: { type: 'integer', minimum: 1 },
      q: { type: 'string', enum: ['a'], default: 'a' },
    })
  })

  it.each([
    [undefined, 'tags=a,b'],
    ['csv', 'tags=a,b'],
    ['ssv', 'tags=a%20b'],
    ['pipes', 'tags=a%7Cb'],
    ['multi', 'tags=a&tags=b'],
  ])('sends a list as collectionFormat %s says', (collectionFormat, expected) => {
    const tags = { name: 'tags', in: 'query', type: 'array', items: { type: 'string' }, collectionFormat }
    expect(built({ parameters: [id, tags] }, { id: 7, tags: ['a', 'b'] }).url).toBe(
      `http://backend.test/v1/things/7?${expected}`,
    )
  })

  it.each([
    ['ssv', 'a%20b', 'a b'],
    ['tsv', 'a%09b', 'a\tb'],
    ['pipes', 'a%7Cb', 'a|b'],
    ['csv', 'a,b', 'a,b'],
  ])('collectionFormat %s applies in a path and a header', (collectionFormat, inPath, inHeader) => {
    const list = { type: 'array', items: { type: 'string' }, collectionFormat }
    const parameters = [
      { name: 'id', in: 'path', required: true, ...list },
      { name: 'x-tags', in: 'header', ...list },
    ]
    const { url, headers } = built({ parameters }, { id: ['a', 'b'], 'x-tags': ['a', 'b'] })
    expect(url).toBe(`http://backend.test/v1/things/${inPath}`)
    expect(headers[headers.indexOf('x-tags') + 1]).toBe(inHeader)
  })

  it('lifts the fields of a body parameter', () => {
    const schema = { $ref: '#/definitions/Thing' }
    const definitions = {
      Thing: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
    }
    const operation = { parameters: [id, { name: 'payload', in: 'body', required: true, schema }] }
    const request = built(operation, { id: 7, name: 'n' }, { definitions })
    expect([request.body, request.headers.includes('application/json')]).toEqual(['{"name":"n"}', true])
  })

  it('sends formData as a form, with its lists and constraints', () => {
    const parameters = [
      id,
      { name: 'a', in: 'formData', type: 'string', required: true, enum: ['x y'] },
      { name: 'l', in: 'formData', type: 'array', items: { type: 'integer' }, collectionFormat: 'multi' },
    ]
    const request = built(
      { parameters, consumes: ['application/x-www-form-urlencoded'] },
      { id: 1, a: 'x y', l: [1, 2] },
    )
    expect(request.body).toBe('a=x%20y&l=1&l=2')
  })

  it('sends a file as multipart, from base64', async () => {
    const parameters = [id, { name: 'file', in: 'formData', type: 'file', required: true }]
    const request = built({ parameters, consumes: ['multipart/form-data'] }, { id: 1, file: 'AAEC' })
    const contentType = request.headers[request.headers.indexOf('content-type') + 1]!
    const form = await new Response(request.body as Uint8Array<ArrayBuffer>, {
      headers: { 'content-type': contentType },
    }).formData()
    expect(Buffer.from(await (form.get('file') as Blob).arrayBuffer())).toEqual(Buffer.from([0, 1, 2]))
  })

  it('finds shared parameters and the place of an API key', () => {
    const rest = {
      parameters: { Page: { name: 'page', in: 'query', type: 'integer' } },
      securityDefinitions: { key: { type: 'apiKey', in: 'header', name: 'X-Old-Key' } },
      security: [{ key: [] }],
    }
    const document = swagger({ parameters: [id, { $ref: '#/parameters/Page' }] }, rest)
    const toolDefaults = { ...DEFAULT_TOOL_DEFAULTS, authentication: { type: 'apiKey' as const } }
    const { tools } = compileToolSet(document, toolSet({ toolDefaults }), { credential: { value: 'k' } })
    expect(Object.keys(tools[0]!.inputSchema.properties!)).toEqual(['id', 'page'])
    expect(tools[0]?.authentication).toMatchObject({ in: 'header', name: 'X-Old-Key' })
  })

  it('declares the output of a response', () => {
    const responses = {
      200: { description: 'ok', schema: { type: 'object', properties: { a: { type: 'string' } } } },
    }
    const toolDefaults = { ...DEFAULT_TOOL_DEFAULTS, outputSchema: true }
    expect(onlyTool(swagger({ parameters: [id], responses }), { toolDefaults }).outputSchema).toEqual({
      type: 'object',
      properties: { a: { type: 'string' } },
    })
  })
})
