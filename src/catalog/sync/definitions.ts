/** Makes the definitions of tools, and compares them with a previous record for changed meaning and breaking changes. */

import { createHash } from 'node:crypto'
import { isObject } from '../../base/json/is-object.ts'
import type { Tool } from '../../model/tool.ts'

/**
 * One tool on one line: 16 hex digits of the SHA-256 of title, description and annotations, then each argument as `name:type`,
 * with `!` when it is required. Text, because thousands of small objects would keep the garbage collector busy.
 */
export type Definition = string

export interface Definitions {
  readonly [name: string]: Definition
}

export interface DefinitionRecord {
  readonly tools: Definitions
  /** Tools whose changed title, description or annotations are not accepted yet. */
  readonly changed: readonly string[]
  /** Changes that break callers of the previous tools. */
  readonly breaking: readonly string[]
}

const MEANING_CHARS = 16
const MAX_LISTED = 50
const ENCODED = /[\s:%\p{Cc}\p{Cs}]/u
/** Tools compared before other work gets its turn. */
const SLICE = 1_000

/**
 * @param previous undefined for an unknown tool-set, without changes
 * @param definitions of the tools served now
 * @param accepted the operator has accepted this document
 * @returns undefined when nothing has changed
 */
export async function nextRecord(
  previous: DefinitionRecord | undefined,
  definitions: Definitions,
  accepted: boolean,
): Promise<DefinitionRecord | undefined> {
  if (previous === undefined) return { tools: definitions, changed: [], breaking: [] }
  const names = Object.keys(previous.tools)
  const changed = new Set(accepted ? [] : previous.changed.filter(name => Object.hasOwn(definitions, name)))
  const breaking: string[] = []
  let isSame = names.length === Object.keys(definitions).length
  for (const [i, name] of names.entries()) {
    if (i % SLICE === SLICE - 1) await new Promise(setImmediate)
    const before = previous.tools[name]!
    const after = Object.hasOwn(definitions, name) ? definitions[name] : undefined
    if (after === undefined) breaking.push(`${name} was removed`)
    else if (after !== before) {
      if (meaningOf(after) !== meaningOf(before) && !accepted) changed.add(name)
      breaking.push(...breaks(name, argumentsOf(before), argumentsOf(after)))
    }
    isSame &&= after === before
  }
  if (isSame && changed.size === previous.changed.length) return undefined
  return {
    tools: definitions,
    changed: [...changed].sort(),
    breaking: isSame ? previous.breaking : boundLines(breaking),
  }
}

type Arguments = ReadonlyMap<string, string>

function breaks(name: string, before: Arguments, after: Arguments): string[] {
  const found: string[] = []
  for (const [argument, was] of before) {
    const is = after.get(argument)
    if (is === undefined) found.push(`${name}: argument ${argument} was removed`)
    else if (bare(is) !== bare(was))
      found.push(`${name}: argument ${argument} was ${bare(was)} and is ${bare(is)}`)
    else if (is !== was && is.endsWith('!')) found.push(`${name}: argument ${argument} is now required`)
  }
  for (const [argument, is] of after) {
    if (!before.has(argument) && is.endsWith('!'))
      found.push(`${name}: argument ${argument} is new and required`)
  }
  return found
}

/** Names and types of arguments are percent-encoded: those of MCP servers may contain spaces and colons. */
export function definitionOf(tool: Tool): Definition {
  const said = JSON.stringify([tool.title ?? '', tool.description, tool.annotations])
  const required = new Set(tool.inputSchema.required ?? [])
  const parts = [createHash('sha256').update(said).digest('hex').slice(0, MEANING_CHARS)]
  for (const [name, schema] of Object.entries(tool.inputSchema.properties ?? {}))
    parts.push(`${encodePart(name)}:${encodePart(typeOf(schema))}${required.has(name) ? '!' : ''}`)
  return parts.join(' ')
}

function meaningOf(definition: Definition): string {
  return definition.slice(0, MEANING_CHARS)
}

function argumentsOf(definition: Definition): Arguments {
  const found = new Map<string, string>()
  for (const part of definition.slice(MEANING_CHARS + 1).split(' ')) {
    // a record of an earlier version may contain a name that is not encoded
    const end = part.lastIndexOf(':')
    if (end >= 0) found.set(part.slice(0, end), part.slice(end + 1))
  }
  return found
}

/** @returns the same text where it is as documents usually have it; an unpaired surrogate, which has no encoding, is replaced */
function encodePart(text: string): string {
  return ENCODED.test(text) ? encodeURIComponent(text.toWellFormed()) : text
}

function typeOf(schema: unknown): string {
  const type = isObject(schema) ? schema.type : undefined
  if (Array.isArray(type)) return type.join('|')
  return typeof type === 'string' ? type : 'any'
}

function bare(type: string): string {
  return type.replace('!', '')
}

function boundLines(lines: readonly string[]): readonly string[] {
  if (lines.length <= MAX_LISTED) return lines
  return [...lines.slice(0, MAX_LISTED), `and ${lines.length - MAX_LISTED} more`]
}
