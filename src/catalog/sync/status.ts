/** Builds the status of a tool set from the result of a synchronization. Pure: the time is an argument. */
import { CLIENT_TOOL_LIMITS } from '../../model/client-limits.ts'
import type { PendingDefinitions } from '../../model/pending-definitions.ts'
import type { Condition, ToolSetPhase, ToolSetStatus } from '../../model/tool-set.ts'
import type { CompileResult } from '../compile/compile-tool-set.ts'
import { CLIENT_NAME_LENGTH } from '../compile/names.ts'
import type { ToolFault } from './tool-book.ts'

/** A list in a condition names this many entries and counts the others. */
const MAX_NAMED = 20
/** Kubernetes accepts 32,768. */
const MAX_MESSAGE_CHARS = 30_000

interface StatusInput {
  readonly phase: ToolSetPhase
  readonly toolNames: readonly string[]
  readonly specHash: string | undefined
  readonly lastSyncedAt: string | undefined
  readonly lastError: string | undefined
  /** For the compilation whose tools are served. */
  readonly result: CompileResult | undefined
  readonly toolFaults: readonly ToolFault[]
  /** Tools with changes that are not accepted yet, and breaking changes of the last synchronization. */
  readonly changed: readonly string[]
  readonly breaking: readonly string[]
  /** Texts that may instruct models. */
  readonly suspicious?: readonly string[]
  /** What waits to be accepted. */
  readonly pending?: PendingDefinitions | undefined
}

export const PENDING: ToolSetStatus = Object.freeze({
  phase: 'Pending',
  toolCount: 0,
  tools: [],
  conditions: [],
})

/** @param previous its transition times are kept for conditions with the same status */
export function toolSetStatus(input: StatusInput, previous: ToolSetStatus, nowMs: number): ToolSetStatus {
  const { phase, toolNames, specHash, lastSyncedAt, lastError } = input
  const now = new Date(nowMs).toISOString()
  return {
    phase,
    toolCount: toolNames.length,
    tools: toolNames,
    ...(lastSyncedAt === undefined ? {} : { lastSyncedAt }),
    ...(specHash === undefined ? {} : { specHash }),
    ...(lastError === undefined ? {} : { lastError }),
    ...(input.breaking.length === 0 ? {} : { breakingChanges: input.breaking }),
    ...(input.pending === undefined ? {} : { pendingDefinitions: input.pending }),
    conditions: conditionsOf(input).map(condition => stampCondition(condition, previous.conditions, now)),
  }
}

type Bare = Omit<Condition, 'lastTransitionTime'>

function conditionsOf(input: StatusInput): Bare[] {
  return [readyCondition(input), syncedCondition(input), degradedCondition(input), changedCondition(input)]
}

function readyCondition({ phase, toolNames, lastError }: StatusInput): Bare {
  const type = 'Ready'
  if (phase === 'Ready')
    return { type, status: 'True', reason: 'ToolsServed', message: `tools served: ${toolNames.length}` }
  if (phase === 'Disabled')
    return { type, status: 'False', reason: 'Disabled', message: 'spec.enabled is false' }
  if (phase === 'Error') {
    const kept =
      toolNames.length > 0
        ? `; tools still served from the last successful synchronization: ${toolNames.length}`
        : ''
    return { type, status: 'False', reason: 'SyncFailed', message: `${lastError ?? 'unknown'}${kept}` }
  }
  return { type, status: 'Unknown', reason: phase, message: 'the first synchronization is not complete' }
}

function syncedCondition({ phase, lastSyncedAt, lastError, result }: StatusInput): Bare {
  const type = 'Synced'
  if (phase === 'Error')
    return { type, status: 'False', reason: 'SyncFailed', message: lastError ?? 'unknown' }
  if (phase === 'Disabled')
    return { type, status: 'Unknown', reason: 'Disabled', message: 'spec.enabled is false' }
  if (lastSyncedAt === undefined)
    return { type, status: 'Unknown', reason: phase, message: 'the tool set has not been synchronized yet' }
  const { overlaid = 0 } = result ?? {}
  const changed = overlaid === 0 ? '' : ` (applied actions from spec.overlays: ${overlaid})`
  return { type, status: 'True', reason: 'DocumentRead', message: `the tools match the document${changed}` }
}

/** What of the document and the spec is missing from the tools; undefined when nothing is. */
export function degradationOf(
  result: CompileResult | undefined,
): { readonly reason: string; readonly message: string } | undefined {
  const { skipped = [], unresolved = [], moreUnresolved = 0, unmatched = [] } = result ?? {}
  const faults: string[] = []
  if (skipped.length > 0) {
    const named = skipped.map(entry => `${entry.operation}: ${entry.reason}`)
    faults.push(`operations that did not become tools: ${skipped.length} (${someOf(named)})`)
  }
  if (unresolved.length > 0) {
    const named = unresolved.map(
      ({ pointer, reference, reason, fix }) => `${pointer}: $ref ${reference}: ${reason}; ${fix}`,
    )
    const count = unresolved.length + moreUnresolved
    faults.push(`unresolved references: ${count} (${someOf(named, moreUnresolved)})`)
  }
  if (unmatched.length > 0)
    faults.push(`entries of spec match nothing (${someOf(unmatched)}): correct or remove these entries`)
  if (faults.length === 0) return undefined
  const reason =
    skipped.length > 0
      ? 'OperationsSkipped'
      : unresolved.length > 0
        ? 'ReferencesUnresolved'
        : 'SelectorUnmatched'
  return { reason, message: faults.join('; ').slice(0, MAX_MESSAGE_CHARS) }
}

