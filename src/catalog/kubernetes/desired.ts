/** Objects of the cluster → what should be, in the order of their creation. It writes nothing. */
import type { Desired, DesiredToolSet } from '../reconcile.ts'
import { faultText } from '../resource/fields.ts'
import { readResource } from '../resource/resource.ts'
import type { ManualTool } from '../sync/served-tools.ts'
import type { ReferenceReader } from '../sync/tool-set-sync.ts'
import type { KubeObject } from './api.ts'
import { editedFields, toolNameOf } from './tool-objects.ts'

export interface ClusterState {
  readonly desired: Desired
  readonly faults: readonly { readonly object: string; readonly message: string }[]
}

export async function desiredFromObjects(
  toolSets: readonly KubeObject[],
  tools: readonly KubeObject[],
  references: ReferenceReader,
  apiGroup: string,
): Promise<ClusterState> {
  const faults: { object: string; message: string }[] = []
  const manualTools: ManualTool[] = []
  for (const object of tools) {
    const manual = await manualToolFrom(object, references, apiGroup)
    if (typeof manual === 'string') faults.push({ object: `Tool ${keyOf(object)}`, message: manual })
    else if (manual !== undefined) manualTools.push(manual)
  }
  return {
    desired: {
      toolSets: [...toolSets].sort(byCreation).map(object => toolSetFrom(object, apiGroup)),
      manualTools,
    },
    faults,
  }
}

function toolSetFrom(object: KubeObject, apiGroup: string): DesiredToolSet {
  const { namespace, name } = object.metadata
  const result = readResource(withKind(object, 'ToolSet', apiGroup), apiGroup)
  if (!result.ok) return { namespace, name, toolSet: undefined, fault: faultText(result.faults) }
  return { namespace, name, toolSet: result.resource.value as DesiredToolSet['toolSet'], fault: undefined }
}

/** undefined: nobody edited what the gateway wrote. A string: why the object cannot be used. */
async function manualToolFrom(
  object: KubeObject,
  references: ReferenceReader,
  apiGroup: string,
): Promise<ManualTool | string | undefined> {
  const spec = editedFields(object, apiGroup)
  if (Object.keys(spec).length === 0) return undefined
  const metadata = { ...object.metadata, name: toolNameOf(object, apiGroup) }
  const result = readResource(withKind({ ...object, metadata, spec }, 'Tool', apiGroup), apiGroup)
  if (!result.ok) return faultText(result.faults)
  if (result.resource.kind !== 'Tool') return 'is no Tool'
  const resource = result.resource.value
  const ref = resource.authentication?.secretRef
  try {
    const credential = ref === undefined ? undefined : await references.readSecret(resource.namespace, ref)
    return { resource, credential }
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Lists leave out apiVersion and kind of their items. */
function withKind(object: KubeObject, kind: string, apiGroup: string): KubeObject {
  return { ...object, apiVersion: `${apiGroup}/v1alpha1`, kind }
}

function byCreation(a: KubeObject, b: KubeObject): number {
  const [first, second] = [stampOf(a), stampOf(b)]
  return first < second ? -1 : first > second ? 1 : 0
}

function stampOf(object: KubeObject): string {
  const { creationTimestamp } = object.metadata
  const time = creationTimestamp === undefined ? 0 : new Date(creationTimestamp).getTime()
  return `${String(time).padStart(16, '0')} ${keyOf(object)}`
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`
}
