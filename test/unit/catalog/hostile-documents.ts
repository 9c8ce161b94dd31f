/** 300 hostile documents, generated deterministically. Each defines the expected result. */
import { documentOf } from './deployment.ts'

export interface HostileDocument {
  readonly name: string
  readonly document: string | Uint8Array
  /** `fault`: nothing can be made of it; `any`: tools or a fault, as long as it is one of the two. */
  readonly expected: 'fault' | 'any'
}

export function hostileDocuments(): readonly HostileDocument[] {
  return [
    ...aliasBombs(30),
    ...deep(30),
    ...truncated(60),
    ...notDocuments(30),
    ...notText(10),
    ...referenceBombs(30),
    ...prototypeNames(30),
    ...scrambled(80),
  ]
}

/** Linear congruential: the same documents in every run. */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

function aliasBombs(count: number): HostileDocument[] {
  return Array.from({ length: count }, (_, i) => {
    const width = 8 + (i % 5)
    const levels = 9 + Math.floor(i / 5)
    const lines = ['openapi: 3.1.0', 'info: {title: t, version: "1"}', 'a0: &a0 {x: lol}']
    for (let n = 1; n <= levels; n++) {
      lines.push(`a${n}: &a${n} [${Array.from({ length: width }, () => `*a${n - 1}`).join(', ')}]`)
    }
    lines.push(`paths: {/a: {get: {parameters: *a${levels}}}}`)
    return { name: `alias bomb ${width}^${levels}`, document: lines.join('\n'), expected: 'fault' }
  })
}

function deep(count: number): HostileDocument[] {
  return Array.from({ length: count }, (_, i) => {
    const depth = 10_000 + i * 1000
    const list = '['.repeat(depth) + ']'.repeat(depth)
    const object = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
    const inner = i % 2 === 0 ? list : object
    const form = i % 3
    const json = `{"openapi":"3.1.0","info":{},"paths":{"/a":{"get":{"requestBody":{"content":{"application/json":{"schema":${inner}}}}}}}}`
    const document = form === 0 ? json : form === 1 ? `openapi: 3.1.0\npaths: ${inner}` : inner
    return { name: `nested ${depth} deep, form ${form}`, document, expected: 'fault' }
  })
}

function truncated(count: number): HostileDocument[] {
  const whole = documentOf('alpha', 'beta', 'gamma')
  return Array.from({ length: count }, (_, i) => {
    const end = 1 + Math.floor((i / count) * (whole.length - 2))
    return { name: `cut after ${end} characters`, document: whole.slice(0, end), expected: 'fault' }
  })
}

function notDocuments(count: number): HostileDocument[] {
  const texts = [
    '<!doctype html><html><body>Sign in</body></html>',
    '  \n<html>',
    '<?xml version="1.0"?><wsdl/>',
    '',
    '   \n\t ',
    'null',
    'true',
    '42',
    '"openapi"',
    'openapi',
    '[]',
    '[{"openapi":"3.1.0"}]',
    '{}',
    '{"openapi":null}',
    '{"openapi":"2.0"}',
    '{"openapi":"99.1"}',
    '{"swagger":"1.2"}',
    '{"openapi":"3.1.0","paths":[]}',
    '{"openapi":"3.1.0","paths":"x"}',
    '{"asyncapi":"2.0.0"}',
    'a: b: c',
    '%YAML 9.9\n---\n!!js/function "x"',
    '\u0000\u0001\u0002',
    '---\n---\n---',
    '{"openapi":"3.1.0","paths":{"/a":{"get":{"parameters":[{"$ref":"https://evil.test/p"}]}}}}',
    '{"openapi":"3.1.0","paths":{"/a":{"get":7}}}',
    '{"openapi":{},"paths":{}}',
    '{"openapi":[3],"paths":{}}',
    'openapi: &a [*a]',
    '{"data":{"openapi":"3.1.0"}}',
  ]
  return texts
    .slice(0, count)
    .map((document, i) => ({ name: `no document ${i}`, document, expected: 'fault' }))
}

function notText(count: number): HostileDocument[] {
  return Array.from({ length: count }, (_, i) => {
    const random = numbers(i + 1)
    const bytes = Uint8Array.from({ length: 2000 }, () => Math.floor(random() * 256))
    bytes[0] = 0x1f
    bytes[1] = 0x8b
    return { name: `bytes ${i}`, document: bytes, expected: 'fault' }
  })
}

function withSchemas(schemas: object, $ref = '#/components/schemas/S0'): string {
  const body = { required: true, content: { 'application/json': { schema: { $ref } } } }
  const paths = { '/a': { post: { operationId: 'a', requestBody: body } } }
  return JSON.stringify({
    openapi: '3.0.3',
    info: { title: 't', version: '1' },
    paths,
    components: { schemas },
  })
}