function degradedCondition({ result, toolNames, toolFaults, suspicious = [] }: StatusInput): Bare {
  const fault = degradationOf(result)
  const faults = [...toolFaultNotes(toolFaults), ...(fault === undefined ? [] : [fault.message])]
  const said = faults.length === 0 ? ['every selected operation is a tool'] : faults
  const notes = [
    ...credentialNote(result),
    ...longNameNote(toolNames),
    ...manyToolsNote(result),
    ...suspiciousNote(suspicious),
  ]
  return {
    type: 'Degraded',
    status: faults.length === 0 ? 'False' : 'True',
    reason: toolFaults.length > 0 ? 'ToolResourceUnusable' : (fault?.reason ?? 'AllOperations'),
    message: [...said, ...notes].join('; ').slice(0, MAX_MESSAGE_CHARS),
  }
}

/** Without its Tool resource, a tool would be served without the restrictions of the author. */
function toolFaultNotes(faults: readonly ToolFault[]): string[] {
  const nameFaults = (list: readonly ToolFault[]): string =>
    `${list.length} (${someOf(list.map(({ name, reason }) => `${name}: ${reason}`))})`
  const withheld = faults.filter(fault => fault.withheld)
  const kept = faults.filter(fault => !fault.withheld)
  return [
    ...(withheld.length === 0
      ? []
      : [`tools not served, because their Tool resource cannot be used: ${nameFaults(withheld)}`]),
    ...(kept.length === 0
      ? []
      : [
          `tools served with the last valid version of their Tool resource, because the current version cannot be used: ${nameFaults(kept)}`,
        ]),
  ]
}

/** Not a degradation: the network may authenticate the gateway. */
function credentialNote(result: CompileResult | undefined): string[] {
  const { withoutCredential = [] } = result ?? {}
  if (withoutCredential.length === 0) return []
  const schemes = [...new Set(withoutCredential.flatMap(entry => entry.schemes))]
  const count = withoutCredential.length
  const need = count === 1 ? '1 operation needs' : `${count} operations need`
  const named = someOf(schemes)
  return [`${need} a credential (security schemes: ${named}): set spec.toolDefaults.authentication`]
}

/** Not a degradation: it depends on the client, and on the name that it gave the server. */
function longNameNote(names: readonly string[]): string[] {
  const long = names.filter(name => name.length > CLIENT_NAME_LENGTH)
  if (long.length === 0) return []
  const fix = `set spec.naming.maxLength to ${CLIENT_NAME_LENGTH}, or rename the tools with spec.overrides`
  return [`tool names that are too long for some clients: ${long.length} (${someOf(long)}); ${fix}`]
}

/** Not a degradation: it depends on the client, and on its other servers. */
function manyToolsNote(result: CompileResult | undefined): string[] {
  const tools = result?.tools ?? []
  const exceeded = Object.entries(CLIENT_TOOL_LIMITS).filter(([, most]) => tools.length > most)
  if (exceeded.length === 0 || tools[0]!.listing === 'search') return []
  const clients = exceeded.map(([client, most]) => `${client} ${most}`).join(', ')
  return [
    `${tools.length} tools are more than some clients use at once (limits: ${clients}): set spec.listing to search, or narrow spec.selector`,
  ]
}

/** Not a degradation: whether a text misleads models is for a person to judge. */
function suspiciousNote(texts: readonly string[]): string[] {
  if (texts.length === 0) return []
  return [`texts that may instruct models: ${texts.length} (${someOf(texts)}); read these definitions`]
}

/** Up to `MAX_NAMED` of them. @param more number of entries that are not in the list */
function someOf(entries: readonly string[], more = 0): string {
  const rest = Math.max(0, entries.length - MAX_NAMED) + more
  return `${entries.slice(0, MAX_NAMED).join('; ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

/** The condition stays True until the operator accepts the changed document. */
function changedCondition({ changed, specHash, pending }: StatusInput): Bare {
  const type = 'DefinitionChanged'
  if (pending !== undefined)
    return {
      type,
      status: 'True',
      reason: 'WaitsForAcceptance',
      message: `changed definitions that are not served: ${waitingTools(pending)}; ${acceptWith(pending.specHash)}`,
    }
  if (changed.length === 0) {
    return {
      type,
      status: 'False',
      reason: 'Unchanged',
      message: 'the descriptions and annotations of the tools are unchanged',
    }
  }
  const named = changed.slice(0, MAX_NAMED).join(', ')
  const rest = changed.length > MAX_NAMED ? ` and ${changed.length - MAX_NAMED} more` : ''
  return {
    type,
    status: 'True',
    reason: 'MeaningChanged',
    message: `tools whose description or annotations changed: ${named}${rest}; ${acceptWith(specHash)}`,
  }
}

function acceptWith(hash = 'the specHash'): string {
  return `to accept the changes, set the annotation <API group>/accepted-spec-hash on the ToolSet to ${hash}`
}

/** Names of the tools whose definitions wait. */
export function waitingTools({ changes, more }: PendingDefinitions): string {
  return someOf([...new Set(changes.map(({ tool }) => tool))], more)
}

function stampCondition(condition: Bare, previous: readonly Condition[], now: string): Condition {
  const before = previous.find(candidate => candidate.type === condition.type)
  const same = before?.status === condition.status
  return { ...condition, lastTransitionTime: same ? before!.lastTransitionTime : now }
}
