/** Finds what of a server's list is served before its owner accepts the rest: its word raises the protection of a tool, and does not lower it. Pure. */
import { writeJson } from '../../base/json/exact-number.ts'
import { isObject } from '../../base/json/is-object.ts'
import {
  type DefinitionChange,
  MAX_LISTED_CHANGES,
  MAX_LISTED_CHARS,
  MAX_NAME_CHARS,
  MAX_SHOWN_CHARS,
  type PendingDefinitions,
} from '../../model/pending-definitions.ts'
import { type Dict, own, text } from '../compile/dict.ts'
import { cleanName } from '../compile/names.ts'
import { INVISIBLE } from '../compile/words.ts'
import { specHash } from '../document/spec-hash.ts'
import { commonHints, HINTS, hintsOf, tagsOf } from './hints.ts'
import type { ServerLists } from './read-lists.ts'
import { boundFindings, suspiciousTexts } from './suspicious-texts.ts'

/** A tool that comes back is compared with what it was. */
const MAX_REMOVED = 1_000

/** The tools that were served last, and those that the server has removed since; the newest last. */
export interface AcceptedTools {
  readonly served: readonly unknown[]
  readonly removed: readonly unknown[]
}

interface Held {
  readonly served: ServerLists
  /** Hash of the tools that are served. */
  readonly hash: string
  readonly removed: readonly unknown[]
  /** undefined: nothing waits. */
  readonly pending: PendingDefinitions | undefined
}

/**
 * @param accepted undefined: whatever the server sends
 * @param acceptedHash of the tools that the owner has accepted; the list of resources may change often
 */
export function holdChanges(
  sent: ServerLists,
  accepted: AcceptedTools | undefined,
  acceptedHash: string | undefined,
): Held {
  const sentHash = specHash(sent.tools)
  if (accepted === undefined) return { served: sent, hash: sentHash, removed: [], pending: undefined }
  const known = new Map(
    [...accepted.removed, ...accepted.served].filter(isObject).map(tool => [nameOf(tool), tool] as const),
  )
  const names = new Set(sent.tools.filter(isObject).map(nameOf))
  const changes: DefinitionChange[] = []
  const tools = serveAccepted(sent.tools, names, known, change => changes.push(change))
  const isHeld = changes.length > 0 && sentHash !== acceptedHash
  const served = isHeld ? { ...sent, tools } : sent
  const kept = new Set(served.tools.filter(isObject).map(nameOf))
  const removed = [...known.values()].filter(tool => !kept.has(nameOf(tool))).slice(-MAX_REMOVED)
  if (!isHeld) return { served, hash: sentHash, removed, pending: undefined }
  let chars = 0
  const listed = changes.slice(0, MAX_LISTED_CHANGES).filter(({ before, after }) => {
    chars += (before?.length ?? 0) + (after?.length ?? 0)
    return chars <= MAX_LISTED_CHARS
  })
  const changed = new Set(changes.map(({ tool }) => tool))
  const findings = sent.tools
    .filter(isObject)
    .filter(tool => changed.has(boundText(nameOf(tool), MAX_NAME_CHARS)))
    .flatMap(tool => suspiciousTexts(nameOf(tool), tool))
  return {
    served,
    hash: specHash(tools),
    removed,
    pending: {
      specHash: sentHash,
      changes: listed,
      more: changes.length - listed.length,
      findings: boundFindings(findings),
    },
  }
}

function serveAccepted(
  sent: readonly unknown[],
  names: ReadonlySet<string>,
  known: ReadonlyMap<string, Dict>,
  onChange: (change: DefinitionChange) => void,
): unknown[] {
  // clients see such names as the same one
  const byShownName = new Map([...known.values()].map(tool => [cleanName(nameOf(tool)), tool]))
  const tools: unknown[] = []
  for (const tool of sent) {
    const name = isObject(tool) ? nameOf(tool) : ''
    // the compiler reports an entry without a name
    if (!isObject(tool) || name === '') {
      tools.push(tool)
      continue
    }
    const namesake = known.has(name) ? undefined : byShownName.get(cleanName(name))
    if (namesake !== undefined) {
      const before = nameOf(namesake)
      onChange(changeOf(name, 'name', before, name))
      if (!names.has(before) && !tools.includes(namesake)) tools.push(namesake)
    } else tools.push(serveTool(tool, known.get(name), onChange))
  }
  return tools
}

/** @param accepted undefined: the tool is new, and served with the hints that protect most */
function serveTool(
  tool: Dict,
  accepted: Dict | undefined,
  onChange: (change: DefinitionChange) => void,
): Dict {
  const name = nameOf(tool)
  const [before, after] = [partsOf(accepted ?? tool), partsOf(tool)]
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    part => !isSame(before.get(part), after.get(part)),
  )
  for (const part of changed) onChange(changeOf(name, part, before.get(part), after.get(part)))
  const sent = hintsOf(tool)
  const hints = commonHints(sent, accepted && hintsOf(accepted))
  for (const hint of HINTS)
    if (hints[hint] !== sent[hint]) onChange(changeOf(name, `annotations.${hint}`, hints[hint], sent[hint]))
  const base = changed.length === 0 ? tool : accepted!
  const said = hintsOf(base)
  if (HINTS.every(hint => said[hint] === hints[hint])) return base
  return { ...base, annotations: { ...annotationsOf(base), ...hints } }
}

/** Beside the hints: what models read, what policies and selectors compare, and each argument. */
function partsOf(tool: Dict): ReadonlyMap<string, unknown> {
  const parts = new Map<string, unknown>([
    ['title', own(tool, 'title') ?? own(annotationsOf(tool), 'title')],
    ['description', own(tool, 'description')],
    ['tags', tagsOf(tool)],
  ])
  for (const which of ['inputSchema', 'outputSchema']) {
    const schema = own(tool, which)
    if (isObject(schema))
      for (const [keyword, value] of Object.entries(schema)) {
        if (keyword !== 'properties' || !isObject(value)) parts.set(`${which}.${keyword}`, value)
        else for (const name of Object.keys(value)) parts.set(`${which}.properties.${name}`, value[name])
      }
    else parts.set(which, schema)
  }
  return parts
}

/** Servers may write members in any order. */
function isSame(a: unknown, b: unknown): boolean {
  return writeJson(a) === writeJson(b) || specHash(a ?? null) === specHash(b ?? null)
}

function nameOf(tool: Dict): string {
  return text(own(tool, 'name')) ?? ''
}

function annotationsOf(tool: Dict): Dict {
  const given = own(tool, 'annotations')
  return isObject(given) ? given : {}
}

function changeOf(tool: string, field: string, before: unknown, after: unknown): DefinitionChange {
  return {
    tool: boundText(tool, MAX_NAME_CHARS),
    field: boundText(field, MAX_NAME_CHARS),
    before: showValue(before),
    after: showValue(after),
  }
}

function showValue(value: unknown): string | null {
  if (value === undefined || value === null) return null
  return boundText(typeof value === 'string' ? value : writeJson(value), MAX_SHOWN_CHARS)
}

/** PostgreSQL stores no NUL and no half of a pair; what is invisible is written as its code. */
function boundText(value: string, limit: number): string {
  const visible = value
    .slice(0, limit)
    .replace(INVISIBLE, at => (at === '\n' ? at : `\\u{${at.codePointAt(0)!.toString(16)}}`))
  const rest = Math.max(0, value.length - limit)
  const more = rest === 0 && visible.length <= limit ? '' : `… (${value.length} characters)`
  return visible.slice(0, limit - more.length).toWellFormed() + more
}
