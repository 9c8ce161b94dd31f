/** Tool resources that cannot be used: their tools keep the last valid restrictions, or are withheld. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { desiredFromObjects } from '../../../src/catalog/kubernetes/desired-from-objects.ts'
import { API_VERSION, Deployment, inline, toolSetResource, until } from './deployment.ts'

let deployment: Deployment
beforeEach(() => {
  deployment = new Deployment()
  deployment.write('shop.yaml', toolSetResource('shop', inline('listOrders', 'dropOrders')))
  deployment.write('other.yaml', toolSetResource('other', inline('ping'), 'tenant-other'))
})
afterEach(() => deployment.close())

const NAMED = { name: 'dropOrders', namespace: 'tenant-acme' }

function tool(spec: object, metadata: object = NAMED): object {
  return { apiVersion: API_VERSION, kind: 'Tool', metadata, spec }
}

function degraded(name = 'shop', namespace?: string) {
  return deployment.status(name, namespace)?.conditions.find(({ type }) => type === 'Degraded')
}

describe('a Tool resource that is unusable from the start', () => {
  it('withholds its tool, and the status of the tool-set says why', async () => {
    deployment.write('tool.yaml', tool({ enabled: false, timeout: 'soon' }))
    await deployment.start()
    expect(deployment.names).toEqual(['listOrders', 'ping'])
    expect(deployment.status('shop')).toMatchObject({ phase: 'Ready', toolCount: 1, tools: ['listOrders'] })
    const { status, reason, message } = degraded()!
    expect([status, reason]).toEqual(['True', 'ToolResourceUnusable'])
    expect(message).toContain('tools not served')
    expect(message).toContain('dropOrders: spec.timeout')
    expect(degraded('other', 'tenant-other')?.status).toBe('False')
    deployment.write('tool.yaml', tool({ timeout: '1s' }))
    await until(() => deployment.names.includes('dropOrders'), 'the corrected tool')
    await until(() => degraded()?.status === 'False', 'the status')
  })

  it('withholds its tool when the secret cannot be read', async () => {
    const authentication = { type: 'bearer', secretRef: { name: 'absent', key: 'token' } }
    deployment.write('tool.yaml', tool({ authentication }))
    await deployment.start()
    expect(deployment.names).toEqual(['listOrders', 'ping'])
    expect(degraded()?.message).toContain('absent')
    deployment.write('secrets/absent/token', 's3cret')
    await until(() => deployment.names.includes('dropOrders'), 'the tool with its credential')
  })

  it('withholds its tool when kind, apiVersion, namespace or a placeholder is wrong', async () => {
    const names = ['byKind', 'byVersion', 'byNamespace', 'byPlaceholder']
    const [kind, version, namespace, placeholder] = names.map(name => ({ ...NAMED, name }))
    deployment.write('broken.yaml', toolSetResource('broken', inline(...names, 'stays')))
    deployment.write('kind.yaml', { ...tool({ enabled: false }, kind), kind: 'Tol' })
    deployment.write('version.yaml', { ...tool({ enabled: false }, version), apiVersion: 'toolgate.dev/v9' })
    deployment.write('namespace.yaml', tool({ enabled: false }, { name: namespace!.name }))
    deployment.write('placeholder.yaml', tool({ enabled: false, description: `\${NOWHERE}` }, placeholder))
    await deployment.start()
    expect(deployment.status('broken')?.tools).toEqual(['stays'])
  })

  it('withholds the tool-sets of its namespace when its name is not known, except tools with a Tool resource', async () => {
    const bad = {
      unnamed: (namespace: string) => tool({ enabled: false }, { namespace }),
      notyaml: (namespace: string) => `kind: Tool\nmetadata: { name: op, namespace: ${namespace}\nspec: {}`,
      large: (namespace: string) =>
        `kind: Tool\nmetadata: { namespace: ${namespace} }\n#${'x'.repeat(6_000_001)}`,
    }
    for (const [name, content] of Object.entries(bad)) {
      const namespace = `tenant-${name}`
      deployment.write(`${name}.set.yaml`, toolSetResource(name, inline('op', 'known'), namespace))
      deployment.write(`${name}.known.yaml`, tool({ timeout: '1s' }, { name: 'known', namespace }))
      deployment.write(`${name}.yaml`, content(namespace))
    }
    await deployment.start()
    for (const name of Object.keys(bad)) {
      expect(deployment.status(name, `tenant-${name}`)?.tools).toEqual(['known'])
      expect(degraded(name, `tenant-${name}`)?.message).toContain('op: ')
    }
    expect(deployment.names).toEqual(['dropOrders', 'known', 'known', 'known', 'listOrders', 'ping'])
  })

  it('withholds every tool-set when neither name nor namespace is known', async () => {
    deployment.write('tool.yaml', 'kind: Tool\nmetadata: {')
    await deployment.start()
    expect(deployment.names).toEqual([])
    expect(degraded('other', 'tenant-other')?.message).toContain(
      'this file may contain the Tool resource for this tool',
    )
    deployment.remove('tool.yaml')
    await until(() => deployment.names.length === 3, 'the tools without the file')
  })

  it('of two files with one Tool the first applies, and the second is reported', async () => {
    deployment.write('a.yaml', tool({ timeout: '7s' }))
    deployment.write('b.yaml', tool({ timeout: '9s' }))
    await deployment.start()
    expect(deployment.tools.find(({ name }) => name === 'dropOrders')?.timeoutMs).toBe(7_000)
    expect(deployment.logged.filter(({ message }) => message.includes('cannot be used'))).toEqual([
      {
        message: 'a resource cannot be used',
        fields: {
          resource: 'b.yaml',
          reason: 'Tool tenant-acme/dropOrders is defined more than once: remove all definitions except one',
        },
      },
    ])
  })

  it('a file of another sort withholds nothing', async () => {
    deployment.write('notes.yaml', 'text: {')
    deployment.write('openapi.yaml', { openapi: '3.1.0', info: {}, paths: {} })
    await deployment.start()
    expect(deployment.names).toEqual(['dropOrders', 'listOrders', 'ping'])
  })
})

describe('a Tool resource that becomes unusable', () => {
  it.each<[string, unknown]>([
    ['an invalid field', tool({ enabled: true, timeout: 'soon' })],
    ['a file that is not YAML', 'kind: Tool\nmetadata: {'],
  ])('keeps its last valid version: %s', async (_, broken) => {
    deployment.write('tool.yaml', tool({ timeout: '7s', annotations: { destructiveHint: true } }))
    await deployment.start()
    deployment.write('tool.yaml', broken)
    await until(() => deployment.logged.some(({ message }) => message.includes('cannot be used')), 'the log')
    deployment.write('more.yaml', toolSetResource('more', inline('extra')))
    await until(() => deployment.names.includes('extra'), 'another change')
    expect(deployment.tools.find(({ name }) => name === 'dropOrders')).toMatchObject({
      timeoutMs: 7000,
      destructive: true,
    })
    expect(deployment.names).toHaveLength(4)
  })

  it('is reported in the status; its removal ends the restriction', async () => {
    deployment.write('tool.yaml', tool({ enabled: false }))
    await deployment.start()
    expect(deployment.names).toEqual(['listOrders', 'ping'])
    deployment.write('tool.yaml', tool({ enabled: 'no' }))
    await until(() => degraded()?.status === 'True', 'the status')
    expect(degraded()?.message).toContain(
      'because the current version cannot be used: 1 (dropOrders: spec.enabled',
    )
    expect(deployment.names).toEqual(['listOrders', 'ping'])
    deployment.remove('tool.yaml')
    await until(() => deployment.names.includes('dropOrders'), 'the tool as generated')
  })
})

describe('objects of a cluster', () => {
  it('that cannot be used name their tool', async () => {
    const references = {
      readDocument: async () => '',
      readFile: async () => '',
      readSecret: async () => Promise.reject(new Error('secret absent is not there')),
    }
    const metadata = {
      name: 'drop-1',
      namespace: 'tenant-acme',
      annotations: { 'toolgate.dev/tool-name': 'dropOrders' },
    }
    const specs = [
      { enabled: 'no' },
      { authentication: { type: 'bearer', secretRef: { name: 'absent', key: 'k' } } },
    ]
    const objects = specs.map(spec => ({ metadata, spec }))
    const { manualTools, faults } = await desiredFromObjects([], objects, [], references, 'toolgate.dev')
    expect(manualTools).toEqual([])
    expect(faults.map(({ target }) => target)).toEqual([NAMED, NAMED])
  })
})
