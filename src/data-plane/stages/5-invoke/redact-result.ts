/**
 * Carries out the obligation `redact`: removes paths from a tool result, and withholds content that it cannot redact. `obligations.ts`
 * reads the paths.
 */
import { ExactNumber, readJson, writeJson } from '../../../base/json/exact-number.ts'
import { isObject } from '../../../base/json/is-object.ts'
import type { Content, ToolResult } from '../../../model/tool.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Outcome } from '../../pipeline/outcome.ts'
import { obligationsOf } from '../shared/obligations.ts'
import { MAX_TEXT_IN_PLACE } from '../shared/token-optimization.ts'

export type RedactedPaths = readonly (readonly string[])[]

const WITHHELD: Content = Object.freeze({
  type: 'text',
  text: 'The policy requires redaction of this result. The gateway removed this part, because the part is not JSON or could not be redacted in time.',
})

/** For an audience in MCP. */
const ROLES = ['user', 'assistant'] as const

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

/** Only the members that MCP defines and that the paths reach, or that cannot hold data: `_meta` and others may hold what is redacted. */
async function redactContent(part: Content, redact: RedactElsewhere): Promise<Content> {
  if (part.type === 'text') {
    const text = await redact(part.text)
    return text === undefined ? WITHHELD : { type: 'text', text, ...annotationsOf(part) }
  }
  if (part.type === 'resource' && 'text' in part.resource && typeof part.resource.text === 'string') {
    const text = await redact(part.resource.text)
    if (text === undefined) return WITHHELD
    const { uri, mimeType } = part.resource
    const resource = typeof mimeType === 'string' ? { uri, mimeType, text } : { uri, text }
    return { type: 'resource', resource, ...annotationsOf(part) }
  }
  return WITHHELD
}

/** Roles of the audience and the priority; the other members are texts of the server. */
function annotationsOf(part: object): { readonly annotations?: object } {
  const { annotations } = part as { readonly annotations?: unknown }
  if (!isObject(annotations)) return {}
  const { audience, priority } = annotations
  const roles = Array.isArray(audience) ? ROLES.filter(role => audience.includes(role)) : []
  const kept = {
    ...(roles.length === 0 ? undefined : { audience: roles }),
    ...(typeof priority === 'number' && priority >= 0 && priority <= 1 ? { priority } : undefined),
  }
  return Object.keys(kept).length === 0 ? {} : { annotations: kept }
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
