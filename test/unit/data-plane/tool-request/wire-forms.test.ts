/** Parameter styles × types: the wire form that OpenAPI 3.1 (§4.8.12.4) prescribes, sent to a real server and read there. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEgress } from '../../../../src/net/egress/client.ts'
import { preparedTool } from '../../../fixtures/prepared-tool.ts'
import { onlyTool, withParameters } from '../../catalog/build.ts'

interface Echo {
  readonly url: string
  readonly headers: { readonly [name: string]: string }
}

let server: Server
let base: string
const egress = createEgress({ allow: [], allowLoopback: true })

beforeAll(async () => {
  server = createServer((request, response) => {
    response.end(JSON.stringify({ url: request.url, headers: request.headers }))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
})

afterAll(async () => {
  await egress.close()
  await new Promise(resolve => server.close(resolve))
})

/** What the server received when this parameter had this value. */
async function sent(parameter: object, value: unknown): Promise<Echo> {
  const inPath = (parameter as { in: string }).in === 'path'
  const document = withParameters(inPath ? '/x/{color}/y' : '/x', [
    { name: 'color', schema: {}, ...parameter },
  ])
  const tool = onlyTool(document, { baseURL: base })
  const { validate, buildRequest } = preparedTool(tool)
  expect(validate({ color: value })).toEqual([])
  const response = await egress.request({
    ...buildRequest({ color: value }),
    timeoutMs: 5000,
    maxResponseBytes: 100_000,
  })
  if (response.kind !== 'response') throw new Error(response.message)
  return JSON.parse(new TextDecoder().decode(response.body)) as Echo
}

const STRING = 'blue'
const ARRAY = ['blue', 'black', 'brown']
const OBJECT = { R: 100, G: 200, B: 150 }

/** The table "Style Examples" of OpenAPI 3.1.1, with the delimiters encoded as its text asks for. */
const PATH: [string, boolean, unknown, string][] = [
  ['simple', false, STRING, 'blue'],
  ['simple', false, ARRAY, 'blue,black,brown'],
  ['simple', false, OBJECT, 'R,100,G,200,B,150'],
  ['simple', true, ARRAY, 'blue,black,brown'],
  ['simple', true, OBJECT, 'R=100,G=200,B=150'],
  ['label', false, STRING, '.blue'],
  ['label', false, ARRAY, '.blue,black,brown'],
  ['label', false, OBJECT, '.R,100,G,200,B,150'],
  ['label', true, ARRAY, '.blue.black.brown'],
  ['label', true, OBJECT, '.R=100.G=200.B=150'],
  ['matrix', false, STRING, ';color=blue'],
  ['matrix', false, ARRAY, ';color=blue,black,brown'],
  ['matrix', false, OBJECT, ';color=R,100,G,200,B,150'],
  ['matrix', true, ARRAY, ';color=blue;color=black;color=brown'],
  ['matrix', true, OBJECT, ';R=100;G=200;B=150'],
]
/** Simple values, which explode does not change: with every style of a path, and with form in a query. */
const SIMPLE: [unknown, string][] = [
  ['blue', 'blue'],
  [7, '7'],
  [-1.5, '-1.5'],
  [true, 'true'],
  ['a b/ü', 'a%20b%2F%C3%BC'],
]
const PATH_SIMPLE = SIMPLE.flatMap(([value, text]) =>
  [true, false].flatMap((explode): [string, boolean, unknown, string][] => [
    ['simple', explode, value, text],
    ['label', explode, value, `.${text}`],
    ['matrix', explode, value, `;color=${text}`],
  ]),
)
const QUERY_SIMPLE = SIMPLE.flatMap(([value, text]) =>
  [true, false].map((explode): [string, boolean, unknown, string] => [
    'form',
    explode,
    value,
    `color=${text}`,
  ]),
)

