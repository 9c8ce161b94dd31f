/** The resources that a source wants served, and those that cannot be used. */
import type { ToolSet } from '../model/tool-set.ts'
import type { ToolTarget } from './resource/tool-target.ts'
import type { ManualTool } from './sync/manual-tool.ts'
import type { ResourceName } from './sync/resource-key.ts'
import type { DesiredView } from './views/view-book.ts'

/** One desired tool set. `fault`: its resource is invalid, and the tool set is the last valid one, if any. */
export interface DesiredToolSet extends ResourceName {
  readonly toolSet: ToolSet | undefined
  readonly fault: string | undefined
}

export interface Desired {
  /** In the order of their creation: of two with conflicting names, the later one is refused. */
  readonly toolSets: readonly DesiredToolSet[]
  readonly manualTools: readonly ManualTool[]
  readonly views: readonly DesiredView[]
  /** Resources that cannot be used; they are logged. */
  readonly faults: readonly UnusableResource[]
}

/** `resource`: a file, or kind and key of a resource. */
export interface UnusableResource {
  readonly resource: string
  readonly message: string
  /** Set for a Tool resource: it may restrict these tools. */
  readonly target?: ToolTarget | undefined
}
