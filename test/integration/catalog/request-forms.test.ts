/** Forms of OpenAPI that change arguments or request: QUERY, additional methods, tsv, optional and empty bodies, security parameters, inheritance. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { compileToolSet } from '../../../src/catalog/compile/compile-tool-set.ts'
import type { Tool } from '../../../src/model/tool.ts'
import { createEgress } from '../../../src/net/egress/client.ts'
import { preparedTool } from '../../fixtures/prepared-tool.ts'
import { type Json, openapi, toolSet } from '../../unit/catalog/build.ts'
import { serve } from '../../unit/catalog/deployment.ts'

const egress = createEgress({ allow: [], allowLoopback: true })
let backend: Awaited<ReturnType<typeof serve>>
let last: string
beforeAll(async () => {
  backend = await serve((request, response) => {
    let body = ''
    request.on('data', chunk => {
      body += chunk
    })
    request.on('end', () => {
      last = `${request.method} ${request.url} ${request.headers['content-type'] ?? '-'} ${body}`
      response.end('{}')
    })
  })
})
afterAll(async () => {
  await egress.close()
  await backend.close()
})

function toolsOf(document: Json): { readonly [name: string]: Tool } {
  const { tools, skipped } = compileToolSet(document, toolSet({ baseURL: new URL(backend.url).origin }))
  if (skipped.length > 0) throw new Error(JSON.stringify(skipped))
  return Object.fromEntries(tools.map(tool => [tool.name, tool]))
}

/** What the backend received, or the faults of the arguments. */
async function send(tool: Tool | undefined, args: Json): Promise<unknown> {
  const { validate, buildRequest } = preparedTool(tool!)
  const faults = validate(args)
  if (faults.length > 0) return faults
  const response = await egress.request({ ...buildRequest(args), timeoutMs: 5000, maxResponseBytes: 1000 })
  return response.kind === 'failure' ? response : last
}

const json = (schema: unknown, required?: boolean): Json => ({
  ...(required === undefined ? {} : { required }),
  content: { 'application/json': { schema } },
})

describe('OpenAPI 3.2', () => {
  const document = (): Json => ({
    ...openapi({
      '/things': {
        query: {
          operationId: 'search',
          requestBody: json({ type: 'object', properties: { q: { type: 'string' } } }, true),
        },
        additionalOperations: { COPY: { operationId: 'copy' }, LINK: { operationId: 'link' } },
      },
    }),
    openapi: '3.2.0',
  })

  it('QUERY is sent with its body', async () => {
    expect(await send(toolsOf(document()).search, { q: 'x' })).toBe(
      'QUERY /things application/json {"q":"x"}',
    )
  })

  it('QUERY only reads', () => {
    expect(toolsOf(document()).search?.annotations).toMatchObject({
      readOnlyHint: true,
      idempotentHint: true,
    })
  })

  it.each(['COPY', 'LINK'])('the additional operation %s is sent', async method => {
    expect(await send(toolsOf(document())[method.toLowerCase()], {})).toBe(`${method} /things - `)
  })
})

describe('Swagger 2.0 collectionFormat: tsv', () => {
  const list = { type: 'array', items: { type: 'string' }, collectionFormat: 'tsv' }
  const swagger = (place: string): Json => ({
    swagger: '2.0',
    info: { title: 'T', version: '1' },
    paths: { '/a': { post: { operationId: 'a', parameters: [{ name: 'ids', in: place, ...list }] } } },
  })

  it('in the query', async () => {
    expect(await send(toolsOf(swagger('query')).a, { ids: ['x', 'y z'] })).toBe('POST /a?ids=x%09y%20z - ')
  })

  it('in a form', async () => {
    expect(await send(toolsOf(swagger('formData')).a, { ids: ['x', 'y'] })).toBe(
      'POST /a application/x-www-form-urlencoded ids=x%09y',
    )
  })
})

