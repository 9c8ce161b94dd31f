/** The directory source behind the interface of the suites: resources are written as files, and the status is read from files. */
import { Deployment } from '../../unit/catalog/deployment.ts'
import { API_VERSION, NAMESPACE, type SourceWorld } from './source-world.ts'

export async function openDirectory(): Promise<SourceWorld> {
  const deployment = new Deployment()
  await deployment.start()
  return {
    published: deployment.published,
    async put(name, spec, { namespace = NAMESPACE, annotations } = {}) {
      const metadata = { name, namespace, ...(annotations === undefined ? {} : { annotations }) }
      const whole = { displayName: name, ...spec }
      deployment.write(`${namespace}.${name}.yaml`, {
        apiVersion: API_VERSION,
        kind: 'ToolSet',
        metadata,
        spec: whole,
      })
      return undefined
    },
    async remove(name, namespace = NAMESPACE) {
      deployment.remove(`${namespace}.${name}.yaml`)
    },
    async putKey(kind, name, key, text) {
      deployment.write(`${kind === 'Secret' ? 'secrets' : 'configmaps'}/${name}/${key}`, text)
    },
    async editTool(name, fields) {
      const metadata = { name, namespace: NAMESPACE }
      deployment.write(`tool.${name}.yaml`, { apiVersion: API_VERSION, kind: 'Tool', metadata, spec: fields })
    },
    async restart() {
      await deployment.stop()
      await deployment.start()
    },
    status: async (name, namespace) => deployment.status(name, namespace),
    close: () => deployment.close(),
  }
}
