/** The offer to a caller, from a selection and ToolViews: which tools it includes, and under which names. */
import { oncePer } from '../../base/once-per.ts'
import type { Principal } from '../../model/principal.ts'
import type { Tool } from '../../model/tool.ts'
import type { ViewRules } from '../../model/view-rules.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { EVERYTHING, type Selection } from './selection.ts'

export interface Offer {
  /** Without a name that means a view. */
  readonly selection: Selection
  /** The view that gives the tools their names and their order; undefined: none. */
  readonly view: ViewRules | undefined
  /** A tool must be in each of them. */
  readonly views: readonly ViewRules[]
  /** Equal for equal offers of one snapshot. */
  readonly key: string
}

/** Who asks; both are undefined before the credentials are checked. */
export interface Caller {
  readonly principal?: Principal | undefined
  readonly tenant?: string | undefined
}

const withoutView = oncePer(
  (selection: Selection): Offer =>
    Object.freeze({ selection, view: undefined, views: [], key: selection.key }),
)

export function offerOf(
  { views }: Pick<Snapshot, 'views'>,
  { principal, tenant }: Caller,
  selection: Selection = EVERYTHING,
): Offer {
  if (views.all.length === 0) return withoutView(selection)
  const bound = principal === undefined ? [] : views.boundTo(principal, tenant)
  const { toolSet } = selection
  const named = toolSet === undefined ? undefined : views.named(toolSet, tenant)
  const [first] = bound
  const view = named ?? first
  if (view === undefined) return withoutView(selection)
  const isRestricted = first !== undefined && named !== undefined && !bound.includes(named)
  const all = isRestricted ? [named, first] : [view]
  const rest = named === undefined ? selection : { ...selection, toolSet: undefined }
  const names = all.map(({ view: { namespace, name } }) => `${namespace}/${name}`)
  const keys = [rest.toolSet ?? null, rest.tags, rest.tools ?? null, rest.compact, names]
  return { selection: rest, view, views: all, key: JSON.stringify(keys) }
}

export function isOffered(tool: Tool, { selection: { toolSet, tags }, views }: Offer): boolean {
  if (toolSet !== undefined && tool.toolSet !== toolSet) return false
  if (tags.length > 0 && !hasOneOf(tool, tags)) return false
  for (const view of views) if (!view.includes(tool)) return false
  return true
}

function hasOneOf(tool: Tool, tags: readonly string[]): boolean {
  return tags.some(tag => tool.tags.includes(tag))
}

/** Name in the catalog of what the caller names; undefined: nothing of this name is offered. */
export function realName(name: string, { view }: Offer): string | undefined {
  return view === undefined ? name : view.realName(name)
}

export function shownName({ name }: Tool, { view }: Offer): string {
  return view === undefined ? name : view.shownName(name)
}
