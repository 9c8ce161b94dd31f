/** OpenAPI schemas compiled to JSON Schema 2020-12: keywords, references, composition, hostile schemas. */

import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { compile, onlyTool, openapi, withBody, withParameters } from './build.ts'

/** How one query parameter with this schema is offered. */
function offered(schema: unknown, version = '3.0.3'): unknown {
  const document = { ...withParameters('/a', [{ name: 'p', in: 'query', schema }]), openapi: version }
  return onlyTool(document).inputSchema.properties!.p
}

describe('keywords', () => {
  it.each([
    ['nullable', { type: 'string', nullable: true }, { type: ['string', 'null'] }],
    [
      'nullable enum',
      { type: 'string', nullable: true, enum: ['a'] },
      { type: ['string', 'null'], enum: ['a'] },
    ],
    [
      'exclusiveMinimum true',
      { type: 'integer', minimum: 1, exclusiveMinimum: true },
      { type: 'integer', exclusiveMinimum: 1 },
    ],
    [
      'exclusiveMaximum false',
      { type: 'integer', maximum: 9, exclusiveMaximum: false },
      { type: 'integer', maximum: 9 },
    ],
    [
      'vendor keys',
      { type: 'string', 'x-mcp-header': 'Region', 'x-foo': 1, xml: {}, externalDocs: {} },
      { type: 'string' },
    ],
    [
      'an example',
      { type: 'string', description: 'Colour.', example: 'red' },
      { type: 'string', description: 'Colour.\nExample: red' },
    ],
    [
      'a tuple',
      { type: 'array', items: [{ type: 'string' }] },
      { type: 'array', prefixItems: [{ type: 'string' }] },
    ],
    ['a wrong type name', { type: 'int' }, { type: 'integer' }],
    ['a type that is none', { type: 'banana' }, {}],
    ['text for a number', { type: 'string', minLength: '3' }, { type: 'string', minLength: 3 }],
    ['numbers in a text enum', { type: 'string', enum: [1, true] }, { type: 'string', enum: ['1', 'true'] }],
    ['a default of another type', { type: 'integer', default: 'none' }, { type: 'integer' }],
    [
      'required: true',
      { type: 'object', properties: { a: {} }, required: true },
      { type: 'object', properties: { a: {} } },
    ],
    ['an array without items', { type: 'array' }, { type: 'array', items: {} }],
    ['const', { const: 'x' }, { const: 'x' }],
  ])('%s', (_, schema, expected) => {
    expect(offered(schema)).toEqual(expected)
  })

  it('keep a pattern, repair one, and leave out one that could not run in linear time', () => {
    expect(offered({ type: 'string', pattern: '^(a+)+$' })).toEqual({ type: 'string', pattern: '^(a+)+$' })
    expect(offered({ type: 'string', pattern: '^a\\_b$' })).toEqual({ type: 'string', pattern: '^a_b$' })
    expect(offered({ type: 'string', pattern: '^[\\w-.]+$' })).toEqual({
      type: 'string',
      pattern: '^[\\w\\-.]+$',
    })
    expect(offered({ type: 'string', pattern: '/^a$/i' })).toEqual({ type: 'string', pattern: '^a$' })
    expect(offered({ type: 'string', pattern: '^a{0,1023}$' })).toEqual({
      type: 'string',
      pattern: '^a{0,1023}$',
    })
    expect(offered({ type: 'string', pattern: '^(?=.*a)(a|a)+$' })).toEqual({ type: 'string' })
    expect(offered({ type: 'string', pattern: '(unclosed' })).toEqual({ type: 'string' })
  })

  it('give notice of a pattern left out', () => {
    const { notices } = compile(
      withParameters('/a', [{ name: 'p', in: 'query', schema: { type: 'string', pattern: '(?=x)' } }]),
    )
    expect(notices[0]).toMatchObject({ operation: 'getThing' })
    expect(notices[0]?.message).toContain('(?=x)')
  })
})

