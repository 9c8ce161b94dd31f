/** Makes names for tools, prompts and arguments, limits their length, and makes names of operations unique. */
import { createHash } from 'node:crypto'
import { MAX_NAME_LENGTH } from '../../model/tool.ts'
import type { ToolNaming } from '../../model/tool-set.ts'

/**
 * Longer names are too long for some clients: most allow 64 characters, some 60, with what they add. That is the name they gave the
 * server, and `mcp_` or `mcp__…__`.
 */
export const CLIENT_NAME_LENGTH = 48
const HASH_LENGTH = 8

/** `[A-Za-z0-9_.-]`; runs of other characters become one `_`, and are removed at both ends. */
export function cleanName(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[^A-Za-z0-9_.-]+/g, ' ')
    .trim()
    .replaceAll(' ', '_')
}

/** At most `limit` characters; a longer name ends in a hash of the whole name, so that it is unique and stable. */
export function shorten(name: string, limit = MAX_NAME_LENGTH): string {
  if (name.length <= limit) return name
  return `${name.slice(0, limit - HASH_LENGTH - 1)}_${hashOf(name)}`
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH)
}

/** `{prefix}{operationId}{suffix}`; without operationId `{prefix}{method}_{path words}{suffix}`. */
export function toolName(
  operation: { readonly method: string; readonly path: string; readonly operationId: string | undefined },
  naming: ToolNaming,
): string {
  const id = naming.useOperationId ? cleanName(operation.operationId ?? '') : ''
  const base =
    id !== ''
      ? id
      : cleanName(`${operation.method.toLowerCase()} ${operation.path.replace(/[^A-Za-z0-9]+/g, ' ')}`)
  const whole = cleanName(`${naming.prefix}${base}${naming.suffix}`)
  return shorten(whole === '' ? `operation_${hashOf(operation.path)}` : whole, naming.maxLength)
}

/**
 * A unique name for each operation. Of operations with the same name, the first by path and method keeps it, independent of the order
 * in the document; the others get a hash of their path and method.
 */
export function uniqueNames(
  operations: readonly { readonly name: string; readonly method: string; readonly path: string }[],
  limit = MAX_NAME_LENGTH,
): string[] {
  const order = operations
    .map((operation, index) => ({ index, key: `${operation.path} ${operation.method}` }))
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
  const taken = new Set(operations.map(operation => operation.name))
  const kept = new Set<string>()
  const names = operations.map(operation => operation.name)
  for (const { index, key } of order) {
    const name = names[index]!
    if (!kept.has(name)) {
      kept.add(name)
      continue
    }
    let salt = key
    let candidate: string
    do {
      candidate = `${name.slice(0, limit - HASH_LENGTH - 1)}_${hashOf(salt)}`
      salt += '+'
    } while (taken.has(candidate) || kept.has(candidate))
    kept.add(candidate)
    names[index] = candidate
  }
  return names
}

/**
 * Name of an argument: clients refuse property names outside `[A-Za-z0-9_.-]{1,64}`, so `filter[name]` becomes `filter_name`.
 * The name in the request is unchanged.
 */
export function argumentName(name: string): string {
  const clean = cleanName(name)
  if (clean === '' || clean === '__proto__') return `argument_${hashOf(name)}`
  return shorten(clean)
}
