/** Builds the status of a ToolView, its notes and the list of its unmatched entries. Pure: the time is an argument. */
import { CLIENT_TOOL_LIMITS } from '../../model/client-limits.ts'
import type { Tool } from '../../model/tool.ts'
import type { Condition } from '../../model/tool-set.ts'
import type { ToolView, ToolViewStatus, ViewFigures } from '../../model/tool-view.ts'
import { matchesPattern, viewRules } from '../../model/view-rules.ts'
import { CLIENT_NAME_LENGTH } from '../compile/names.ts'

/** A condition names this many and counts the others. */
const MAX_NAMED = 20
const MAX_MESSAGE_CHARS = 30_000

interface StatusInput {
  readonly view: ToolView | undefined
  /** Why the resource as it is now is not served. */
  readonly fault: string | undefined
  readonly figures: ViewFigures | undefined
  /** Tools of the whole catalog. */
  readonly tools: readonly Tool[]
}

export function viewStatus(
  input: StatusInput,
  previous: ToolViewStatus | undefined,
  nowMs: number,
): ToolViewStatus {
  const { view, fault, figures } = input
  const now = new Date(nowMs).toISOString()
  const conditions = [readyCondition(input), degradedCondition(input)].map(condition => {
    const before = previous?.conditions.find(({ type }) => type === condition.type)
    const isSame = before?.status === condition.status
    return { ...condition, lastTransitionTime: isSame ? before!.lastTransitionTime : now }
  })
  const { unlisted = [], isSearched = false } = figures ?? {}
  return {
    phase: fault === undefined ? 'Ready' : 'Error',
    toolCount: figures?.tools.length ?? 0,
    tools: figures?.tools ?? [],
    tokens: figures?.tokens ?? 0,
    ...(view?.tokenBudget === undefined ? {} : { tokenBudget: view.tokenBudget }),
    ...(isSearched || unlisted.length === 0 ? {} : { leftOut: unlisted }),
    ...(fault === undefined ? {} : { lastError: fault }),
    conditions,
  }
}

type Bare = Omit<Condition, 'lastTransitionTime'>

function readyCondition({ view, fault, figures }: StatusInput): Bare {
  const type = 'Ready'
  if (fault !== undefined) {
    const kept = view === undefined ? '' : '; the last valid version of the view is still served'
    return { type, status: 'False', reason: 'Invalid', message: `${fault}${kept}` }
  }
  const { tools = [], listedTokens = 0 } = figures ?? {}
  const message = `tools offered: ${tools.length}; the tool list takes about ${listedTokens} tokens`
  return { type, status: 'True', reason: 'ViewServed', message }
}

function degradedCondition({ view, figures, tools }: StatusInput): Bare {
  const type = 'Degraded'
  if (view === undefined || figures === undefined)
    return { type, status: 'Unknown', reason: 'Invalid', message: 'the view is not valid' }
  const unmatched = unmatchedEntries(view, tools)
  const shadowed = shadowedTools(view, tools)
  const faults: string[] = []
  if (unmatched.length > 0)
    faults.push(`entries of spec match nothing (${someOf(unmatched)}): correct or remove these entries`)
  if (shadowed.length > 0)
    faults.push(
      `tools that are not in the view (${someOf(shadowed)}): spec.tools gives their names to other tools`,
    )
  const said = faults.length === 0 ? ['every entry of spec matches a tool'] : faults
  return {
    type,
    status: faults.length === 0 ? 'False' : 'True',
    reason: unmatched.length > 0 ? 'SelectorUnmatched' : shadowed.length > 0 ? 'NamesTaken' : 'AllMatched',
    message: [...said, ...viewNotes(view, figures)].join('; ').slice(0, MAX_MESSAGE_CHARS),
  }
}

/** What the budget keeps out of the list, and what some clients cannot use. Not faults: a budget is a choice, and the rest depends on the client. */
export function viewNotes({ tokenBudget, overBudget }: ToolView, figures: ViewFigures): readonly string[] {
  const { unlisted, tokens } = figures
  const notes: string[] = []
  if (unlisted.length > 0 && tokenBudget !== undefined) {
    const how =
      overBudget === 'search'
        ? 'tools that models find only by search'
        : 'tools that are left out of the list and named in the instructions'
    notes.push(
      `all tool definitions take about ${tokens} tokens, but spec.tokenBudget is ${tokenBudget}; ${how}: ${unlisted.length} (${someOf(unlisted)})`,
    )
  }
  const listed = figures.tools.length - unlisted.length
  const exceeded = Object.entries(CLIENT_TOOL_LIMITS).filter(([, max]) => listed > max)
  if (exceeded.length > 0) {
    const clients = exceeded.map(([client, max]) => `${client} ${max}`).join(', ')
    notes.push(
      `${listed} listed tools are more than some clients use at once (limits: ${clients}): set spec.tokenBudget, or narrow spec.select`,
    )
  }
  const long = figures.tools.filter(name => name.length > CLIENT_NAME_LENGTH)
  if (long.length > 0)
    notes.push(
      `tool names that are too long for some clients: ${long.length} (${someOf(long)}); rename the tools with spec.tools`,
    )
  return notes
}

/** Such as `select.tags "orders"`. */
export function unmatchedEntries(view: ToolView, all: readonly Tool[]): readonly string[] {
  const tools = all.filter(
    tool => tool.tenant === null || view.tenant === null || tool.tenant === view.tenant,
  )
  const matchesName = (pattern: string): boolean => tools.some(({ name }) => matchesPattern(pattern, name))
  const checks: readonly (readonly [string, readonly string[], (entry: string) => boolean])[] = [
    ['select.toolSets', view.select.toolSets, entry => tools.some(({ toolSet }) => toolSet === entry)],
    ['select.tags', view.select.tags, entry => tools.some(({ tags }) => tags.includes(entry))],
    ['select.tools', view.select.tools, matchesName],
    ['select.exclude', view.select.exclude, matchesName],
    ['order', view.order, matchesName],
    ['tools', view.changes.map(({ tool }) => tool), entry => tools.some(({ name }) => name === entry)],
  ]
  return checks.flatMap(([field, entries, matches]) =>
    entries.filter(entry => !matches(entry)).map(entry => `${field} "${entry}"`),
  )
}

function shadowedTools(view: ToolView, tools: readonly Tool[]): readonly string[] {
  const { realName } = viewRules(view)
  const given = new Set(view.changes.flatMap(({ name }) => (name === undefined ? [] : [name])))
  const shadowed = tools.filter(({ name }) => given.has(name) && realName(name) !== name)
  // a tool that was renamed itself keeps its new name
  const renamed = new Set(view.changes.flatMap(({ tool, name }) => (name === undefined ? [] : [tool])))
  return [...new Set(shadowed.filter(({ name }) => !renamed.has(name)).map(({ name }) => name))]
}

function someOf(entries: readonly string[]): string {
  const rest = entries.length - MAX_NAMED
  return `${entries.slice(0, MAX_NAMED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}
