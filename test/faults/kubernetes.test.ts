/** The Kubernetes API behind the fault proxy: tools stay in service, and a changed ToolSet arrives soon after the return. */
import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { KUBE_INSTALLED, Kube, type KubeManifest } from '../services/kube/kube.ts'
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts'
import { runTable } from './run-table.ts'
import { prepareSubject } from './subject.ts'
import { KUBERNETES } from './tables/kubernetes.ts'
import { breakProxy, type World } from './world.ts'

const HINT = 'scripts/services.sh kubernetes installs it'
const isMissing = !KUBE_INSTALLED && process.env.REQUIRE_SERVICES !== '1'

async function open(): Promise<World> {
  const kube = new Kube()
  await kube.start()
  const proxy: FaultProxy = await startFaultProxy(kube.url)
  const subject = await prepareSubject({
    env: { TOOLSETS: 'kubernetes:', KUBECONFIG: await kube.gatewayKubeconfig(proxy.port) },
  })
  const manifest = JSON.parse(readFileSync(`${subject.root}/toolsets/faults.yaml`, 'utf8')) as KubeManifest
  const spec = manifest.spec as { readonly [field: string]: unknown }
  let revision = 0
  const change = async (): Promise<string> => {
    const description = `revision ${revision++}`
    const toolDefaults = { ...(spec.toolDefaults as object), tags: [description.replace(' ', '-')] }
    const openAPISpec = { inline: JSON.stringify(withSummary(spec, description)) }
    const refused = await kube.apply({ ...manifest, spec: { ...spec, toolDefaults, openAPISpec } })
    if (refused !== undefined) throw new Error(refused)
    return description
  }
  const listed = (description: string, timeout = 10_000): Promise<void> =>
    expect.poll(async () => (await subject.listTools()).text, { timeout }).toContain(description)
  await change()
  return {
    subject: subject.process,
    dependency: breakProxy(proxy),
    maxCallMs: 2_000,
    call: () => subject.callTool('fast'),
    longCall: () => subject.callTool('slow'),
    longCalls: subject.slowCalls,
    isFine: ({ status }) => status === 200,
    see: () => subject.see('tool-sets'),
    async begin() {},
    async enter({ moment }) {
      // the watches end, and the next ones are opened while the fault lasts
      if (moment === 'subscribing') proxy.reset()
      // the tools are in service, and the leader writes the status and the Tool objects
      if (moment === 'transaction') await listed(await change())
      return async () => {}
    },
    async verify() {
      await listed(await change(), 3_000)
    },
    async close() {
      await subject.close()
      await proxy.close()
      await kube.stop()
    },
  }
}

/** The document of the tool set with another summary of its operations. */
function withSummary(spec: { readonly [field: string]: unknown }, summary: string): object {
  const text = (spec.openAPISpec as { readonly inline: string }).inline
  const document = JSON.parse(text) as { paths: { [path: string]: { get: object } } }
  for (const path of Object.values(document.paths)) path.get = { ...path.get, summary }
  return document
}

runTable(KUBERNETES, { skip: isMissing ? HINT : undefined, open })
