/** Keeps the Tool resources that apply and the unusable ones, and finds the tools to withhold. */
import type { Tool } from '../../model/tool.ts'
import type { UnusableResource } from '../desired.ts'
import type { ToolTarget } from '../resource/tool-target.ts'
import type { ManualTool } from './manual-tool.ts'
import { keyOf } from './resource-key.ts'

/** A generated tool whose Tool resource cannot be used. */
export interface ToolFault {
  readonly name: string
  readonly reason: string
  /** False: the last valid version of the resource applies. */
  readonly withheld: boolean
}

export class ToolBook {
  /** By key. */
  #applied: ReadonlyMap<string, ManualTool> = new Map()
  #unusable: readonly UnusableResource[] = []
  /** For the unusable resources that name their tool, by key. */
  #faults: ReadonlyMap<string, string> = new Map()

  /** Replaces the Tool resources. */
  want(manualTools: readonly ManualTool[], faults: readonly UnusableResource[]): void {
    const before = this.#applied
    const applied = new Map(manualTools.map(manual => [keyOf(manual.resource), manual]))
    const named = new Map<string, string>()
    this.#unusable = faults.filter(({ target }) => target !== undefined)
    for (const { target, message } of this.#unusable) {
      if (target?.namespace === undefined || target.name === undefined) continue
      const key = `${target.namespace}/${target.name}`
      named.set(key, message)
      const last = before.get(key)
      if (last === undefined) applied.delete(key)
      else applied.set(key, last)
    }
    this.#applied = applied
    this.#faults = named
  }

  get applied(): readonly ManualTool[] {
    return [...this.#applied.values()]
  }

  /** Changes when other tools are withheld. */
  get print(): unknown {
    return this.#unusable.map(({ target }) => target)
  }

  /** Why the tool is not served as generated: its restrictions are not known. undefined: it is served. */
  whyWithheld(tool: Pick<Tool, 'namespace' | 'name'>): string | undefined {
    if (this.#unusable.length === 0 || this.#applied.has(keyOf(tool))) return undefined
    return (
      this.#faults.get(keyOf(tool)) ??
      this.#unusable.find(({ target }) => target !== undefined && mayName(target, tool))?.message
    )
  }

  /** For the generated tools of one tool-set. */
  faultsOf(tools: readonly Tool[]): readonly ToolFault[] {
    if (this.#unusable.length === 0) return []
    return tools.flatMap((tool): ToolFault[] => {
      const { name } = tool
      const reason = this.whyWithheld(tool)
      if (reason !== undefined) return [{ name, reason, withheld: true }]
      const fault = this.#faults.get(keyOf(tool))
      return fault === undefined ? [] : [{ name, reason: fault, withheld: false }]
    })
  }
}

/** A name and a namespace together are looked up by their key. */
function mayName({ namespace, name }: ToolTarget, tool: Pick<Tool, 'namespace' | 'name'>): boolean {
  if (namespace !== undefined && name !== undefined) return false
  return (namespace ?? tool.namespace) === tool.namespace && (name ?? tool.name) === tool.name
}
