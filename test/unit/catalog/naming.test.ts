/** Names of tools and arguments. */
import { describe, expect, it } from 'vitest'
import { argumentName, shorten, toolName, uniqueNames } from '../../../src/catalog/compile/names.ts'
import { DEFAULT_NAMING } from '../../../src/model/tool-set.ts'
import { compile, onlyTool, openapi, withParameters } from './build.ts'

const operation = (operationId: string | undefined, path = '/users/{id}/orders', method = 'GET') => ({
  operationId,
  path,
  method,
})

describe('tool names', () => {
  it('are prefix, operationId and suffix', () => {
    const naming = { prefix: 'crm_', suffix: '.v1', useOperationId: true }
    expect(toolName(operation('listOrders'), naming)).toBe('crm_listOrders.v1')
  })

  it('are method and path words without operationId, or when operationIds are not wanted', () => {
    expect(toolName(operation(undefined), DEFAULT_NAMING)).toBe('get_users_id_orders')
    expect(toolName(operation('x'), { ...DEFAULT_NAMING, useOperationId: false })).toBe('get_users_id_orders')
  })

  it('hold only letters, digits, _ . and -', () => {
    expect(toolName(operation('repos/get content'), DEFAULT_NAMING)).toBe('repos_get_content')
    expect(toolName(operation('préférences'), DEFAULT_NAMING)).toBe('preferences')
    expect(toolName(operation('取得'), DEFAULT_NAMING)).toBe('get_users_id_orders')
  })

  it('longer than 64 end in a hash that depends on the whole name only', () => {
    const long = 'a'.repeat(80)
    expect(shorten(long)).toHaveLength(64)
    expect(shorten(long)).toBe(shorten(long))
    expect(shorten(`${long}b`)).not.toBe(shorten(`${long}c`))
    expect(shorten('a'.repeat(64))).toBe('a'.repeat(64))
  })

  it('keep to spec.naming.maxLength, and are the same whatever else the document holds', () => {
    const naming = { ...DEFAULT_NAMING, maxLength: 24 }
    const paths = Object.fromEntries(
      ['one', 'two', 'three'].map(word => [
        `/${word}`,
        {
          get: { operationId: `listAllOfTheManyThings_${word}` },
          post: { operationId: 'sameNameForEveryOperationOfIt' },
        },
      ]),
    )
    const { tools } = compile(openapi(paths), { naming })
    const names = tools.map(tool => tool.name)
    expect(new Set(names).size).toBe(6)
    for (const name of names) expect(name.length).toBeLessThanOrEqual(24)
    expect(names[0]).toMatch(/^listAllOfTheMan_[0-9a-f]{8}$/)
    const { '/one': first } = paths
    expect(compile(openapi({ '/one': first }), { naming }).tools[0]!.name).toBe(names[0])
  })

  it('that clash stay with the first path; the order in the document does not matter', () => {
    const a = { name: 'x', method: 'GET', path: '/a' }
    const b = { name: 'x', method: 'GET', path: '/b' }
    const [first, second] = uniqueNames([a, b])
    expect(first).toBe('x')
    expect(second).toMatch(/^x_[0-9a-f]{8}$/)
    expect(uniqueNames([b, a])).toEqual([second, first])
  })

  it('are unique in a document whose operationIds repeat', () => {
    const get = { operationId: 'same' }
    const { tools } = compile(openapi({ '/a': { get, post: get }, '/b': { get } }))
    expect(new Set(tools.map(tool => tool.name)).size).toBe(3)
  })
})

describe('argument names', () => {
  it('are made fit for clients, while the wire keeps its own', () => {
    const tool = onlyTool(
      withParameters('/things', [{ name: 'filter[name]', in: 'query', schema: { type: 'string' } }]),
    )
    expect(Object.keys(tool.inputSchema.properties!)).toEqual(['filter_name'])
    expect(tool.request.parameters[0]).toMatchObject({ argument: 'filter_name', name: 'filter[name]' })
  })

  it('never are __proto__', () => {
    expect(argumentName('__proto__')).toMatch(/^argument_[0-9a-f]{8}$/)
  })

  it('of two equal parameters contain the place of the later', () => {
    const schema = { type: 'string' }
    const document = withParameters('/things/{id}', [
      { name: 'id', in: 'query', schema },
      { name: 'id', in: 'path', required: true, schema },
    ])
    const { parameters } = onlyTool(document).request
    expect(parameters.map(p => [p.argument, p.in])).toEqual([
      ['id', 'path'],
      ['id_query', 'query'],
    ])
  })
})
