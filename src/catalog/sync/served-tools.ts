/** Combines generated tools with Tool resources, and finds tools with conflicting names. */

import { bindingFault } from '../../model/bound-secret.ts'
import type { ResourceFault } from '../../model/resource-fault.ts'
import { faultText } from '../../model/resource-fault.ts'
import type { Tool } from '../../model/tool.ts'
import { manualTool, overlayTool } from '../resource/apply-tool.ts'
import type { ToolResource } from '../resource/tool-resource.ts'
import { keyOf } from './resource-key.ts'
import type { ToolBook } from './tool-book.ts'

/** Tool names by visibility: tools of a tenant are visible to its callers, those of the platform (tenant null) to all. */
export class NameTable {
  readonly #shared = new Map<string, string>()
  readonly #own = new Map<string, Map<string, string>>()
  readonly #anywhere = new Map<string, string>()

  /** The owner of the name when it conflicts with this tool, otherwise undefined. */
  conflict(tool: Pick<Tool, 'name' | 'tenant'>): string | undefined {
    if (tool.tenant === null) return this.#anywhere.get(tool.name)
    return this.#shared.get(tool.name) ?? this.#own.get(tool.tenant)?.get(tool.name)
  }

  add(tool: Pick<Tool, 'name' | 'tenant'>, owner: string): void {
    this.#anywhere.set(tool.name, owner)
    if (tool.tenant === null) this.#shared.set(tool.name, owner)
    else {
      const names = this.#own.get(tool.tenant) ?? new Map<string, string>()
      names.set(tool.name, owner)
      this.#own.set(tool.tenant, names)
    }
  }
}

interface ServedTools {
  readonly tools: readonly Tool[]
  /** Tool resources that could not be used. */
  readonly faults: readonly { readonly resource: ToolResource; readonly message: string }[]
}

/** @param generated without conflicting names; the order is kept */
export function serveTools(
  generated: readonly (readonly Tool[])[],
  resources: Pick<ToolBook, 'applied' | 'whyWithheld'>,
): ServedTools {
  const manualByKey = new Map(resources.applied.map(manual => [keyOf(manual.resource), manual]))
  const names = new NameTable()
  const tools: Tool[] = []
  const faults: { resource: ToolResource; message: string }[] = []
  const serve = (resource: ToolResource, tool: Tool): void => {
    const fault = bindingFault(tool.authentication, tool.mcp?.url ?? tool.request.baseUrl)
    if (fault === undefined) tools.push(tool)
    else faults.push({ resource, message: fault })
  }
  for (const set of generated) {
    for (const tool of set) {
      const manual = manualByKey.get(keyOf(tool))
      manualByKey.delete(keyOf(tool))
      names.add(tool, tool.toolSet)
      if (manual === undefined) {
        if (resources.whyWithheld(tool) === undefined) tools.push(tool)
      } else if (manual.resource.enabled !== false)
        serve(manual.resource, overlayTool(tool, manual.resource, manual.credential))
    }
  }
  for (const { resource, credential } of manualByKey.values()) {
    if (resource.enabled === false) continue
    const made = manualTool(resource, credential)
    if (isFaults(made)) faults.push({ resource, message: faultText(made) })
    else {
      const owner = names.conflict(made)
      if (owner !== undefined) {
        const where = owner === made.toolSet ? 'another Tool resource' : `a tool of tool set ${owner}`
        faults.push({ resource, message: `${where} has the same name: rename this Tool resource` })
      } else {
        names.add(made, made.toolSet)
        serve(resource, made)
      }
    }
  }
  return { tools, faults }
}

function isFaults(value: Tool | readonly ResourceFault[]): value is readonly ResourceFault[] {
  return Array.isArray(value)
}
