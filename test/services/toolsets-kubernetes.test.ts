/** The Kubernetes source on a real API server: owners, columns, subresources, least rights, leaders, a whole gateway, a server that is unavailable. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { connectKubernetes } from '../../src/catalog/kubernetes/client.ts'
import { createKubernetesSource } from '../../src/catalog/kubernetes/source.ts'
import type { ToolSource } from '../../src/catalog/source.ts'
import { reviewView } from '../../src/data-plane/listing/view-review.ts'
import type { Tool } from '../../src/model/tool.ts'
import type { ToolSetStatus } from '../../src/model/tool-set.ts'
import { createEgress } from '../../src/net/egress/client.ts'
import { SILENT } from '../../src/telemetry/log.ts'
import { API_VERSION, BASE_URL, eventually, inline, NAMESPACE } from '../contract/toolsets/source-world.ts'
import { deploy } from '../fixtures/deployment.ts'
import { noDamage } from '../fixtures/no-damage.ts'
import { serve } from '../unit/catalog/deployment.ts'
import { KUBE_INSTALLED, Kube, type KubeManifest } from './kube/kube.ts'

const required = process.env.REQUIRE_SERVICES === '1'

describe.skipIf(!KUBE_INSTALLED && !required)('Kubernetes (bring it: scripts/services.sh kubernetes)', () => {
  const kube = new Kube()
  const egress = createEgress({ allow: [], allowLoopback: true })
  const root = mkdtempSync(join(tmpdir(), 'toolsets-kube-'))
  const running: ToolSource[] = []
  let started = 0

  beforeAll(() => kube.start(), 180_000)
  afterEach(async () => {
    for (const source of running.splice(0)) await source.close()
    await kube.clear()
  })
  afterAll(async () => {
    await egress.close()
    await kube.stop()
    rmSync(root, { recursive: true, force: true })
  })

  function sourceOf(api: ReturnType<typeof connectKubernetes>, identity: string, folder: string): ToolSource {
    return createKubernetesSource({
      api,
      apiGroup: 'toolgate.dev',
      egress,
      log: SILENT,
      onDamage: noDamage,
      review: reviewView,
      leaseNamespace: 'toolgate',
      identity,
      dataDir: join(root, folder),
      resyncMs: 700,
      leaseSeconds: 3,
    })
  }

  async function start(identity = 'one') {
    const current: { tools: readonly Tool[]; source: ToolSource } = { tools: [], source: undefined as never }
    const kubeconfig = await kube.gatewayKubeconfig()
    const api = connectKubernetes({ apiGroup: 'toolgate.dev', kubeconfig, log: SILENT })
    current.source = sourceOf(api, identity, `${identity}-${++started}`)
    running.push(current.source)
    await current.source.start(tools => {
      current.tools = tools
    })
    return current
  }

  const toolSet = (name: string, spec: object, namespace = NAMESPACE): KubeManifest => {
    const whole = { displayName: name, baseURL: BASE_URL, ...spec }
    return { apiVersion: API_VERSION, kind: 'ToolSet', metadata: { name, namespace }, spec: whole }
  }
  const applied = async (object: KubeManifest, manager?: string) =>
    expect(await kube.apply(object, manager)).toBeUndefined()
  const statusOf = async (name: string, namespace = NAMESPACE) =>
    (await kube.get('ToolSet', name, namespace))?.status as ToolSetStatus | undefined
  const hasPhase = (name: string, phase: string, namespace?: string) =>
    eventually(async () => (await statusOf(name, namespace))?.phase === phase, `${phase} of ${name}`)
  const objects = async () => (await kube.list('Tool', NAMESPACE)).map(object => object.metadata.name).sort()
  const haveObjects = (...names: string[]) =>
    eventually(async () => (await objects()).join() === names.join(), `the Tool objects ${names.join()}`)
  const edit = (name: string, spec: object) =>
    applied(
      { apiVersion: API_VERSION, kind: 'Tool', metadata: { name, namespace: NAMESPACE }, spec },
      'somebody',
    )

  describe('Tool objects', () => {
    it('are owned by their ToolSet', async () => {
      await applied(toolSet('shop', inline('listOrders', 'ping')))
      await start()
      await haveObjects('listorders-a8624b6b', 'ping')
      const owner = await kube.get('ToolSet', 'shop', NAMESPACE)
      const ping = await kube.get('Tool', 'ping', NAMESPACE)
      expect(ping?.metadata.ownerReferences).toEqual([
        {
          apiVersion: API_VERSION,
          kind: 'ToolSet',
          name: 'shop',
          uid: owner?.metadata.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ])
      expect(ping?.spec).toMatchObject({ method: 'GET', endpoint: `${BASE_URL}/ping`, enabled: true })
    })

    it('come and go with the operations; a tool deleted by hand comes back', async () => {
      await applied(toolSet('shop', inline('a', 'b')))
      await start()
      await haveObjects('a', 'b')
      await applied(toolSet('shop', inline('b', 'c')))
      await haveObjects('b', 'c')
      await kube.remove('Tool', 'c', NAMESPACE)
      await haveObjects('b', 'c')
    })

    it('keep what was written by hand while their ToolSet is disabled', async () => {
      await applied(toolSet('shop', inline('a', 'b')))
      const gateway = await start()
      await haveObjects('a', 'b')
      await edit('a', { description: 'By hand.' })
      await eventually(() => gateway.tools.some(tool => tool.description === 'By hand.'), 'the edit')
      await applied(toolSet('shop', { ...inline('a', 'b'), enabled: false }))
      await haveObjects('a')
      expect(gateway.tools).toEqual([])
      await applied(toolSet('shop', inline('a', 'b')))
      await haveObjects('a', 'b')
      await eventually(() => gateway.tools.some(tool => tool.description === 'By hand.'), 'the edit again')
    })

    it('stay when the source is unavailable at the start of an instance without saved state', async () => {
      const document = JSON.parse(inline('a').openAPISpec.inline) as object
      const server = await serve((_, response) => response.end(JSON.stringify(document)))
      await applied(toolSet('shop', { openAPISpec: { url: server.url } }))
      const first = await start()
      await haveObjects('a')
      await edit('a', { description: 'By hand.' })
      await eventually(() => first.tools[0]?.description === 'By hand.', 'the edit')
      await server.close()
      await first.source.close()
      await start()
      await hasPhase('shop', 'Error')
      expect((await kube.get('Tool', 'a', NAMESPACE))?.spec).toMatchObject({ description: 'By hand.' })
    })

    it.each<[string, object]>([
      ['endpoint', { endpoint: 'ftp://a.test', method: 'GET' }],
      ['method', { endpoint: 'http://a.test', method: 'FETCH' }],
      ['timeout', { timeout: 'soon' }],
      ['requestsPerMinute', { rateLimit: { requestsPerMinute: 0 } }],
      ['type', { authentication: { type: 'oauth' } }],
      ['secret', { authentication: { type: 'basic' } }],
      ['ttl', { cache: {} }],
      ['enabled', { enabled: 'no' }],
      ['description', { description: '' }],
      ['readOnlyHint', { annotations: { readOnlyHint: 'yes' } }],
    ])('with a wrong %s are refused', async (field, spec) => {
      const metadata = { name: 'bad', namespace: NAMESPACE }
      expect(await kube.apply({ apiVersion: API_VERSION, kind: 'Tool', metadata, spec })).toContain(field)
    })
  })

  describe('ToolSet objects', () => {
    it('show phase, tools and time in the columns of kubectl get', async () => {
      await applied(toolSet('shop', inline('a')))
      await start()
      await hasPhase('shop', 'Ready')
      const accept = 'application/json;as=Table;g=meta.k8s.io;v=v1'
      const path = `/apis/toolgate.dev/v1alpha1/namespaces/${NAMESPACE}/toolsets`
      const table = JSON.parse((await kube.request('GET', path, { accept })).text) as {
        columnDefinitions: { name: string }[]
        rows: { cells: unknown[] }[]
      }
      expect(table.columnDefinitions.map(column => column.name)).toEqual([
        'Name',
        'Phase',
        'Tools',
        'Synced',
        'Error',
        'Age',
      ])
      expect(table.rows[0]?.cells.slice(0, 3)).toEqual(['shop', 'Ready', 1])
    })

    it('have a status that only its subresource changes', async () => {
      await applied(toolSet('shop', inline('a')))
      await start()
      await hasPhase('shop', 'Ready')
      const before = (await kube.get('ToolSet', 'shop', NAMESPACE))!
      expect(before.metadata.generation).toBe(1)
      await applied({ ...toolSet('shop', inline('a')), status: { phase: 'Error', toolCount: 9 } }, 'forger')
      expect(await statusOf('shop')).toMatchObject({ phase: 'Ready', toolCount: 1 })
    })

    it('in a namespace that belongs to no tenant are an Error that says so', async () => {
      await applied(toolSet('shop', inline('a'), 'toolgate'))
      const gateway = await start()
      await hasPhase('shop', 'Error', 'toolgate')
      expect((await statusOf('shop', 'toolgate'))?.lastError).toContain('tenant-{name}')
      expect(gateway.tools).toEqual([])
      await kube.remove('ToolSet', 'shop', 'toolgate')
    })
  })

  describe('least rights', () => {
    it('credentials come from Secrets of bound namespaces only, and stand in no object', async () => {
      const authentication = { type: 'bearer', secretRef: { name: 'backend', key: 'token' } }
      for (const namespace of [NAMESPACE, 'tenant-other']) {
        const metadata = { name: 'backend', namespace }
        await applied({ apiVersion: 'v1', kind: 'Secret', metadata, stringData: { token: 's3cret' } })
        await applied(
          toolSet(`in-${namespace}`, { ...inline('a'), toolDefaults: { authentication } }, namespace),
        )
      }
      const gateway = await start()
      await hasPhase('in-tenant-other', 'Error', 'tenant-other')
      expect((await statusOf('in-tenant-other', 'tenant-other'))?.lastError).toContain('403')
      await haveObjects('a')
      expect(gateway.tools.map(tool => tool.authentication)).toEqual([
        { type: 'bearer', credential: 's3cret' },
      ])
      const written = [await kube.list('Tool', NAMESPACE), await kube.list('ToolSet', NAMESPACE)]
      expect(JSON.stringify(written)).not.toContain('s3cret')
    })

    const own = '/apis/toolgate.dev/v1alpha1'
    const core = '/api/v1/namespaces'
    it.each([
      ['GET', `${core}/${NAMESPACE}/secrets`],
      ['GET', `${core}/tenant-other/secrets/any`],
      ['GET', `${core}/tenant-other/configmaps/any`],
      ['GET', '/api/v1/secrets'],
      ['POST', `${core}/${NAMESPACE}/secrets`],
      ['DELETE', `${core}/${NAMESPACE}/configmaps/any`],
      ['POST', `${core}/${NAMESPACE}/pods`],
      ['POST', `${core}/toolgate/serviceaccounts/toolgate/token`],
      ['PUT', `${own}/namespaces/${NAMESPACE}/toolsets/any`],
      ['POST', `${own}/namespaces/${NAMESPACE}/toolsets`],
      ['DELETE', `${own}/namespaces/${NAMESPACE}/toolsets/any`],
      ['GET', '/apis/coordination.k8s.io/v1/namespaces/toolgate/leases/another'],
      ['GET', '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/toolgate-toolsets'],
      ['POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'],
      ['GET', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'],
    ])('the gateway may not %s %s', async (method, path) => {
      const token = await kube.gatewayToken()
      const body = method === 'POST' || method === 'PUT' ? {} : undefined
      const { status } = await kube.request(method, path, { token, ...(body === undefined ? {} : { body }) })
      expect(status).toBe(403)
    })
  })

  it('two instances serve the same, one writes, and the other takes over', async () => {
    await applied(toolSet('shop', inline('a')))
    const first = await start('one')
    const second = await start('two')
    await eventually(() => first.tools.length === 1 && second.tools.length === 1, 'both')
    const holds = (identity: string) =>
      eventually(async () => {
        const lease = await kube.get('Lease', 'toolgate-toolsets', 'toolgate', 'coordination.k8s.io/v1')
        return (lease?.spec as { holderIdentity?: string })?.holderIdentity === identity
      }, `the leader ${identity}`)
    await holds('one')
    await first.source.close()
    await holds('two')
    await applied(toolSet('more', inline('b')))
    await hasPhase('more', 'Ready')
    await haveObjects('a', 'b')
    expect(second.tools.map(tool => tool.name).sort()).toEqual(['a', 'b'])
  })

  it('a whole gateway serves the tools of the cluster and calls them', async () => {
    const backend = await serve((request, response) => {
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ path: request.url }))
    })
    await applied(toolSet('shop', { ...inline('ping'), baseURL: new URL(backend.url).origin }))
    const KUBECONFIG = await kube.gatewayKubeconfig()
    const gateway = await deploy({ TOOLSETS: 'kubernetes:', KUBECONFIG, EXAMPLE: 'false' })
    try {
      const token = await gateway.token('demo-admin')
      const listed = await gateway.post('/mcp/v1/tools', {}, token)
      expect(listed.json.tools.map((tool: { name: string }) => tool.name)).toContain('ping')
      const called = await gateway.post('/mcp/v1/tools/invoke', { name: 'ping', arguments: {} }, token)
      expect(called.text).toContain('/ping')
      await applied(toolSet('shop', { ...inline('ping', 'pong'), baseURL: new URL(backend.url).origin }))
      await eventually(
        async () => (await gateway.post('/mcp/v1/tools', {}, token)).text.includes('"pong"'),
        'the new tool',
      )
    } finally {
      await gateway.stop()
      await backend.close()
    }
  }, 60_000)

  describe('an API server that is unavailable', () => {
    it('takes no tool away, and what changed meanwhile is seen when it is back', async () => {
      await applied(toolSet('shop', inline('a')))
      const gateway = await start('one')
      await eventually(() => gateway.tools.length === 1, 'the tools')
      const other = connectKubernetes({
        apiGroup: 'toolgate.dev',
        kubeconfig: await kube.gatewayKubeconfig(),
        log: SILENT,
      })
      await kube.stopServer()
      // An instance that starts meanwhile waits: an empty list is not a valid state.
      const late: (readonly Tool[])[] = []
      const starting = sourceOf(other, 'late', 'late')
      running.push(starting)
      const ready = starting.start(tools => late.push(tools))
      await new Promise(resolve => setTimeout(resolve, 1500))
      expect([gateway.tools.length, late.length]).toEqual([1, 0])
      await kube.startServer()
      await ready
      expect(late.at(-1)?.map(tool => tool.name)).toEqual(['a'])
      await applied(toolSet('shop', inline('a', 'b')))
      await eventually(() => gateway.tools.length === 2 && late.at(-1)?.length === 2, 'the change')
      await haveObjects('a', 'b')
    }, 60_000)
  })
})