describe('bodies', () => {
  const order = {
    type: 'object',
    required: ['item', 'count'],
    properties: { item: { type: 'string' }, count: { type: 'integer' }, note: { type: 'string' } },
  }
  const post = (requestBody: Json): Tool =>
    toolsOf(openapi({ '/a': { post: { operationId: 'a', requestBody } } })).a!

  it('an optional body with required fields can be omitted', async () => {
    expect(await send(post(json(order)), {})).toBe('POST /a - ')
  })

  it('and has all of its required fields otherwise', async () => {
    const message = 'must have properties item, count when property note is present'
    expect(await send(post(json(order)), { note: 'x' })).toEqual([{ path: '', message }])
    expect(await send(post(json(order)), { item: 'x', count: 1 })).toBe(
      'POST /a application/json {"item":"x","count":1}',
    )
  })

  it('of 60 fields as well, with few words', async () => {
    const names = Array.from({ length: 60 }, (_, i) => `f${i}`)
    const properties = Object.fromEntries(names.map(name => [name, { type: 'string' }]))
    const tool = post(json({ type: 'object', properties, required: names.slice(0, 30) }))
    expect(JSON.stringify(tool.inputSchema.dependentRequired).length).toBeLessThan(1200)
    expect(await send(tool, {})).toBe('POST /a - ')
    expect(await send(tool, { f59: 'x' })).toHaveLength(1)
    const all = Object.fromEntries(names.slice(0, 30).map(name => [name, 'x']))
    expect(await send(tool, all)).toContain('POST /a application/json {"f0":"x"')
    const { f29: _, ...partly } = all
    expect(await send(tool, partly)).toHaveLength(1)
  })

  it('a required body keeps its required fields', () => {
    expect(post(json(order, true)).inputSchema.required).toEqual(['item', 'count'])
  })

  it.each([
    ['required', true, 'POST /a application/json {}'],
    ['optional', undefined, 'POST /a - '],
  ])('an empty object that is %s is not an argument', async (_, required, expected) => {
    const tool = post(json({ type: 'object', properties: {} }, required))
    expect(tool.inputSchema.properties).toEqual({})
    expect(await send(tool, {})).toBe(expected)
  })

  it('an object of any fields stays an argument', () => {
    expect(Object.keys(post(json({ type: 'object' }, true)).inputSchema.properties!)).toEqual(['body'])
  })
})

describe('parameters of security schemes', () => {
  const schemes = {
    q: { type: 'apiKey', in: 'query', name: 'api_key' },
    h: { type: 'apiKey', in: 'header', name: 'X-Token' },
    c: { type: 'apiKey', in: 'cookie', name: 'sid' },
  }
  const parameters = [
    { name: 'api_key', in: 'query', required: true, schema: { type: 'string' } },
    { name: 'x-token', in: 'header', schema: { type: 'string' } },
    { name: 'sid', in: 'cookie', schema: { type: 'string' } },
    { name: 'sid', in: 'query', schema: { type: 'string' } },
  ]

  it('are not arguments; others of the same name are', () => {
    const { a } = toolsOf(
      openapi(
        { '/a': { get: { operationId: 'a', parameters } } },
        { components: { securitySchemes: schemes } },
      ),
    )
    expect(Object.keys(a!.inputSchema.properties!)).toEqual(['sid'])
    expect(a!.request.parameters).toHaveLength(1)
  })
})

describe('discriminator with inheritance', () => {
  const heir = (extra: Json): Json => ({
    allOf: [{ $ref: '#/components/schemas/Pet' }, { type: 'object', ...extra }],
  })
  const schemas = (mapping?: Json): Json => ({
    Pet: {
      type: 'object',
      required: ['kind'],
      properties: { kind: { type: 'string' }, name: { type: 'string' } },
      discriminator: { propertyName: 'kind', ...(mapping === undefined ? {} : { mapping }) },
    },
    Dog: heir({ properties: { bark: { type: 'boolean' } }, required: ['bark'] }),
    Puppy: {
      allOf: [
        { $ref: '#/components/schemas/Dog' },
        { properties: { weeks: { type: 'integer' } }, required: ['weeks'] },
      ],
    },
    Cat: heir({ properties: { lives: { type: 'integer' } } }),
  })
  const tool = (mapping?: Json): Tool =>
    toolsOf(
      openapi(
        {
          '/pets': {
            post: { operationId: 'addPet', requestBody: json({ $ref: '#/components/schemas/Pet' }, true) },
          },
        },
        { components: { schemas: schemas(mapping) } },
      ),
    ).addPet!

  it.each([
    [{ kind: 'Dog', bark: true }, undefined, true],
    [{ kind: 'Dog' }, undefined, false],
    [{ kind: 'Puppy', bark: true, weeks: 3 }, undefined, true],
    [{ kind: 'Puppy', bark: true }, undefined, false],
    [{ kind: 'Cat', lives: 9 }, undefined, true],
    [{ kind: 'Cat', lives: 'nine' }, undefined, false],
    [{ kind: 'Pet', name: 'x' }, undefined, true],
    [{ kind: 'dog', bark: true }, { dog: '#/components/schemas/Dog', cat: 'Cat' }, true],
    [{ kind: 'dog' }, { dog: '#/components/schemas/Dog', cat: 'Cat' }, false],
    [{ kind: 'cat', lives: 1 }, { dog: '#/components/schemas/Dog', cat: 'Cat' }, true],
  ])('%o with mapping %o', async (body, mapping, isValid) => {
    const result = await send(tool(mapping), { body })
    if (isValid) expect(result).toBe(`POST /pets application/json ${JSON.stringify(body)}`)
    else expect(result).not.toBeTypeOf('string')
  })

  it('names the fields of every heir', () => {
    for (const field of ['bark', 'weeks', 'lives'])
      expect(JSON.stringify(tool().inputSchema)).toContain(field)
  })
})
