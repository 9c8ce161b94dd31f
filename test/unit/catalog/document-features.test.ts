/** `x-mcp-resources` compiled and read: the request that a URI stands for. */
import { describe, expect, it } from 'vitest'
import { compileToolSet } from '../../../src/catalog/compile/compile-tool-set.ts'
import type { Tool } from '../../../src/model/tool.ts'
import { DEFAULT_NAMING, DEFAULT_TOOL_DEFAULTS, type ToolSet } from '../../../src/model/tool-set.ts'
import { preparedTool } from '../../fixtures/prepared-tool.ts'

const TOOL_SET: ToolSet = {
  name: 's',
  namespace: 'tenant-acme',
  displayName: 's',
  baseURL: 'https://api.test',
  selector: {},
  toolDefaults: DEFAULT_TOOL_DEFAULTS,
  naming: DEFAULT_NAMING,
  enabled: true,
}
const parameter = (name: string, place: string, schema: object, required = place === 'path') => ({
  name,
  in: place,
  required,
  schema,
})
const document = (uri: unknown, more: object = {}) => ({
  openapi: '3.1.0',
  info: { title: 'T', version: '1' },
  'x-mcp-resources': [{ operation: 'get', uri, ...more }],
  components: { schemas: { Size: { type: 'string', enum: ['s', 'm'] } } },
  paths: {
    '/things/{id}': {
      get: {
        operationId: 'get',
        parameters: [
          parameter('id', 'path', { type: 'integer', format: 'int64' }),
          parameter('full', 'query', { type: 'boolean' }),
          parameter('Size', 'header', { $ref: '#/components/schemas/Size' }),
          parameter('tags', 'query', { type: 'array', items: { type: 'string' } }),
        ],
        responses: { '200': { description: 'ok' } },
      },
    },
  },
})
const compiled = (given: object, toolSet: Partial<ToolSet> = {}) =>
  compileToolSet(given, { ...TOOL_SET, ...toolSet })
const featureOf = (given: object, toolSet: Partial<ToolSet> = {}) =>
  compiled(given, toolSet).tools.find(({ feature }) => feature !== undefined) as Tool

describe('a read of a template', () => {
  const { validate, buildRequest } = preparedTool(featureOf(document('things://{id}{?full,Size}')))
  const read = (uri: string) => ({
    faults: validate({ uri }).map(({ path }) => path),
    ...buildRequest({ uri }),
  })

  it('sends the variables as the schema wants them, with every digit', () => {
    const { faults, url } = read('things://9007199254740993')
    expect(faults).toEqual([])
    expect(url).toBe('https://api.test/things/9007199254740993')
    const { headers, ...whole } = read('things://7?full=true&Size=m')
    expect(whole).toMatchObject({ faults: [], url: 'https://api.test/things/7?full=true' })
    expect(headers.join()).toContain('Size,m')
  })

  it.each([
    ['things://x', '/id'],
    ['things://7?full=perhaps', '/full'],
    ['things://7?Size=xl', '/Size'],
    ['other://7', '/uri'],
    ['things://7/8', '/uri'],
  ])('of %s has a fault at %s', (uri, path) => {
    expect(read(uri).faults).toEqual([path])
  })
})

it('sends no dot segments of a URI', () => {
  const given = document('things://{id}') as { paths: Record<string, { get: { parameters: object[] } }> }
  given.paths['/things/{id}']!.get.parameters[0] = parameter('id', 'path', { type: 'string' })
  const { validate } = preparedTool(featureOf(given))
  for (const uri of ['things://..', 'things://.', 'things://%2E%2E', 'things://..%2Fsecret'])
    expect(
      validate({ uri }).map(({ path }) => path),
      uri,
    ).toEqual(['/id'])
  expect(validate({ uri: 'things://a..b' })).toEqual([])
})

it('puts the prefix of the names in front of the URI, and reads it with that', () => {
  const tool = featureOf(document('things://{id}'), { naming: { ...DEFAULT_NAMING, prefix: 'shop_' } })
  expect(tool.name).toBe('resource:shop+things://{id}')
  const { validate, buildRequest } = preparedTool(tool)
  expect(validate({ uri: 'shop+things://7' })).toEqual([])
  expect(buildRequest({ uri: 'shop+things://7' }).url).toBe('https://api.test/things/7')
})

it.each([
  ['things://{id}{', 'the URI template in the field "uri" is not valid or not supported'],
  [
    'things://{id}/{tags}',
    'the variable "tags" in the field "uri" refers to a parameter that is not a string, number or boolean',
  ],
  ['things://{id}/{other}', 'the variable "other" in the field "uri" is not a parameter of the operation'],
  ['things', 'the field "uri" has no variable for these required parameters of the operation: id'],
  [7, 'the field "uri" is missing'],
])('leaves %s out, with the reason', (uri, reason) => {
  const { tools, skipped } = compiled(document(uri))
  expect(tools).toHaveLength(1)
  expect(skipped).toEqual([{ operation: 'x-mcp-resources[0]', reason }])
})

it('leaves resources out whose operations the selector leaves out, and says nothing', () => {
  const { tools, skipped } = compiled(document('things://{id}'), { selector: { methods: ['POST'] } })
  expect([tools, skipped]).toEqual([[], []])
})

it('bounds the entries', () => {
  const many = { ...document('x'), 'x-mcp-resources': Array.from({ length: 2_000 }, () => 7) }
  const { skipped } = compiled(many)
  expect(skipped).toHaveLength(501)
  expect(skipped.at(-1)!.reason).toBe('x-mcp-resources has more than 500 entries')
})
