/** The snapshot document and its version, and a canonical form of JSON. */

import { inSlices } from '../base/async/slices.ts'
import { ExactNumber } from '../base/json/exact-number.ts'
import type { Plan, PlanRule } from '../model/plan.ts'
import type { Tool } from '../model/tool.ts'
import type { ToolView } from '../model/tool-view.ts'
import { type ControlShare, EMPTY_SHARE } from './control-share.ts'
import { digestCache, sha256 } from './digest-cache.ts'

export interface SnapshotContent {
  /** Every tool that may be served, credentials towards backends included: the document is a secret. */
  readonly tools: readonly Tool[]
  readonly plans: readonly Plan[]
  /** Consumer → slug of the plan assigned to it. */
  readonly consumers: { readonly [consumer: string]: string }
  /** For consumers that have no plan; the first that fits decides. Absent: none. */
  readonly planRules?: readonly PlanRule[]
  /** Absent: none. */
  readonly views?: readonly ToolView[]
  /** Tenants, APIs, subscriptions, keys and plans of the control plane; EMPTY_SHARE before the first update. */
  readonly control: ControlShare
}

export interface SnapshotDocument extends SnapshotContent {
  /** SHA-256 over the digests of the parts, each of canonical JSON, hex. Same content, same version. */
  readonly version: string
}

export const EMPTY_CONTENT: SnapshotContent = Object.freeze({
  tools: [],
  plans: [],
  consumers: {},
  control: EMPTY_SHARE,
})

const digestOf = digestCache(canonicalJson)
/** Digest of list of each tool by itself: a change of one does not hash the others again. */
const digestOfList = digestCache(tools => (tools as readonly Tool[]).map(digestOf).join('\n'))

/** Hashes only the parts that it has not hashed before; the share already has a version. */
export function seal(content: SnapshotContent): SnapshotDocument {
  const { tools, plans, consumers, planRules, views, control } = content
  const parts = [digestOfList(tools), digestOf(plans), digestOf(consumers), control.version]
  const optional = [planRules, views].flatMap(part => (part === undefined ? [] : [digestOf(part)]))
  const version = sha256([...parts, ...optional].join('\n'))
  return Object.freeze({ ...content, version })
}

/** The same without blocking the event loop, however many tools there are. */
export async function sealInSlices(content: SnapshotContent): Promise<SnapshotDocument> {
  await inSlices(content.tools, tool => void digestOf(tool))
  return seal(content)
}

/** JSON with sorted keys and without undefined members, similar to RFC 8785; an `ExactNumber` is written in its canonical form. */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  if (value instanceof ExactNumber) return value.canonical
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  const record = value as Record<string, unknown>
  let text = ''
  for (const key of sortKeys(Object.keys(record))) {
    const part = record[key]
    if (part !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(part)}`
  }
  return `{${text}}`
}

/** Most come in order, and finding that out costs a tenth of sorting them. */
function sortKeys(keys: string[]): string[] {
  for (let at = 1; at < keys.length; at++) if (keys[at - 1]! > keys[at]!) return keys.sort()
  return keys
}