function referenceBombs(count: number): HostileDocument[] {
  return Array.from({ length: count }, (_, i) => {
    const fan = 2 + (i % 6)
    const size = 20 + i * 40
    const schemas: Record<string, unknown> = {}
    for (let n = 0; n < size; n++) {
      const next = (step: number) => ({
        $ref: `#/components/schemas/S${i % 3 === 0 ? (n + step) % size : Math.min(n + step, size - 1)}`,
      })
      const properties = Object.fromEntries(Array.from({ length: fan }, (_, k) => [`p${k}`, next(k + 1)]))
      schemas[`S${n}`] =
        i % 4 === 1
          ? { allOf: [next(1), next(2)] }
          : i % 4 === 2
            ? { anyOf: [next(1), { type: 'object', properties }] }
            : { type: 'object', properties }
    }
    return {
      name: `references ${fan} wide over ${size} schemas, kind ${i % 12}`,
      document: withSchemas(schemas),
      expected: 'any',
    }
  })
}

function prototypeNames(count: number): HostileDocument[] {
  const names = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf']
  return Array.from({ length: count }, (_, i) => {
    const name = names[i % names.length]!
    const places = [
      `{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"${name}","parameters":[{"name":"${name}","in":"query","schema":{"type":"string"}}]}}}}`,
      `{"openapi":"3.1.0","${name}":{"polluted":true},"paths":{"/a":{"get":{}}}}`,
      `{"openapi":"3.1.0","paths":{"${name}":{"get":{}},"/a":{"${name}":{},"get":{"requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{"${name}":{"default":{"polluted":true}}}}}}}}}}}`,
      withSchemas(
        JSON.parse(`{"S0":{"type":"object","properties":{"a":{"$ref":"#/components/schemas/${name}"}}}}`),
      ),
      `{"openapi":"3.1.0","paths":{"/a":{"post":{"requestBody":{"content":{"multipart/form-data":{"schema":{"type":"object","properties":{"${name}":{"type":"string"}}},"encoding":{"${name}":{"contentType":"text/plain"}}}}}}}}}`,
    ]
    const place = Math.floor(i / names.length) % places.length
    return {
      name: `${name} in place ${place}`,
      document: places[place]!,
      expected: 'any',
    }
  })
}

/** A sound document with values replaced by others of the wrong kind. */
function scrambled(count: number): HostileDocument[] {
  const sound = {
    openapi: '3.0.3',
    info: { title: 'T', version: '1' },
    servers: [{ url: 'https://{host}.test', variables: { host: { default: 'api', enum: ['api'] } } }],
    security: [{ key: [] }],
    paths: {
      '/a/{id}': {
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string', pattern: '^a+$' } }],
        post: {
          operationId: 'make',
          tags: ['t'],
          summary: 's',
          parameters: [
            {
              name: 'q',
              in: 'query',
              style: 'form',
              explode: true,
              content: { 'application/json': { schema: {} } },
            },
          ],
          requestBody: {
            required: true,
            content: {
              'application/json': { schema: { $ref: '#/components/schemas/N' } },
              'multipart/form-data': {
                schema: { type: 'object', properties: { f: { type: 'string' } } },
                encoding: { f: { style: 'form' } },
              },
            },
          },
          responses: {
            '200': { description: 'ok', content: { 'application/json': { schema: { type: 'object' } } } },
          },
        },
      },
    },
    components: {
      schemas: {
        N: {
          type: 'object',
          required: ['a'],
          properties: {
            a: { enum: [1, 2] },
            n: { $ref: '#/components/schemas/N' },
            o: { oneOf: [{ type: 'string' }] },
          },
        },
      },
      securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'K' } },
    },
  }
  const junk = [
    null,
    7,
    '',
    'x',
    true,
    [],
    {},
    [[]],
    [null],
    { $ref: '#/' },
    { $ref: 7 },
    { $ref: '#/paths' },
    -1e308,
    '\ud800',
    { type: {} },
  ]
  const isJunk = (holder: unknown) =>
    junk.some(value => value === holder || (Array.isArray(value) && value[0] === holder))
  return Array.from({ length: count }, (_, i) => {
    const random = numbers(1000 + i)
    const text = JSON.stringify(sound, function (this: unknown, key: string, value: unknown) {
      if (key === '' || key === 'openapi' || key === 'paths' || isJunk(this)) return value
      return random() < 0.06 ? junk[Math.floor(random() * junk.length)] : value
    })
    return { name: `scrambled ${i}`, document: text, expected: 'any' }
  })
}
