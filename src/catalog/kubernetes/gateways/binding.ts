/** Reads a GatewayBinding object, with the document in its ConfigMap, into a configuration tree and its owner. `objects.ts` applies the tree. */
import { createHash } from 'node:crypto'
import { isObject } from '../../../base/json/is-object.ts'
import { faultText } from '../../../model/resource-fault.ts'
import { gatewayBindingSpec } from '../../../model/schema/gateway-object-specs.ts'
import { readBySchema } from '../../../model/schema/read-resource.ts'
import { tenantOfNamespace } from '../../../model/tool-set.ts'
import { parseDocumentText } from '../../document/parse-document.ts'
import type { KubeObject } from '../api.ts'

const CONFIGURATION = { apiVersion: 'toolgate.dev/v1', kind: 'Configuration' } as const

export interface Binding {
  readonly tenant: string
  /** Key of the API in a configuration tree: its path, with `@` and the version where the path has several. */
  readonly key: string
  readonly api: Readonly<Record<string, unknown>>
  /** Name of the GatewayInstance whose state the status shows; undefined: none. */
  readonly instance: string | undefined
  readonly overwriteDrift: boolean
}

/** Reads one key of a ConfigMap. @throws Error that names what is missing */
export type ReadConfigMap = (namespace: string, name: string, key: string) => Promise<string>

/** @throws Error with the reason; faults of the binding name the field */
export async function readBinding(object: KubeObject, readConfigMap: ReadConfigMap): Promise<Binding> {
  const { namespace } = object.metadata
  const tenant = tenantOfNamespace(namespace)
  if (tenant === undefined || tenant === null)
    throw new Error(
      `metadata.namespace is ${namespace}, which belongs to no tenant: create the GatewayBinding in the namespace tenant-{name}`,
    )
  const { value, faults } = readBySchema(gatewayBindingSpec, object.spec ?? {}, 'spec')
  if (value === undefined) throw new Error(faultText(faults))
  const { path, api, gatewayRef, overwriteDrift = false } = value
  return {
    tenant,
    key: path,
    overwriteDrift,
    api: { ...api, ...(await documentOf(namespace, api.spec, readConfigMap)) },
    instance: gatewayRef?.name,
  }
}

/** The document itself, or that of a ConfigMap in the namespace of the binding. */
async function documentOf(
  namespace: string,
  spec: unknown,
  readConfigMap: ReadConfigMap,
): Promise<{ readonly spec?: unknown }> {
  if (!isObject(spec) || !isObject(spec.configMapRef)) return {}
  const { name, key } = spec.configMapRef
  if (typeof name !== 'string' || typeof key !== 'string')
    throw new Error('spec.api.spec.configMapRef is not complete: write the name and the key of a ConfigMap')
  return { spec: parseDocumentText(await readConfigMap(namespace, name, key)) }
}

/** One owner for each object, so that no object changes or deletes resources of another. */
export function ownerOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `kubernetes-${createHash('sha256').update(`${namespace}/${name}`).digest('hex').slice(0, 24)}`
}

export function treeOf(object: KubeObject, { tenant, key, api }: Binding): object {
  return {
    ...CONFIGURATION,
    owner: ownerOf(object.metadata),
    tenants: { [tenant]: { apis: { [key]: api } } },
  }
}

/** With `prune`, deletes what the binding has applied. */
export function emptyTreeOf(object: KubeObject): object {
  return { ...CONFIGURATION, owner: ownerOf(object.metadata) }
}