describe('readOnly and writeOnly', () => {
  it('readOnly fields are not arguments, even when required', () => {
    const schema = {
      type: 'object',
      required: ['id', 'name'],
      properties: {
        id: { type: 'string', readOnly: true },
        name: { type: 'string' },
        pin: { type: 'string', writeOnly: true },
      },
    }
    const { inputSchema } = onlyTool(withBody(schema))
    expect(Object.keys(inputSchema.properties!)).toEqual(['name', 'pin'])
    expect(inputSchema.required).toEqual(['name'])
  })
})

describe('references', () => {
  const node = {
    type: 'object',
    required: ['name'],
    properties: {
      name: { type: 'string' },
      children: { type: 'array', items: { $ref: '#/components/schemas/Node' } },
    },
  }

  it('that recur stay as $defs and validate', () => {
    const tool = onlyTool(
      withBody({ $ref: '#/components/schemas/Node' }, { components: { schemas: { Node: node } } }),
    )
    expect(tool.inputSchema.type).toBe('object')
    expect(Object.keys(tool.inputSchema.$defs as object)).toEqual(['Node'])
    const validate = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false }).compile(
      tool.inputSchema,
    )
    expect(validate({ name: 'a', children: [{ name: 'b', children: [] }] })).toBe(true)
    expect(validate({ name: 'a', children: [{ children: [] }] })).toBe(false)
  })

  it('that do not recur are written in place', () => {
    const components = { schemas: { Leaf: { type: 'string', enum: ['x'] } } }
    const schema = { type: 'object', properties: { leaf: { $ref: '#/components/schemas/Leaf' } } }
    const tool = onlyTool(withBody(schema, { components }))
    expect(tool.inputSchema.properties!.leaf).toEqual({ type: 'string', enum: ['x'] })
    expect(tool.inputSchema.$defs).toBeUndefined()
  })

  it.each([
    ['another document', 'https://evil.test/schema.json#/X'],
    ['a file', 'other.yaml#/X'],
    ['nothing', '#/components/schemas/Gone'],
    ['a prototype', '#/constructor/prototype'],
  ])('to %s allow anything and give notice', (_, $ref) => {
    const { tools, notices } = compile(withBody({ type: 'object', properties: { a: { $ref } } }))
    expect(tools[0]!.inputSchema.properties!.a).toEqual({})
    expect(notices.some(notice => notice.message.includes('is not in the document'))).toBe(true)
  })

  it('that lead in a circle with nothing between end', () => {
    const components = {
      schemas: { A: { $ref: '#/components/schemas/B' }, B: { $ref: '#/components/schemas/A' } },
    }
    const { tools } = compile(withBody({ $ref: '#/components/schemas/A' }, { components }))
    expect(tools).toHaveLength(1)
    expect(() => new Ajv2020({ strict: false }).compile(tools[0]!.inputSchema)).not.toThrow()
  })

  it('keep siblings in 3.1 and only the description in 3.0', () => {
    const components = { schemas: { Name: { type: 'string', description: 'Old.' } } }
    const schema = {
      type: 'object',
      properties: { a: { $ref: '#/components/schemas/Name', description: 'New.', maxLength: 3 } },
    }
    const newer = onlyTool(withBody(schema, { components })).inputSchema.properties!.a
    expect(newer).toEqual({
      description: 'New.',
      maxLength: 3,
      allOf: [{ type: 'string', description: 'Old.' }],
    })
    const older = onlyTool({ ...withBody(schema, { components }), openapi: '3.0.0' }).inputSchema.properties!
      .a
    expect(older).toEqual({ type: 'string', description: 'New.' })
  })

  it('use $anchor', () => {
    const components = { schemas: { A: { $anchor: 'here', type: 'integer' } } }
    const tool = onlyTool(withBody({ type: 'object', properties: { a: { $ref: '#here' } } }, { components }))
    expect(tool.inputSchema.properties!.a).toEqual({ type: 'integer' })
  })
})

