/** Applies a ToolView: selects, names, describes and sorts tools, matches name patterns, and counts what fits into a budget. */
import { oncePer } from '../base/once-per.ts'
import type { Tool } from './tool.ts'
import type { ToolChange, ToolView } from './tool-view.ts'

export interface ViewRules {
  readonly view: ToolView
  includes(tool: Tool): boolean
  /** Name of the tool in the view. */
  shownName(name: string): string
  /** Name in the catalog of what the view calls so; undefined: the view calls nothing so. */
  realName(shownName: string): string | undefined
  /** The tool as a model sees it; the same object when the view changes nothing. */
  shown<T extends ShownTool>(tool: T): T
  compare(a: string, b: string): number
}

type ShownTool = Pick<Tool, 'name' | 'title' | 'description'>

export const viewRules = oncePer((view: ToolView): ViewRules => {
  const changes = new Map(view.changes.map(change => [change.tool, change]))
  const renamed = new Map(
    view.changes.flatMap(({ tool, name }) => (name === undefined ? [] : [[name, tool] as const])),
  )
  const { toolSets, tags, tools, exclude } = view.select
  const ranks = new Map(view.order.map((pattern, at) => [pattern, at]))
  const shownName = (name: string): string => changes.get(name)?.name ?? name
  const realName = (name: string): string | undefined =>
    renamed.get(name) ?? (shownName(name) === name ? name : undefined)
  const rank = (name: string): number => ranks.get(name) ?? firstMatch(view.order, name) ?? view.order.length

  return {
    view,
    includes: tool =>
      (toolSets.length === 0 || toolSets.includes(tool.toolSet)) &&
      (tags.length === 0 || tags.some(tag => tool.tags.includes(tag))) &&
      (tools.length === 0 || firstMatch(tools, tool.name) !== undefined) &&
      firstMatch(exclude, tool.name) === undefined &&
      // another tool may have been given its name
      realName(shownName(tool.name)) === tool.name,
    shownName,
    realName,
    shown: tool => {
      const change = changes.get(tool.name)
      return change === undefined ? tool : { ...tool, ...shownFields(change) }
    },
    compare: (a, b) => rank(a) - rank(b) || (shownName(a) < shownName(b) ? -1 : 1),
  }
})

function shownFields({ tool: _, ...fields }: ToolChange): Partial<ShownTool> {
  return fields
}

function firstMatch(patterns: readonly string[], name: string): number | undefined {
  const at = patterns.findIndex(pattern => matchesPattern(pattern, name))
  return at < 0 ? undefined : at
}

/** `*` stands for any characters, also none. In the time of the name times the number of stars. */
export function matchesPattern(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return pattern === name
  if (!name.startsWith(first)) return false
  let from = first.length
  for (const part of rest) {
    const at = name.indexOf(part, from)
    if (at < 0) return false
    from = at + part.length
  }
  return name.length - last.length >= from && name.endsWith(last)
}

/** How many of the costs, from the first on, fit into the budget beside what is `reserved` when they do not all fit. It reads no cost that it does not need. */
export function countWithin(costs: Iterable<number>, budget: number, reserved: number): number | 'all' {
  let sum = 0
  let fitting = 0
  for (const cost of costs) {
    sum += cost
    if (sum > budget) return fitting
    if (sum <= budget - reserved) fitting++
  }
  return 'all'
}
