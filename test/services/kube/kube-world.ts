/** The Kubernetes source, seen as any source: resources are objects of a real API server, written as an administrator writes them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectKubernetes } from '../../../src/catalog/kubernetes/client.ts'
import { createKubernetesSource } from '../../../src/catalog/kubernetes/source.ts'
import type { ToolSource } from '../../../src/catalog/source.ts'
import { reviewView } from '../../../src/data-plane/listing/view-review.ts'
import type { Tool } from '../../../src/model/tool.ts'
import type { ToolSetStatus } from '../../../src/model/tool-set.ts'
import { createEgress } from '../../../src/net/egress/client.ts'
import { type Log, SILENT } from '../../../src/telemetry/log.ts'
import { API_VERSION, eventually, NAMESPACE, type SourceWorld } from '../../contract/toolsets/source-world.ts'
import { noDamage } from '../../fixtures/no-damage.ts'
import type { Kube } from './kube.ts'

/** @param kube its tool sets, tools and tool views are deleted first */
export async function openCluster(kube: Kube, log: Log = SILENT): Promise<SourceWorld> {
  const dataDir = mkdtempSync(join(tmpdir(), 'toolsets-kube-'))
  const egress = createEgress({ allow: [], allowLoopback: true })
  const kubeconfig = await kube.gatewayKubeconfig()
  const published: (readonly Tool[])[] = []
  let source: ToolSource | undefined

  async function start(): Promise<void> {
    source = createKubernetesSource({
      api: connectKubernetes({ apiGroup: 'toolgate.dev', kubeconfig, log }),
      apiGroup: 'toolgate.dev',
      dataDir,
      egress,
      log,
      onDamage: noDamage,
      review: reviewView,
      leaseNamespace: 'toolgate',
      identity: 'one',
      resyncMs: 700,
      leaseSeconds: 3,
    })
    await source.start(tools => published.push(tools))
  }

  await kube.clear()
  await start()
  return {
    published,
    put(name, spec, { namespace = NAMESPACE, annotations = {} } = {}) {
      const metadata = { name, namespace, annotations }
      return kube.apply({
        apiVersion: API_VERSION,
        kind: 'ToolSet',
        metadata,
        spec: { displayName: name, ...spec },
      })
    },
    remove: (name, namespace = NAMESPACE) => kube.remove('ToolSet', name, namespace),
    async putKey(kind, name, key, text) {
      const metadata = { name, namespace: NAMESPACE }
      const data = kind === 'Secret' ? { stringData: { [key]: text } } : { data: { [key]: text } }
      const refused = await kube.apply({ apiVersion: 'v1', kind, metadata, ...data })
      if (refused !== undefined) throw new Error(refused)
    },
    async editTool(name, spec) {
      const isThere = async () => (await kube.get('Tool', name, NAMESPACE)) !== undefined
      await eventually(isThere, `the Tool object ${name}`)
      const metadata = { name, namespace: NAMESPACE }
      const refused = await kube.apply(
        { apiVersion: API_VERSION, kind: 'Tool', metadata, spec },
        `editor-of-${name}`,
      )
      if (refused !== undefined) throw new Error(refused)
    },
    async restart() {
      await source?.close()
      await start()
    },
    status: async (name, namespace = NAMESPACE) =>
      (await kube.get('ToolSet', name, namespace))?.status as ToolSetStatus | undefined,
    async close() {
      await source?.close()
      await egress.close()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}
