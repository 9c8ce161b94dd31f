/** `spec.overrides` of a ToolSet file: the tools that are served, the requests that the backend receives, and the faults that are reported. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { createEgress } from '../../../src/net/egress/client.ts'
import { preparedTool } from '../../fixtures/prepared-tool.ts'
import { Deployment, serve, toolSetResource } from '../../unit/catalog/deployment.ts'

const DOCUMENT = JSON.stringify({
  openapi: '3.1.0',
  info: { title: 'T', version: '1' },
  paths: {
    '/items/{kind}': {
      get: {
        operationId: 'listItems',
        summary: 'Lists.',
        parameters: [
          { name: 'kind', in: 'path', required: true, schema: { type: 'string' } },
          { name: 'limit', in: 'query', schema: { type: 'integer', maximum: 50 } },
          { name: 'debug', in: 'query', schema: { type: 'boolean' } },
        ],
      },
      delete: { summary: 'Removes all.' },
    },
    '/orders': {
      post: {
        operationId: 'addOrder',
        requestBody: {
          content: {
            'application/json': {
              schema: {
                type: 'object',
                required: ['item', 'channel'],
                properties: {
                  item: { type: 'string' },
                  channel: { type: 'string' },
                  note: { type: 'string' },
                },
              },
            },
          },
        },
      },
    },
  },
})

const egress = createEgress({ allow: [], allowLoopback: true })
let backend: Awaited<ReturnType<typeof serve>>
let deployment: Deployment
let last = ''
beforeAll(async () => {
  backend = await serve((request, response) => {
    last = `${request.method} ${request.url} `
    request.on('data', chunk => {
      last += chunk
    })
    request.on('end', () => response.end('{}'))
  })
})
afterAll(async () => {
  await egress.close()
  await backend.close()
})
beforeEach(() => {
  deployment = new Deployment()
})
afterEach(() => deployment.close())

async function start(...overrides: object[]): Promise<void> {
  const baseURL = new URL(backend.url).origin
  const naming = { prefix: 'p_' }
  deployment.write(
    'set.yaml',
    toolSetResource('set', { openAPISpec: { inline: DOCUMENT }, baseURL, naming, overrides }),
  )
  await deployment.start()
}

async function send(name: string, args: object): Promise<unknown> {
  const { validate, buildRequest } = preparedTool(deployment.tools.find(tool => tool.name === name)!)
  const faults = validate(args)
  if (faults.length > 0) return faults
  await egress.request({ ...buildRequest({ ...args }), timeoutMs: 5000, maxResponseBytes: 1000 })
  return last
}

const degraded = () => deployment.status('set')?.conditions.find(c => c.type === 'Degraded')

it('name and description replace the generated ones; hidden operations are not tools and not lost', async () => {
  await start(
    {
      operation: 'listItems',
      name: 'find',
      description: 'Finds items.',
      arguments: { kind: { description: 'Fruit.' } },
    },
    { operation: 'DELETE /items/{kind}', hidden: true },
  )
  expect(deployment.names).toEqual(['find', 'p_addOrder'])
  const find = deployment.tools.find(tool => tool.name === 'find')!
  expect(find.description).toBe('Finds items.')
  expect(find.inputSchema.properties?.kind).toMatchObject({ description: 'Fruit.' })
  expect(degraded()).toMatchObject({ status: 'False' })
})

it('fixed arguments are sent with every call and not offered; hidden ones are never sent', async () => {
  await start({
    operation: 'listItems',
    arguments: { kind: { fixed: 'fruit' }, limit: { fixed: 5 }, debug: { hidden: true } },
  })
  const tool = deployment.tools.find(({ name }) => name === 'p_listItems')!
  expect([tool.inputSchema.properties, tool.inputSchema.required]).toEqual([{}, undefined])
  expect(await send('p_listItems', {})).toBe('GET /items/fruit?limit=5 ')
  expect(await send('p_listItems', { limit: 9 })).toHaveLength(1)
  expect(await send('p_listItems', { debug: true })).toHaveLength(1)
})

it('a fixed field of an optional body makes its required fields required', async () => {
  await start({ operation: 'addOrder', arguments: { channel: { fixed: 'agent' }, note: { hidden: true } } })
  expect(await send('p_addOrder', {})).toHaveLength(1)
  expect(await send('p_addOrder', { item: 'x' })).toBe('POST /orders {"item":"x","channel":"agent"}')
})

it.each([
  [
    'an unknown argument',
    { operation: 'listItems', arguments: { nope: { hidden: true } } },
    'no argument nope',
  ],
  [
    'an invalid fixed value',
    { operation: 'listItems', arguments: { limit: { fixed: 51 } } },
    'limit is invalid',
  ],
  [
    'a required argument that is hidden',
    { operation: 'listItems', arguments: { kind: { hidden: true } } },
    'give it a fixed value',
  ],
  ['an operation that does not exist', { operation: 'gone', hidden: true }, 'overrides: gone'],
])('%s is reported', async (_, override, message) => {
  await start(override)
  expect(degraded()).toMatchObject({ status: 'True', message: expect.stringContaining(message) })
})

it.each([
  ['no operation', { name: 'x' }, 'spec.overrides[0].operation is missing'],
  ['an invalid name', { operation: 'listItems', name: 'a b' }, 'spec.overrides[0].name is "a b"'],
  [
    'fixed and hidden',
    { operation: 'listItems', arguments: { limit: { fixed: 1, hidden: true } } },
    'is set together with fixed',
  ],
  [
    'an unknown field',
    { operation: 'listItems', title: 'x' },
    'spec.overrides[0].title is not a known field',
  ],
])('%s is a fault of the resource', async (_, override, message) => {
  await start(override)
  expect(deployment.status('set')).toMatchObject({
    phase: 'Error',
    lastError: expect.stringContaining(message),
  })
})