describe('composition', () => {
  it('allOf of objects becomes one set of arguments', () => {
    const schema = {
      allOf: [
        { type: 'object', required: ['a'], properties: { a: { type: 'string' } } },
        { properties: { b: { type: 'integer' } }, required: ['b'] },
      ],
    }
    const { inputSchema } = onlyTool(withBody(schema))
    expect(inputSchema.properties).toEqual({ a: { type: 'string' }, b: { type: 'integer' } })
    expect(inputSchema.required).toEqual(['a', 'b'])
  })

  it('oneOf with a discriminator lets exactly the branch hold that is named', () => {
    const pet = (extra: object) => ({ type: 'object', properties: { kind: { type: 'string' }, ...extra } })
    const components = {
      schemas: { Cat: pet({ lives: { type: 'integer' } }), Dog: pet({ bark: { type: 'string' } }) },
    }
    const schema = {
      oneOf: [{ $ref: '#/components/schemas/Cat' }, { $ref: '#/components/schemas/Dog' }],
      discriminator: { propertyName: 'kind', mapping: { cat: '#/components/schemas/Cat' } },
    }
    const { inputSchema } = onlyTool(withBody(schema, { components }))
    const validate = new Ajv2020({ strict: false }).compile(inputSchema)
    expect(validate({ body: { kind: 'cat', lives: 9 } })).toBe(true)
    expect(validate({ body: { kind: 'Dog' } })).toBe(true)
    expect(validate({ body: { kind: 'cow' } })).toBe(false)
    expect(validate({ body: {} })).toBe(false)
  })
})

describe('hostile schemas', () => {
  it('nested 1,000 deep are cut with a notice', () => {
    let schema: unknown = { type: 'string' }
    for (let i = 0; i < 1000; i++) schema = { type: 'object', properties: { a: schema } }
    const { tools, notices } = compile(withBody(schema))
    expect(tools).toHaveLength(1)
    expect(notices.some(notice => notice.message.includes('nested deeper'))).toBe(true)
  })

  it('that double at each reference stay small', () => {
    const schemas: Record<string, unknown> = { S0: { type: 'string' } }
    for (let i = 1; i < 60; i++) {
      const $ref = `#/components/schemas/S${i - 1}`
      schemas[`S${i}`] = { type: 'object', properties: { a: { $ref }, b: { $ref } } }
    }
    const tool = onlyTool(withBody({ $ref: '#/components/schemas/S59' }, { components: { schemas } }))
    expect(JSON.stringify(tool.inputSchema).length).toBeLessThan(70_000)
  })

  it('with properties named __proto__ change no prototype', () => {
    const properties = JSON.parse('{"__proto__": {"type": "string"}, "constructor": {"type": "string"}}')
    const tool = onlyTool(withBody({ type: 'object', properties: { inner: { type: 'object', properties } } }))
    const inner = tool.inputSchema.properties!.inner as { properties: object }
    expect(Object.getPrototypeOf(inner.properties)).toBe(Object.prototype)
    expect(Object.keys(inner.properties)).toEqual(['__proto__', 'constructor'])
    expect(({} as Record<string, unknown>).type).toBeUndefined()
  })

  it('with definitions of megabytes are opened, with a notice', () => {
    const schemas: Record<string, unknown> = {}
    for (let i = 0; i < 500; i++) {
      const properties = Object.fromEntries(
        Array.from({ length: 40 }, (_, n) => [`p${n}`, { type: 'string' }]),
      )
      schemas[`S${i}`] = {
        type: 'object',
        properties: { ...properties, next: { $ref: `#/components/schemas/S${(i + 1) % 500}` } },
      }
    }
    const document = withBody({ $ref: '#/components/schemas/S0' }, { components: { schemas } })
    const { tools, notices } = compile(document)
    expect(JSON.stringify(tools[0]!.inputSchema).length).toBeLessThan(70_000)
    expect(notices.some(notice => notice.message.includes('too large'))).toBe(true)
    expect(() => new Ajv2020({ strict: false }).compile(tools[0]!.inputSchema)).not.toThrow()
  })
})

it('a reference at path level is followed', () => {
  const document = openapi(
    { '/a': { $ref: '#/components/pathItems/A' } },
    { components: { pathItems: { A: { get: { operationId: 'viaRef' } } } } },
  )
  expect(onlyTool(document).name).toBe('viaRef')
})
