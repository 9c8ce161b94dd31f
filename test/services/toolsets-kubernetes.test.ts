/** The Kubernetes source against a real API server: constraints, phases, Tool objects, edits by hand, rights, leaders. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KubernetesObject, KubernetesObjectApi } from '@kubernetes/client-node'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createEgress } from '../../src/egress/client.ts'
import type { Tool } from '../../src/model/tool.ts'
import { SILENT } from '../../src/telemetry/log.ts'
import { connectKubernetes } from '../../src/toolsets/kubernetes/client.ts'
import { createKubernetesSource } from '../../src/toolsets/kubernetes/source.ts'
import type { ToolSource } from '../../src/toolsets/source.ts'
import { documentOf, inline, toolSetResource, until } from '../unit/toolsets/deployment.ts'
import { KUBE_INSTALLED, Kube } from './kube/kube.ts'

const required = process.env.REQUIRE_SERVICES === '1'
const NAMESPACE = 'tenant-acme'

type Loose = KubernetesObject & {
  spec?: Record<string, unknown>
  status?: Record<string, unknown>
  data?: Record<string, string>
}

describe.skipIf(!KUBE_INSTALLED && !required)('Kubernetes (bring it: scripts/services.sh kubernetes)', () => {
  const kube = new Kube()
  const egress = createEgress({ allow: [], allowLoopback: true })
  const dataDir = mkdtempSync(join(tmpdir(), 'toolsets-kube-'))
  const running: ToolSource[] = []
  let api: KubernetesObjectApi

  beforeAll(async () => {
    await kube.start()
    api = kube.objects()
    for (const name of ['toolgate', 'tenant-other']) {
      await api.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    }
    await kube.apply('deploy/crds/toolsets.toolgate.dev.yaml')
    await kube.apply('deploy/crds/tools.toolgate.dev.yaml')
    await kube.apply('deploy/kubernetes/rbac.yaml')
    await kube.apply('deploy/kubernetes/tenant-binding.yaml')
    await eventually(() => api.list('toolgate.dev/v1alpha1', 'Tool', NAMESPACE), 'the CRDs')
  }, 180_000)

  afterEach(async () => {
    for (const source of running.splice(0)) await source.close()
    for (const kind of ['ToolSet', 'Tool']) {
      const { items } = await api.list('toolgate.dev/v1alpha1', kind)
      for (const item of items) await api.delete({ ...item, apiVersion: 'toolgate.dev/v1alpha1', kind })
    }
  })

  afterAll(async () => {
    await egress.close()
    await kube.stop()
    rmSync(dataDir, { recursive: true, force: true })
  })

  async function start(identity = 'one'): Promise<{ tools: () => readonly Tool[]; source: ToolSource }> {
    let tools: readonly Tool[] = []
    const source = createKubernetesSource({
      api: connectKubernetes({
        apiGroup: 'toolgate.dev',
        kubeconfig: kube.kubeconfig('gateway'),
        log: SILENT,
      }),
      apiGroup: 'toolgate.dev',
      dataDir: join(dataDir, identity),
      egress,
      log: SILENT,
      leaseNamespace: 'toolgate',
      identity,
      resyncMs: 700,
      leaseSeconds: 3,
    })
    running.push(source)
    await source.start(published => {
      tools = published
    })
    return { tools: () => tools, source }
  }

  const create = (object: object) => api.create(object as KubernetesObject)
  const read = (kind: string, name: string, apiVersion = 'toolgate.dev/v1alpha1', namespace = NAMESPACE) =>
    api.read({ apiVersion, kind, metadata: { name, namespace } }) as Promise<Loose>
  const phase = async (name: string, namespace = NAMESPACE) =>
    (await read('ToolSet', name, undefined, namespace)).status?.phase
  const toolObjects = async () =>
    (await api.list('toolgate.dev/v1alpha1', 'Tool', NAMESPACE)).items as Loose[]

  describe('the API server refuses', () => {
    it.each<[string, object]>([
      ['no displayName', { displayName: undefined }],
      ['a displayName of 65 characters', { displayName: 'x'.repeat(65) }],
      ['two sources', { openAPISpec: { url: 'http://a.test', inline: '{}' } }],
      ['no source', { openAPISpec: {} }],
      ['refreshInterval without url', { openAPISpec: { inline: '{}', refreshInterval: '1h' } }],
      ['a refreshInterval that is none', { openAPISpec: { url: 'http://a.test', refreshInterval: 'soon' } }],
      ['an unknown method', { selector: { methods: ['FETCH'] } }],
      ['a pathPrefix without slash', { selector: { pathPrefix: 'a' } }],
      ['a prefix with a space', { naming: { prefix: 'a b' } }],
      ['a rate of 0', { toolDefaults: { rateLimit: { requestsPerMinute: 0 } } }],
      ['bearer without secret', { toolDefaults: { authentication: { type: 'bearer' } } }],
      ['an unknown authentication', { toolDefaults: { authentication: { type: 'oauth' } } }],
      ['enabled as text', { enabled: 'yes' }],
      ['a baseURL with a password', { baseURL: 'http://u:p@a.test' }],
    ])('a ToolSet with %s', async (_, spec) => {
      await expect(create(toolSetResource('bad', spec))).rejects.toMatchObject({ code: 422 })
    })
  })

  it('a ToolSet becomes Ready, its tools are served and written as objects it owns', async () => {
    await create(toolSetResource('shop', inline('listOrders', 'ping')))
    const { tools } = await start()
    await until(() => tools().length === 2, 'the tools')
    await eventually(async () => expect(await toolObjects()).toHaveLength(2), 'the Tool objects')
    await eventually(async () => expect(await phase('shop')).toBe('Ready'), 'the phase')
    const { status, metadata } = await read('ToolSet', 'shop')
    expect(status).toMatchObject({
      toolCount: 2,
      tools: ['listOrders', 'ping'],
      specHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    const ping = await read('Tool', 'ping')
    expect(ping.metadata?.ownerReferences?.[0]?.uid).toBe(metadata?.uid)
    expect(ping.spec).toMatchObject({ method: 'GET', endpoint: 'http://backend.test/ping', enabled: true })
  })

  it('a document that changes adds and removes tools; a field edited by hand stays', async () => {
    const source = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'spec', namespace: NAMESPACE } }
    await create({ ...source, data: { 'a.json': documentOf('a', 'b') } })
    await create(toolSetResource('shop', { openAPISpec: { configMapRef: { name: 'spec', key: 'a.json' } } }))
    const { tools } = await start()
    await eventually(async () => expect(await toolObjects()).toHaveLength(2), 'the Tool objects')
    const edited = await read('Tool', 'a')
    await api.replace({ ...edited, spec: { ...edited.spec, description: 'By hand.' } } as KubernetesObject)
    await until(() => tools().find(tool => tool.name === 'a')?.description === 'By hand.', 'the edit')
    const map = await read('ConfigMap', 'spec', 'v1')
    await api.replace({ ...map, data: { 'a.json': documentOf('a', 'c') } } as KubernetesObject)
    await until(
      () =>
        tools()
          .map(tool => tool.name)
          .join() === 'a,c',
      'the new document',
    )
    await eventually(async () => {
      expect((await toolObjects()).map(object => object.metadata?.name).sort()).toEqual(['a', 'c'])
    }, 'the objects')
    expect((await read('Tool', 'a')).spec?.description).toBe('By hand.')
    expect(tools()[0]?.description).toBe('By hand.')
  })

  it('credentials come from Secrets of bound namespaces only', async () => {
    const secret = { apiVersion: 'v1', kind: 'Secret', stringData: { token: 's3cret' } }
    const toolDefaults = {
      authentication: { type: 'bearer', secretRef: { name: 'backend', key: 'token' } },
    }
    await create({ ...secret, metadata: { name: 'backend', namespace: NAMESPACE } })
    await create({ ...secret, metadata: { name: 'backend', namespace: 'tenant-other' } })
    await create(toolSetResource('bound', { ...inline('a'), toolDefaults }))
    await create(toolSetResource('unbound', { ...inline('b'), toolDefaults }, 'tenant-other'))
    const { tools } = await start()
    await until(() => tools().length === 1, 'the tools')
    expect(tools()[0]?.authentication).toEqual({ type: 'bearer', credential: 's3cret' })
    await eventually(
      async () => expect(await phase('unbound', 'tenant-other')).toBe('Error'),
      'the Error phase',
    )
    const { status } = await read('ToolSet', 'unbound', undefined, 'tenant-other')
    expect(status?.lastError).toContain('403')
    expect(JSON.stringify(await toolObjects())).not.toContain('s3cret')
  })

  it('Disabled, and Error with the last Ready tools kept', async () => {
    await create(toolSetResource('off', { ...inline('x'), enabled: false }))
    await create(toolSetResource('shop', inline('a')))
    const { tools } = await start()
    await eventually(async () => expect(await phase('off')).toBe('Disabled'), 'the Disabled phase')
    const shop = await read('ToolSet', 'shop')
    await api.replace({
      ...shop,
      spec: { ...shop.spec, openAPISpec: { inline: '<html>' } },
    } as KubernetesObject)
    await eventually(async () => expect(await phase('shop')).toBe('Error'), 'the Error phase')
    expect(tools().map(tool => tool.name)).toEqual(['a'])
    const repaired = await read('ToolSet', 'shop')
    await api.replace({ ...repaired, spec: { ...repaired.spec, ...inline('a') } } as KubernetesObject)
    await eventually(async () => {
      expect((await read('ToolSet', 'shop')).status).toMatchObject({ phase: 'Ready' })
      expect((await read('ToolSet', 'shop')).status?.lastError).toBeUndefined()
    }, 'the Ready phase')
  })

  it('two instances serve the same, one writes, and the other takes over', async () => {
    await create(toolSetResource('shop', inline('a')))
    const first = await start('one')
    const second = await start('two')
    await until(() => first.tools().length === 1 && second.tools().length === 1, 'both')
    const holder = async () =>
      (await read('Lease', 'toolgate-toolsets', 'coordination.k8s.io/v1', 'toolgate')).spec?.holderIdentity
    await eventually(async () => expect(await holder()).toBe('one'), 'the first leader')
    await first.source.close()
    await eventually(async () => expect(await holder()).toBe('two'), 'the second leader')
    await create(toolSetResource('more', inline('b')))
    await eventually(async () => expect(await phase('more')).toBe('Ready'), 'a status written by the second')
    expect(
      second
        .tools()
        .map(tool => tool.name)
        .sort(),
    ).toEqual(['a', 'b'])
  })
})

/** Tries until it does not throw. */
async function eventually(check: () => Promise<unknown>, what: string, timeoutMs = 20_000): Promise<void> {
  const end = Date.now() + timeoutMs
  for (;;) {
    try {
      await check()
      return
    } catch (error) {
      if (Date.now() > end) throw new Error(`waited ${timeoutMs} ms for ${what}: ${String(error)}`)
      await new Promise(resolve => setTimeout(resolve, 100))
    }
  }
}