const QUERY: [string, boolean, unknown, string][] = [
  ['form', false, STRING, 'color=blue'],
  ['form', false, '', 'color='],
  ['form', false, 7, 'color=7'],
  ['form', false, true, 'color=true'],
  ['form', false, ARRAY, 'color=blue,black,brown'],
  ['form', false, OBJECT, 'color=R,100,G,200,B,150'],
  ['form', true, ARRAY, 'color=blue&color=black&color=brown'],
  ['form', true, OBJECT, 'R=100&G=200&B=150'],
  ['spaceDelimited', false, ARRAY, 'color=blue%20black%20brown'],
  ['spaceDelimited', false, OBJECT, 'color=R%20100%20G%20200%20B%20150'],
  ['pipeDelimited', false, ARRAY, 'color=blue%7Cblack%7Cbrown'],
  ['pipeDelimited', false, OBJECT, 'color=R%7C100%7CG%7C200%7CB%7C150'],
  ['deepObject', true, OBJECT, 'color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150'],
  ['deepObject', true, { a: { b: ['x', 'y'] } }, 'color%5Ba%5D%5Bb%5D%5B0%5D=x&color%5Ba%5D%5Bb%5D%5B1%5D=y'],
]

describe('path', () => {
  it.each([...PATH, ...PATH_SIMPLE])('%s, explode %s, %j is %s', async (style, explode, value, expected) => {
    const { url } = await sent({ in: 'path', required: true, style, explode }, value)
    expect(url).toBe(`/v1/x/${expected}/y`)
  })
})

describe('query', () => {
  it.each([...QUERY, ...QUERY_SIMPLE])(
    '%s, explode %s, %j is %s',
    async (style, explode, value, expected) => {
      const { url } = await sent({ in: 'query', style, explode }, value)
      expect(url).toBe(`/v1/x?${expected}`)
    },
  )

  it('takes form with explode when nothing is said', async () => {
    expect((await sent({ in: 'query' }, ARRAY)).url).toBe('/v1/x?color=blue&color=black&color=brown')
  })

  it('encodes what delimits, in names and values', async () => {
    expect((await sent({ in: 'query', explode: false }, ['a,b', 'c&d=e', 'ü #'])).url).toBe(
      '/v1/x?color=a%2Cb,c%26d%3De,%C3%BC%20%23',
    )
  })

  it('with allowReserved leaves reserved characters, but none that would end the value', async () => {
    const { url } = await sent({ in: 'query', allowReserved: true }, 'a/b?c:d@e,f;g&h#i+j[k]%2Fl%zz')
    expect(url).toBe('/v1/x?color=a/b?c:d@e,f;g%26h%23i%2Bj%5Bk%5D%2Fl%25zz')
  })

  it('described by JSON content is JSON', async () => {
    const parameter = { in: 'query', schema: undefined, content: { 'application/json': { schema: {} } } }
    const { url } = await sent(parameter, { a: [1] })
    expect(decodeURIComponent(url)).toBe('/v1/x?color={"a":[1]}')
  })

  it('of an empty array or an absent value sends nothing', async () => {
    expect((await sent({ in: 'query' }, [])).url).toBe('/v1/x')
    expect((await sent({ in: 'query' }, undefined)).url).toBe('/v1/x')
  })
})

describe('header', () => {
  it.each<[boolean, unknown, string]>([
    [false, STRING, 'blue'],
    [false, ARRAY, 'blue,black,brown'],
    [false, OBJECT, 'R,100,G,200,B,150'],
    [true, OBJECT, 'R=100,G=200,B=150'],
    [true, ARRAY, 'blue,black,brown'],
    [false, 7, '7'],
    [true, -1.5, '-1.5'],
    [false, true, 'true'],
  ])('simple, explode %s, %j is %s', async (explode, value, expected) => {
    expect((await sent({ in: 'header', explode }, value)).headers.color).toBe(expected)
  })
})

describe('cookie', () => {
  it.each<[boolean, unknown, string]>([
    [false, STRING, 'color=blue'],
    [false, ARRAY, 'color=blue,black,brown'],
    [false, OBJECT, 'color=R,100,G,200,B,150'],
    [true, ARRAY, 'color=blue; color=black; color=brown'],
    [true, OBJECT, 'R=100; G=200; B=150'],
    [false, 7, 'color=7'],
    [true, -1.5, 'color=-1.5'],
    [false, true, 'color=true'],
    [true, 'a b/ü', 'color=a%20b%2F%C3%BC'],
  ])('form, explode %s, %j is %s', async (explode, value, expected) => {
    expect((await sent({ in: 'cookie', explode }, value)).headers.cookie).toBe(expected)
  })
})
