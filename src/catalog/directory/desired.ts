/** Contents of all files → what should be: tool-sets in order, tools by hand, and the faults. Pure but for the order it keeps. */
import type { ToolSet } from '../../model/tool-set.ts'
import type { DesiredToolSet } from '../reconcile.ts'
import { faultText } from '../resource/fields.ts'
import type { ToolResource } from '../resource/tool-resource.ts'
import type { ManualTool } from '../sync/served-tools.ts'
import type { ReferenceReader } from '../sync/tool-set-sync.ts'
import type { FileContent } from './read-directory.ts'

export interface DirectoryState {
  readonly toolSets: readonly DesiredToolSet[]
  readonly faults: readonly { readonly path: string; readonly message: string }[]
  /** Reads the credentials of tools; one that cannot be read leaves its tool out. */
  resolveManualTools(
    references: ReferenceReader,
    onFault: (resource: ToolResource, message: string) => void,
  ): Promise<readonly ManualTool[]>
}

/** @param order positions by `namespace/name`; new ones are added behind */
export function desiredFrom(contents: readonly FileContent[], order: Map<string, number>): DirectoryState {
  const toolSets = new Map<string, DesiredToolSet>()
  const tools = new Map<string, ToolResource>()
  const faults: { path: string; message: string }[] = []
  for (const { path, results, fault } of contents) {
    if (fault !== undefined) faults.push({ path, message: fault })
    for (const result of results) {
      if (!result.ok) {
        const message = faultText(result.faults)
        faults.push({ path, message })
        if (result.kind === 'ToolSet' && result.meta !== undefined)
          addToolSet(toolSets, result.meta, undefined, message)
      } else if (result.resource.kind === 'ToolSet') {
        const { value } = result.resource
        if (!addToolSet(toolSets, value, value, fault === undefined ? undefined : `${path} ${fault}`)) {
          faults.push({
            path,
            message: `ToolSet ${value.namespace}/${value.name} is defined already in another file`,
          })
        }
      } else {
        const { value } = result.resource
        tools.set(`${value.namespace}/${value.name}`, value)
      }
    }
  }
  for (const key of toolSets.keys()) if (!order.has(key)) order.set(key, order.size)
  const sorted = [...toolSets.entries()].sort(([a], [b]) => order.get(a)! - order.get(b)!)
  return {
    toolSets: sorted.map(([, wanted]) => wanted),
    faults,
    resolveManualTools: (references, onFault) => resolveManualTools([...tools.values()], references, onFault),
  }
}

function addToolSet(
  into: Map<string, DesiredToolSet>,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  toolSet: ToolSet | undefined,
  fault: string | undefined,
): boolean {
  const key = `${namespace}/${name}`
  if (into.has(key)) return false
  into.set(key, { namespace, name, toolSet, fault })
  return true
}

async function resolveManualTools(
  resources: readonly ToolResource[],
  references: ReferenceReader,
  onFault: (resource: ToolResource, message: string) => void,
): Promise<readonly ManualTool[]> {
  const manualTools: ManualTool[] = []
  for (const resource of resources) {
    const ref = resource.authentication?.secretRef
    try {
      const credential = ref === undefined ? undefined : await references.readSecret(resource.namespace, ref)
      manualTools.push({ resource, credential })
    } catch (error) {
      onFault(resource, error instanceof Error ? error.message : String(error))
    }
  }
  return manualTools
}
