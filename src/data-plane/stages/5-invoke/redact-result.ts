/** Removes from a tool result what the policy hides from this caller (obligation `redact`). It withholds parts it cannot parse. */
import { ExactNumber, readJson, writeJson } from '../../../model/exact-number.ts'
import type { Content, ToolResult } from '../../../model/tool.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Outcome } from '../../pipeline/outcome.ts'
import { obligationsOf } from '../shared/obligations.ts'
import { MAX_TEXT_IN_PLACE } from '../shared/token-optimization.ts'

export type RedactedPaths = readonly (readonly string[])[]

const WITHHELD: Content = Object.freeze({
  type: 'text',
  text: 'The policy redacts this result, and this part of it is not JSON: it was withheld.',
})

/** The paths to remove from the result of this call; undefined when nothing is redacted. */
export function redactedPaths({ decision }: Exchange): RedactedPaths | undefined {
  if (decision?.obligations === undefined) return undefined
  const obligations = obligationsOf(decision)
  return typeof obligations === 'string' ? undefined : obligations.redact
}

/** Redacts a text that is too large for this thread; undefined when it cannot be redacted. */
type RedactElsewhere = (text: string) => Promise<string | undefined>

/** Copies the result: it may be cached, or shared with callers who may see more. */
export async function redactOutcome(
  outcome: Outcome,
  paths: RedactedPaths,
  elsewhere: RedactElsewhere,
): Promise<Outcome> {
  if (outcome?.kind !== 'reply') return outcome
  return { ...outcome, result: await redactResult(outcome.result, paths, elsewhere) }
}

export async function redactResult(
  result: ToolResult,
  paths: RedactedPaths,
  elsewhere: RedactElsewhere,
): Promise<ToolResult> {
  const redact = async (text: string): Promise<string | undefined> =>
    text.length > MAX_TEXT_IN_PLACE ? elsewhere(text) : redactText(text, paths)
  const content: Content[] = []
  for (const part of result.content) content.push(await redactContent(part, redact))
  // addresses in `_meta` may hold the redacted data
  const { _meta, structuredContent, ...rest } = result
  if (structuredContent === undefined) return { ...rest, content }
  return { ...rest, content, structuredContent: redactValue(structuredContent, paths) }
}

async function redactContent(part: Content, redact: RedactElsewhere): Promise<Content> {
  if (part.type === 'text') {
    const text = await redact(part.text)
    return text === undefined ? WITHHELD : { ...part, text }
  }
  if (part.type === 'resource' && 'text' in part.resource && typeof part.resource.text === 'string') {
    const text = await redact(part.resource.text)
    return text === undefined ? WITHHELD : { ...part, resource: { ...part.resource, text } }
  }
  return WITHHELD
}

export function redactText(text: string, paths: RedactedPaths): string | undefined {
  let value: unknown
  try {
    value = readJson(text)
  } catch {
    return undefined
  }
  return writeJson(redactValue(value, paths))
}

/** Copies what it changes and shares the rest. */
function redactValue(value: unknown, paths: RedactedPaths): unknown {
  let redacted = value
  for (const path of paths) redacted = without(redacted, path, 0)
  return redacted
}

function without(value: unknown, path: readonly string[], at: number): unknown {
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return value
  const segment = path[at]!
  const last = at === path.length - 1
  if (Array.isArray(value)) {
    if (segment === '*') return last ? [] : value.map(item => without(item, path, at + 1))
    if (!/^(0|[1-9]\d{0,9})$/.test(segment) || Number(segment) >= value.length) return value
    // a gap would move the items behind it onto other paths
    return value.with(Number(segment), last ? null : without(value[Number(segment)], path, at + 1))
  }
  if (segment === '*') {
    if (last) return {}
    const members = Object.entries(value).map(([name, inner]) => [name, without(inner, path, at + 1)])
    return Object.fromEntries(members)
  }
  if (!Object.hasOwn(value, segment)) return value
  const { [segment]: inner, ...others } = value as Record<string, unknown>
  if (last) return others
  const copy = { ...value } as Record<string, unknown>
  Object.defineProperty(copy, segment, {
    value: without(inner, path, at + 1),
    writable: true,
    enumerable: true,
    configurable: true,
  })
  return copy
}
