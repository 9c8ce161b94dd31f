/** Turns objects of the cluster into desired tool sets, tools and views, with faults. */

import { faultText } from '../../model/resource-fault.ts'
import type { Desired, DesiredToolSet, UnusableResource } from '../desired.ts'
import { readResource } from '../resource/resource.ts'
import { type ManualTool, withCredential } from '../sync/manual-tool.ts'
import { keyOf } from '../sync/resource-key.ts'
import type { ReferenceReader } from '../sync/tool-set-sync.ts'
import type { DesiredView } from '../views/view-book.ts'
import type { KubeObject } from './api.ts'
import { editedFields, toolNameOf } from './tool-objects.ts'

export async function desiredFromObjects(
  toolSets: readonly KubeObject[],
  tools: readonly KubeObject[],
  views: readonly KubeObject[],
  references: ReferenceReader,
  apiGroup: string,
): Promise<Desired> {
  const faults: UnusableResource[] = []
  const manualTools: ManualTool[] = []
  for (const object of tools) {
    const manual = await manualToolFrom(object, references, apiGroup)
    if (typeof manual === 'string') {
      const target = { namespace: object.metadata.namespace, name: toolNameOf(object, apiGroup) }
      faults.push({ resource: `Tool ${keyOf(object.metadata)}`, message: manual, target })
    } else if (manual !== undefined) manualTools.push(manual)
  }
  const sorted = [...toolSets].sort(byCreation)
  return {
    toolSets: sorted.map(object => toolSetFrom(object, apiGroup)),
    manualTools,
    views: views.map(object => viewFrom(object, apiGroup)),
    faults,
  }
}

function toolSetFrom(object: KubeObject, apiGroup: string): DesiredToolSet {
  const { namespace, name } = object.metadata
  const result = readResource(withKind(object, 'ToolSet', apiGroup), apiGroup)
  if (!result.ok) return { namespace, name, toolSet: undefined, fault: faultText(result.faults) }
  return { namespace, name, toolSet: result.resource.value as DesiredToolSet['toolSet'], fault: undefined }
}

function viewFrom(object: KubeObject, apiGroup: string): DesiredView {
  const { namespace, name } = object.metadata
  const result = readResource(withKind(object, 'ToolView', apiGroup), apiGroup)
  if (!result.ok) return { namespace, name, view: undefined, fault: faultText(result.faults) }
  return { namespace, name, view: result.resource.value as DesiredView['view'], fault: undefined }
}

/** undefined: the object is as the gateway wrote it. A string: the reason why the object cannot be used. */
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
  if (result.resource.kind !== 'Tool') return 'the resource is not a Tool'
  try {
    return await withCredential(result.resource.value, references)
  } catch (error) {
    return (error as Error).message
  }
}

/** The items of a list lack apiVersion and kind. */
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
  return `${String(time).padStart(16, '0')} ${keyOf(object.metadata)}`
}
