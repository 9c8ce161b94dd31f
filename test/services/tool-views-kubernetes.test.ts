/** ToolViews as objects of a real API server: read, with a status, by least rights, and also where the cluster does not know them yet. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { connectKubernetes } from '../../src/catalog/kubernetes/client.ts'
import { createKubernetesSource } from '../../src/catalog/kubernetes/source.ts'
import type { ToolSource } from '../../src/catalog/source.ts'
import { reviewView } from '../../src/data-plane/listing/view-review.ts'
import type { ToolView, ToolViewStatus } from '../../src/model/tool-view.ts'
import { createEgress } from '../../src/net/egress/client.ts'
import { SILENT } from '../../src/telemetry/log.ts'
import { API_VERSION, BASE_URL, eventually, inline, NAMESPACE } from '../contract/toolsets/source-world.ts'
import { noDamage } from '../fixtures/no-damage.ts'
import { KUBE_INSTALLED, Kube, type KubeManifest } from './kube/kube.ts'

const required = process.env.REQUIRE_SERVICES === '1'
const DEFINITION = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/toolviews.toolgate.dev'

describe.skipIf(!KUBE_INSTALLED && !required)('ToolViews in Kubernetes', () => {
  const kube = new Kube()
  const egress = createEgress({ allow: [], allowLoopback: true })
  const root = mkdtempSync(join(tmpdir(), 'views-kube-'))
  const running: ToolSource[] = []
  const warnings: string[] = []

  beforeAll(() => kube.start(), 180_000)
  afterEach(async () => {
    for (const source of running.splice(0)) await source.close()
    await kube.clear()
  })
  afterAll(async () => {
    await kube.stop()
    await egress.close()
    rmSync(root, { recursive: true, force: true })
  })

  async function start() {
    const current: { views: readonly ToolView[]; tools: number } = { views: [], tools: 0 }
    const kubeconfig = await kube.gatewayKubeconfig()
    const source = createKubernetesSource({
      api: connectKubernetes({ apiGroup: 'toolgate.dev', kubeconfig, log: SILENT }),
      apiGroup: 'toolgate.dev',
      egress,
      log: { ...SILENT, warn: (fields: object) => void warnings.push(JSON.stringify(fields)) },
      onDamage: noDamage,
      review: reviewView,
      leaseNamespace: 'toolgate',
      identity: 'one',
      dataDir: mkdtempSync(join(root, 'data-')),
      resyncMs: 500,
      leaseSeconds: 3,
    })
    running.push(source)
    await source.start((tools, views) => {
      current.tools = tools.length
      current.views = views
    })
    return current
  }

  const object = (kind: string, name: string, spec: object): KubeManifest => ({
    apiVersion: API_VERSION,
    kind,
    metadata: { name, namespace: NAMESPACE },
    spec,
  })
  const applied = async (manifest: KubeManifest) => expect(await kube.apply(manifest)).toBeUndefined()
  const shop = () =>
    applied(object('ToolSet', 'shop', { displayName: 'shop', baseURL: BASE_URL, ...inline('a', 'b', 'c') }))
  const statusOf = async (name: string) =>
    (await kube.get('ToolView', name, NAMESPACE))?.status as ToolViewStatus | undefined

  it('are served with their status, change and go', async () => {
    await shop()
    await applied(object('ToolView', 'two', { select: { tools: ['a', 'b'] }, order: ['b'] }))
    const current = await start()
    await eventually(async () => (await statusOf('two'))?.toolCount === 2, 'the status')
    expect(await statusOf('two')).toMatchObject({ phase: 'Ready', tools: ['b', 'a'] })
    const named = { name: 'two', namespace: NAMESPACE, tenant: 'acme' }
    expect(current.views).toMatchObject([{ ...named, select: { tools: ['a', 'b'] }, order: ['b'] }])
    await applied(
      object('ToolView', 'two', { select: { tools: ['*'] }, tools: [{ tool: 'c', name: 'last' }] }),
    )
    await eventually(async () => (await statusOf('two'))?.toolCount === 3, 'the changed status')
    expect((await statusOf('two'))?.tools).toEqual(['a', 'b', 'last'])
    const changes = [{ tool: 'c', name: 'last' }]
    expect(current.views).toMatchObject([{ ...named, select: { tools: ['*'] }, order: [], changes }])
    await kube.remove('ToolView', 'two', NAMESPACE)
    await eventually(async () => current.views.length === 0, 'the end of the view')
  })

  it('with the name of a ToolSet have the reason in their status, and the API server refuses what it can', async () => {
    await shop()
    await applied(object('ToolView', 'shop', {}))
    const current = await start()
    await eventually(async () => (await statusOf('shop'))?.phase === 'Error', 'the fault')
    expect((await statusOf('shop'))?.lastError).toContain('ToolSet tenant-acme/shop has the same name')
    expect(current.views).toEqual([])
    expect(await kube.apply(object('ToolView', 'odd', { tokenBudget: 5 }))).toContain('tokenBudget')
    expect(await kube.apply(object('ToolView', 'odd', { overBudget: 'search' }))).toContain(
      'needs tokenBudget',
    )
  })

  it('are not needed: a cluster without their definition is served, and with it later, too', async () => {
    await shop()
    const definition = JSON.parse((await kube.request('GET', DEFINITION)).text)
    await kube.request('DELETE', DEFINITION)
    await eventually(
      async () => (await kube.request('GET', '/apis/toolgate.dev/v1alpha1/toolviews')).status === 404,
      'the definition is gone',
    )
    const current = await start()
    expect(current.tools).toBe(3)
    expect(warnings.join()).toContain('no CustomResourceDefinition toolviews.toolgate.dev')
    const { name } = definition.metadata
    await applied({
      apiVersion: definition.apiVersion,
      kind: definition.kind,
      metadata: { name },
      spec: definition.spec,
    })
    await eventually(
      async () => (await kube.apply(object('ToolView', 'one', { select: { tools: ['a'] } }))) === undefined,
      'the definition is back',
    )
    await eventually(async () => current.views.length === 1, 'the view')
    expect(current.views).toMatchObject([{ name: 'one', select: { tools: ['a'] } }])
  })
})
