/** What tools meant when they were last looked at, so that none changes its meaning unseen. Pure; `definition-store.ts` keeps it. */
import { createHash } from 'node:crypto'
import type { Tool } from '../../model/tool.ts'
import { isDict } from '../compile/dict.ts'

/** One tool, as short as comparing allows. */
interface Definition {
  /** SHA-256 of title, description and annotations, hex, first 16. */
  readonly meaning: string
  /** Argument → its type, with `!` when it is required. */
  readonly arguments: { readonly [name: string]: string }
}

export interface Ledger {
  readonly tools: { readonly [name: string]: Definition }
  /** Tools whose description or annotations changed and that nobody has accepted since. */
  readonly changed: readonly string[]
  /** What callers of the set before would stumble over. */
  readonly breaking: readonly string[]
}

const MAX_LISTED = 50

/**
 * @param previous undefined for a tool-set never seen: nothing has changed then
 * @param accepted the operator has accepted this document
 */
export function nextLedger(previous: Ledger | undefined, tools: readonly Tool[], accepted: boolean): Ledger {
  const definitions = Object.fromEntries(tools.map(tool => [tool.name, definitionOf(tool)]))
  if (previous === undefined) return { tools: definitions, changed: [], breaking: [] }
  const changed = new Set(accepted ? [] : previous.changed.filter(name => Object.hasOwn(definitions, name)))
  const breaking: string[] = []
  for (const name of Object.keys(previous.tools)) {
    const before = previous.tools[name]!
    const after = Object.hasOwn(definitions, name) ? definitions[name] : undefined
    if (after === undefined) {
      breaking.push(`${name} was removed`)
      continue
    }
    if (after.meaning !== before.meaning && !accepted) changed.add(name)
    breaking.push(...breaks(name, before, after))
  }
  const isSame = JSON.stringify(previous.tools) === JSON.stringify(definitions)
  return {
    tools: definitions,
    changed: [...changed].sort(),
    breaking: isSame ? previous.breaking : bounded(breaking),
  }
}

function breaks(name: string, before: Definition, after: Definition): string[] {
  const found: string[] = []
  for (const argument of Object.keys(before.arguments)) {
    const was = before.arguments[argument]!
    const is = Object.hasOwn(after.arguments, argument) ? after.arguments[argument]! : undefined
    if (is === undefined) found.push(`${name}: argument ${argument} was removed`)
    else if (bare(is) !== bare(was))
      found.push(`${name}: argument ${argument} was ${bare(was)} and is ${bare(is)}`)
    else if (is !== was && is.endsWith('!')) found.push(`${name}: argument ${argument} is now required`)
  }
  for (const argument of Object.keys(after.arguments)) {
    const isNew = !Object.hasOwn(before.arguments, argument)
    if (isNew && after.arguments[argument]!.endsWith('!'))
      found.push(`${name}: argument ${argument} is new and required`)
  }
  return found
}

function definitionOf(tool: Tool): Definition {
  const said = JSON.stringify([tool.title ?? '', tool.description, tool.annotations])
  const required = new Set(tool.inputSchema.required ?? [])
  const properties = Object.entries(tool.inputSchema.properties ?? {})
  return {
    meaning: createHash('sha256').update(said).digest('hex').slice(0, 16),
    arguments: Object.fromEntries(
      properties.map(([name, schema]) => [name, `${typeOf(schema)}${required.has(name) ? '!' : ''}`]),
    ),
  }
}

function typeOf(schema: unknown): string {
  const type = isDict(schema) ? schema.type : undefined
  if (Array.isArray(type)) return type.join('|')
  return typeof type === 'string' ? type : 'any'
}

function bare(type: string): string {
  return type.replace('!', '')
}

function bounded(lines: readonly string[]): readonly string[] {
  if (lines.length <= MAX_LISTED) return lines
  return [...lines.slice(0, MAX_LISTED), `and ${lines.length - MAX_LISTED} more`]
}
