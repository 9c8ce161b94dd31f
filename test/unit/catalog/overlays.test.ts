/** OpenAPI Overlays of a ToolSet: their order, what they match, faults with their place, and the document in a ConfigMap. */
import { afterEach, describe, expect, it } from 'vitest'
import { runCompileJob } from '../../../src/catalog/sync/compile-job.ts'
import type { OverlayAction } from '../../../src/model/tool-set.ts'
import { openapi, toolSet } from './build.ts'
import { Deployment, documentOf, toolSetResource, until } from './deployment.ts'

const DOCUMENT = openapi({
  '/items': {
    get: {
      operationId: 'listItems',
      tags: ['a'],
      parameters: [
        { name: 'kind', in: 'query', schema: { type: 'string' } },
        { name: 'debug', in: 'query', schema: { type: 'boolean' } },
      ],
    },
    delete: { operationId: 'dropItems' },
  },
  "/it's/{id}": { get: { operationId: 'quoted', 'x-internal': true } },
})

type Change = Omit<OverlayAction, 'remove'> & { readonly remove?: boolean }

function compiled(...overlays: readonly (readonly Change[])[]) {
  const read = overlays.map(actions => ({
    kind: 'inline' as const,
    actions: actions.map(action => ({ remove: false, ...action })),
  }))
  return runCompileJob({ document: JSON.stringify(DOCUMENT), toolSet: toolSet({ overlays: read }) })
}

function resultOf(...overlays: readonly (readonly Change[])[]) {
  const outcome = compiled(...overlays)
  if (outcome.kind !== 'compiled') throw new Error(JSON.stringify(outcome))
  return outcome.result
}

const names = (tools: readonly { readonly name: string }[]): string[] => tools.map(tool => tool.name).sort()

describe('actions', () => {
  it('merge objects, join lists, replace other values, and add to selected lists', () => {
    const { tools, overlaid } = resultOf([
      { target: "$.paths['/items'].get", update: { summary: 'Find items', tags: ['b'] } },
      {
        target: "$.paths['/items'].get.parameters",
        update: { name: 'limit', in: 'query', schema: { type: 'integer' } },
      },
      { target: "$.paths['/items'].get", update: { summary: 'List items' } },
    ])
    const [tool] = tools.filter(({ name }) => name === 'listItems')
    expect(tool).toMatchObject({ title: 'List items', tags: ['a', 'b'] })
    expect(Object.keys(tool!.inputSchema.properties!)).toEqual(['kind', 'debug', 'limit'])
    expect(overlaid).toBe(3)
  })

  it('are applied in order, each to the result of the one before, over all overlays', () => {
    const added = { '/new': { get: { operationId: 'fresh' } } }
    const { tools } = resultOf(
      [{ target: '$.paths', update: added }],
      [
        { target: "$.paths['/items'].get.parameters[?@.name == 'debug']", remove: true },
        { target: '$.paths[*].delete', remove: true },
      ],
      [{ target: "$.paths['/new'].get", update: { operationId: 'renamed' } }],
    )
    expect(names(tools)).toEqual(['listItems', 'quoted', 'renamed'])
    expect(Object.keys(tools.find(({ name }) => name === 'listItems')!.inputSchema.properties!)).toEqual([
      'kind',
    ])
  })

  it('select by filter, by wildcard and with quotes in a name', () => {
    expect(names(resultOf([{ target: '$.paths[*][?@["x-internal"]]', remove: true }]).tools)).toEqual([
      'dropItems',
      'listItems',
    ])
    const target = String.raw`$.paths['/it\'s/{id}'].get`
    expect(resultOf([{ target, update: { summary: 'Quoted' } }]).tools.map(({ title }) => title)).toContain(
      'Quoted',
    )
  })

  it('remove several items of one list', () => {
    const { tools } = resultOf([{ target: "$.paths['/items'].get.parameters[*]", remove: true }])
    expect(tools.find(({ name }) => name === 'listItems')!.inputSchema.properties).toEqual({})
  })

  it('that match nothing are reported with their place', () => {
    const { unmatched, overlaid } = resultOf(
      [{ target: '$.paths', update: {} }],
      [
        { target: '$.paths.none', remove: true },
        { target: '$..nothing', update: {} },
      ],
    )
    expect(unmatched).toEqual(['overlays[1].actions[0]: $.paths.none', 'overlays[1].actions[1]: $..nothing'])
    expect(overlaid).toBe(1)
  })

  it.each<[Change, RegExp]>([
    [{ target: '$.info.title', update: {} }, /neither an object nor a list/],
    [{ target: '$.info', update: ['x'] }, /the target is an object, but update is not/],
    [{ target: '$.info', update: { title: {} } }, /title is a single value in the document and an object/],
    [
      { target: '$', remove: true },
      /the target is the whole document, which cannot be removed: select a part of it/,
    ],
  ])('that cannot be applied end the synchronization with their place: %j', (action, reason) => {
    const outcome = compiled([{ target: '$.info', update: {} }, action])
    expect(outcome).toMatchObject({ kind: 'fault', message: expect.stringMatching(reason) })
    expect((outcome as { message: string }).message).toContain('spec.overlays[0].actions[1]')
  })

  it('of the same overlays make the same hash; others another', () => {
    const hash = (title: string) => {
      const outcome = compiled([{ target: '$.info', update: { title } }])
      return outcome.kind === 'compiled' ? outcome.specHash : outcome.kind
    }
    expect(hash('a')).toBe(hash('a'))
    expect(hash('a')).not.toBe(hash('b'))
  })
})

describe('an overlay in a ConfigMap', () => {
  const deployment = new Deployment()
  afterEach(() => deployment.close())

  it('is applied, counted in the status, and noticed when it changes', async () => {
    const overlay = (id: string) => `overlay: 1.0.0
info: { title: O, version: "1" }
actions:
  - { target: "$.paths['/alpha']", remove: true }
  - { target: "$.paths", update: { /gamma: { get: { operationId: ${id} } } } }
  - { target: $.paths.none, remove: true }
`
    deployment.write('configmaps/docs/overlay.yaml', overlay('gamma'))
    deployment.write(
      'shop.yaml',
      toolSetResource('shop', {
        openAPISpec: { inline: documentOf('alpha', 'beta') },
        overlays: [{ configMapRef: { name: 'docs', key: 'overlay.yaml' } }],
      }),
    )
    await deployment.start()
    expect(deployment.names).toEqual(['beta', 'gamma'])
    const conditions = deployment.status('shop')!.conditions
    expect(conditions.find(({ type }) => type === 'Synced')!.message).toContain(
      'actions from spec.overlays: 2',
    )
    expect(conditions.find(({ type }) => type === 'Degraded')).toMatchObject({
      status: 'True',
      message: expect.stringContaining('overlays[0].actions[2]: $.paths.none'),
    })
    deployment.write('configmaps/docs/overlay.yaml', overlay('delta'))
    await until(() => deployment.names.includes('delta'), 'the changed overlay')
    deployment.write(
      'configmaps/docs/overlay.yaml',
      'overlay: 1.0.0\nactions: [{ target: "$.info", update: 1 }]\n',
    )
    await until(() => deployment.status('shop')?.phase === 'Error', 'the fault')
    expect(deployment.status('shop')!.lastError).toContain('spec.overlays[0].actions[0] ($.info)')
    expect(deployment.names).toEqual(['beta', 'delta'])
  })
})
