/** Arguments → requests: bodies, credentials, and that no argument can reach where it does not belong. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { prepareRequest } from '../../../../src/data-plane/tool-request/prepare-request.ts'
import type { BackendAuthentication, Tool } from '../../../../src/model/tool.ts'
import { preparedTool } from '../../../fixtures/prepared-tool.ts'
import { onlyTool, openapi, withBody, withParameters } from '../../catalog/build.ts'

const text = { type: 'string' }

function request(tool: Tool, args: object) {
  const { validate, buildRequest } = preparedTool(tool)
  expect(validate(args)).toEqual([])
  return buildRequest(args as Record<string, unknown>)
}

function header(headers: readonly string[], name: string): string | undefined {
  for (let i = 0; i < headers.length; i += 2) if (headers[i] === name) return headers[i + 1]
  return undefined
}

describe('a JSON body', () => {
  const schema = {
    type: 'object',
    properties: { name: text, tags: { type: 'array', items: text } },
    required: ['name'],
  }

  it('is made of the fields that are given', () => {
    const { method, url, body, headers } = request(onlyTool(withBody(schema)), { name: 'n' })
    expect([method, url, body]).toEqual(['POST', 'http://backend.test/v1/things', '{"name":"n"}'])
    expect(header(headers, 'content-type')).toBe('application/json')
  })

  it('is the argument body when a field has the name of a parameter', () => {
    const document = openapi({
      '/things/{name}': {
        put: {
          parameters: [{ name: 'name', in: 'path', required: true, schema: text }],
          requestBody: { required: true, content: { 'application/json': { schema } } },
        },
      },
    })
    const tool = onlyTool(document)
    expect(Object.keys(tool.inputSchema.properties!)).toEqual(['name', 'body'])
    const { url, body } = request(tool, { name: 'a b', body: { name: 'c' } })
    expect([url, body]).toEqual(['http://backend.test/v1/things/a%20b', '{"name":"c"}'])
  })

  it('may be an array, a text or anything', () => {
    expect(request(onlyTool(withBody({ type: 'array', items: text })), { body: ['a'] }).body).toBe('["a"]')
    expect(request(onlyTool(withBody({ type: 'string' })), { body: 'a' }).body).toBe('"a"')
    expect(request(onlyTool(withBody({})), { body: { x: null } }).body).toBe('{"x":null}')
  })

  it('that wants at least one field says so before the backend does', () => {
    const tool = onlyTool(withBody({ ...schema, required: [], minProperties: 1 }))
    expect(preparedTool(tool).validate({})).toEqual([
      { path: '', message: 'must contain at least 1 of name, tags' },
    ])
    expect(preparedTool(tool).validate({ name: 'x' })).toEqual([])
  })

  it('is left out when it is optional and nothing is given', () => {
    const document = openapi({
      '/a': {
        post: { requestBody: { content: { 'application/json': { schema: { ...schema, required: [] } } } } },
      },
    })
    expect(request(onlyTool(document), {}).body).toBeUndefined()
  })
})

describe('a form body', () => {
  it('has one pair for each value, objects as JSON or by their style', () => {
    const schema = {
      type: 'object',
      properties: { a: text, list: { type: 'array' }, o: { type: 'object' }, d: { type: 'object' } },
    }
    const document = openapi({
      '/a': {
        post: {
          requestBody: {
            required: true,
            content: {
              'application/x-www-form-urlencoded': {
                schema,
                encoding: { d: { style: 'deepObject', explode: true } },
              },
            },
          },
        },
      },
    })
    const { body, headers } = request(onlyTool(document), {
      a: 'x y&z',
      list: [1, 2],
      o: { p: 1 },
      d: { q: 'r' },
    })
    expect(body).toBe('a=x%20y%26z&list=1&list=2&o=%7B%22p%22%3A1%7D&d%5Bq%5D=r')
    expect(header(headers, 'content-type')).toBe('application/x-www-form-urlencoded')
  })
})

describe('a multipart body', () => {
  const schema = {
    type: 'object',
    properties: { note: text, meta: { type: 'object' }, file: { type: 'string', format: 'binary' } },
  }
  const tool = onlyTool(withBody(schema, {}, 'multipart/form-data'))

  it('is read back by a real parser, files as bytes', async () => {
    const file = Buffer.from([0, 255, 13, 10, 45, 45])
    const { body, headers } = request(tool, { note: 'hä', meta: { a: 1 }, file: file.toString('base64') })
    const contentType = header(headers, 'content-type')!
    const form = await new Response(body as Uint8Array<ArrayBuffer>, {
      headers: { 'content-type': contentType },
    }).formData()
    expect(form.get('note')).toBe('hä')
    const meta = form.get('meta') as unknown
    expect(JSON.parse(typeof meta === 'string' ? meta : await (meta as Blob).text())).toEqual({ a: 1 })
    expect(Buffer.from(await (form.get('file') as Blob).arrayBuffer())).toEqual(file)
  })

  it('is the same for the same arguments', () => {
    const build = () => Buffer.from(request(tool, { note: 'x' }).body as Uint8Array).toString()
    expect(build()).toBe(build())
  })

  it('refuses a file that is not base64', () => {
    expect(preparedTool(tool).validate({ file: 'no, this is not' })).toEqual([
      { path: '/file', message: 'must be base64' },
    ])
  })

  it('lets no value break out of its part', async () => {
    const evil = '\r\n------toolgate\r\nContent-Disposition: form-data; name="admin"\r\n\r\ntrue'
    const { body, headers } = request(tool, { note: evil })
    const contentType = header(headers, 'content-type')!
    const form = await new Response(body as Uint8Array<ArrayBuffer>, {
      headers: { 'content-type': contentType },
    }).formData()
    expect([...form.keys()]).toEqual(['note'])
    expect(form.get('note')).toBe(evil)
  })
})

describe('other bodies', () => {
  it('text goes as it is', () => {
    const { body, headers } = request(onlyTool(withBody(text, {}, 'text/plain')), { body: 'a\nb' })
    expect([body, header(headers, 'content-type')]).toEqual(['a\nb', 'text/plain'])
  })

  it('XML is text an agent writes', () => {
    const tool = onlyTool(withBody({ type: 'object', properties: { a: text } }, {}, 'application/xml'))
    expect(request(tool, { body: '<a/>' }).body).toBe('<a/>')
  })

  it('bytes are sent as base64', () => {
    const tool = onlyTool(withBody({ type: 'string', format: 'binary' }, {}, 'application/pdf'))
    expect(Buffer.from(request(tool, { body: 'AAEC' }).body as Uint8Array)).toEqual(Buffer.from([0, 1, 2]))
  })
})

describe('the credential', () => {
  const template = onlyTool(withParameters('/a', [{ name: 'q', in: 'query', schema: {} }])).request
  const sentWith = (authentication: BackendAuthentication, args = {}) =>
    prepareRequest(template, authentication).build(args)

  it('bearer, basic and key go where they belong', () => {
    expect(header(sentWith({ type: 'bearer', credential: 't' }).headers, 'authorization')).toBe('Bearer t')
    expect(header(sentWith({ type: 'basic', credential: 'u:p' }).headers, 'authorization')).toBe('Basic dTpw')
    expect(
      header(sentWith({ type: 'apiKey', in: 'header', name: 'X-Key', credential: 'k' }).headers, 'x-key'),
    ).toBe('k')
    expect(sentWith({ type: 'apiKey', in: 'query', name: 'key', credential: 'k&' }).url).toMatch(
      /\?key=k%26$/,
    )
    expect(
      header(sentWith({ type: 'apiKey', in: 'cookie', name: 'sid', credential: 'k' }).headers, 'cookie'),
    ).toBe('sid=k')
  })

  it('cannot be replaced by a key of an exploded object', () => {
    const key: BackendAuthentication = { type: 'apiKey', in: 'query', name: 'key', credential: 'k' }
    expect(sentWith(key, { q: { key: 'mine', other: 1 } }).url).toMatch(/\?key=k&other=1$/)
  })

  it.each(['key', 'KEY', '%6bey', '%6Bey', 'a=1;key'])(
    'cannot be sent a second time as %s, where reserved characters are allowed',
    name => {
      const parameter = { name: 'q', in: 'query', allowReserved: true, schema: {} }
      const { request: open } = onlyTool(withParameters('/a', [parameter]))
      const built = prepareRequest(open, { type: 'apiKey', in: 'query', name: 'key', credential: 'k' }).build(
        {
          q: { [name]: 'mine', other: 1 },
        },
      )
      expect(built.url).toMatch(/\?key=k&other=1$/)
    },
  )

  it.each(['sid', 'SID'])('cannot be sent a second time as the cookie %s', name => {
    const parameter = { name: 'c', in: 'cookie', explode: true, schema: {} }
    const { request: open } = onlyTool(withParameters('/a', [parameter]))
    const built = prepareRequest(open, { type: 'apiKey', in: 'cookie', name: 'sid', credential: 'k' }).build({
      c: { [name]: 'mine', other: 1 },
    })
    expect(header(built.headers, 'cookie')).toBe('sid=k; other=1')
  })
})

describe('no argument', () => {
  const parameters = [
    { name: 'id', in: 'path', required: true, schema: text },
    { name: 'q', in: 'query', schema: text },
    { name: 'X-H', in: 'header', schema: text },
    { name: 'c', in: 'cookie', schema: text },
  ]
  const tool = onlyTool(withParameters('/users/{id}/orders', parameters))
  const { validate, buildRequest } = preparedTool(tool)

  it.each(['.', '..', '../admin', 'a/../../b', '..\\x', 'a/.', ''])(
    'climbs: the path value %j is refused',
    id => {
      expect(validate({ id })[0]?.path).toBe('/id')
    },
  )

  it.each(['..', '.', '../..', ''])('climbs even unvalidated: %j stays one segment', id => {
    const { pathname } = new URL(buildRequest({ id }).url)
    expect(pathname.split('/')).toHaveLength(5)
    expect(decodeURIComponent(pathname).split('/')).toHaveLength(5)
  })

  it('changes path, query or headers with any content', () => {
    const anything = fc.string({ unit: 'binary', maxLength: 40 })
    fc.assert(
      fc.property(anything, anything, anything, anything, (id, q, h, c) => {
        const { url, headers } = buildRequest({ id, q, 'X-H': h, c })
        expect(url).toMatch(
          /^http:\/\/backend\.test\/v1\/users\/[A-Za-z0-9._~%-]+\/orders\?q=[A-Za-z0-9._~%-]*$/,
        )
        expect(new URL(url).href).toBe(url)
        expect(headers).toHaveLength(6)
        for (const value of headers) expect(value).toMatch(/^[\x20-\x7e\t]*$/)
        expect(headers[5]).toMatch(/^c=[A-Za-z0-9._~%-]*$/)
      }),
      { numRuns: 2000 },
    )
  })
})

it('the fixed query of a path stays, its fragment does not', () => {
  const { url } = request(onlyTool(openapi({ '/?Action=List#x': { get: {} } })), {})
  expect(url).toBe('http://backend.test/v1/?Action=List')
})
