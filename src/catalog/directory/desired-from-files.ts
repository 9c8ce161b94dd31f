/** Turns the contents of resource files into desired tool sets, tools and views, with faults. A `ReferenceReader` reads the credentials. */

import { faultText } from '../../model/resource-fault.ts'
import type { ToolSet } from '../../model/tool-set.ts'
import type { ToolView } from '../../model/tool-view.ts'
import type { Desired, DesiredToolSet, UnusableResource } from '../desired.ts'
import type { ToolResource } from '../resource/tool-resource.ts'
import { type ManualTool, withCredential } from '../sync/manual-tool.ts'
import { keyOf, type ResourceName } from '../sync/resource-key.ts'
import type { ReferenceReader } from '../sync/tool-set-sync.ts'
import type { DesiredView } from '../views/view-book.ts'
import type { FileContent } from './read-directory.ts'

/** @param order positions by key; new tool sets are appended */
export async function desiredFromFiles(
  contents: readonly FileContent[],
  order: Map<string, number>,
  references: ReferenceReader,
): Promise<Desired> {
  const toolSets = new Map<string, DesiredToolSet>()
  const tools = new Map<string, ToolResource>()
  const views = new Map<string, DesiredView>()
  const faults: UnusableResource[] = []
  for (const { path, results, fault, targets } of contents) {
    if (fault !== undefined) faults.push({ resource: path, message: fault })
    for (const target of targets)
      faults.push({
        resource: path,
        message: `${path} ${fault}; this file may contain the Tool resource for this tool`,
        target,
      })
    for (const result of results) {
      if (!result.ok) {
        const message = faultText(result.faults)
        faults.push({ resource: path, message, target: result.target })
        if (result.kind === 'ToolSet' && result.meta !== undefined)
          addToolSet(toolSets, result.meta, undefined, message)
        if (result.kind === 'ToolView' && result.meta !== undefined)
          addView(views, result.meta, undefined, message)
      } else if (result.resource.kind === 'ToolSet') {
        const { value } = result.resource
        if (!addToolSet(toolSets, value, value, fault === undefined ? undefined : `${path} ${fault}`)) {
          const message = `ToolSet ${keyOf(value)} is defined more than once: remove all definitions except one`
          faults.push({ resource: path, message })
        }
      } else if (result.resource.kind === 'ToolView') {
        const { value } = result.resource
        if (!addView(views, value, value, fault === undefined ? undefined : `${path} ${fault}`))
          faults.push({
            resource: path,
            message: `ToolView ${keyOf(value)} is defined more than once: remove all definitions except one`,
          })
      } else if (tools.has(keyOf(result.resource.value))) {
        const message = `Tool ${keyOf(result.resource.value)} is defined more than once: remove all definitions except one`
        faults.push({ resource: path, message })
      } else tools.set(keyOf(result.resource.value), result.resource.value)
    }
  }
  const manualTools: ManualTool[] = []
  for (const [key, resource] of tools) {
    try {
      manualTools.push(await withCredential(resource, references))
    } catch (error) {
      faults.push({ resource: `Tool ${key}`, message: (error as Error).message, target: resource })
    }
  }
  for (const key of toolSets.keys()) if (!order.has(key)) order.set(key, order.size)
  const sorted = [...toolSets.entries()].sort(([a], [b]) => order.get(a)! - order.get(b)!)
  return { toolSets: sorted.map(([, wanted]) => wanted), manualTools, views: [...views.values()], faults }
}

/** False when the view is defined already. */
function addView(
  into: Map<string, DesiredView>,
  { namespace, name }: ResourceName,
  view: ToolView | undefined,
  fault: string | undefined,
): boolean {
  const key = keyOf({ namespace, name })
  if (into.has(key)) return false
  into.set(key, { namespace, name, view, fault })
  return true
}

/** False when the tool set is defined already. */
function addToolSet(
  into: Map<string, DesiredToolSet>,
  { namespace, name }: ResourceName,
  toolSet: ToolSet | undefined,
  fault: string | undefined,
): boolean {
  const key = keyOf({ namespace, name })
  if (into.has(key)) return false
  into.set(key, { namespace, name, toolSet, fault })
  return true
}
