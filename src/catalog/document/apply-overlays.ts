/** Applies actions of OpenAPI Overlays to a document, in order, and reports unmatched actions. */
import { exec, type JsonValue } from 'jsonpath-rfc9535'
import { isObject } from '../../base/json/is-object.ts'
import type { OverlayAction } from '../../model/tool-set.ts'
import { own, put } from '../compile/dict.ts'
import { DocumentError } from '../compile/document.ts'
import { MAX_VALUES } from './parse-document.ts'

/** For one action; a document has fewer operations, and an action on every schema is a mistake. */
const MAX_MATCHES = 100_000

export interface NamedActions {
  /** Where they stand, for messages: `spec.overlays[0]`. */
  readonly label: string
  readonly actions: readonly OverlayAction[]
}

interface OverlaidDocument {
  readonly document: unknown
  /** Number of actions whose target matches something. */
  readonly applied: number
  /** Actions whose target matches nothing, as `overlays[0].actions[2]: $.paths['/x']`. */
  readonly unmatched: readonly string[]
}

/** @throws DocumentError that names the action */
export function applyOverlays(document: unknown, overlays: readonly NamedActions[]): OverlaidDocument {
  if (overlays.length === 0) return { document, applied: 0, unmatched: [] }
  const budget = new Budget()
  const holder: Holder = { $: budget.copy(document) }
  const unmatched: string[] = []
  let applied = 0
  for (const { label, actions } of overlays)
    actions.forEach((action, at) => {
      const name = `${label}.actions[${at}]`
      try {
        if (applyAction(holder, action, budget)) applied++
        else unmatched.push(`${name.replace(/^spec\./, '')}: ${action.target}`)
      } catch (error) {
        throw new DocumentError(`${name} (${action.target.slice(0, 200)}): ${(error as Error).message}`)
      }
    })
  return { document: holder.$, applied, unmatched }
}

interface Holder {
  $: unknown
}

type Container = Record<string | number, unknown>

/** Where a selected value stands. */
interface Place {
  readonly parent: Container
  readonly key: string | number
}

/** @returns false when the target matches nothing */
function applyAction(holder: Holder, action: OverlayAction, budget: Budget): boolean {
  const places = placesOf(holder, action.target)
  if (action.remove) removeAll(places)
  else for (const { parent, key } of places) update(parent[key], action.update, budget)
  return places.length > 0
}

function placesOf(holder: Holder, target: string): Place[] {
  const found = new Map<string, Place>()
  exec(holder.$ as JsonValue, target, (_, path) => {
    if (found.size >= MAX_MATCHES)
      throw new Error(`the target matches more than ${MAX_MATCHES} values: narrow the target`)
    const keys = ['$', ...path.map(key => (typeof key === 'number' ? key : keyOf(key)))]
    let parent = holder as unknown as Container
    for (const key of keys.slice(0, -1)) parent = parent[key] as Container
    found.set(JSON.stringify(keys), { parent, key: keys.at(-1)! })
  })
  return [...found.values()]
}

/** The key of a normalized path (RFC 9535 §2.7). */
function keyOf(normalized: string): string {
  if (!normalized.includes('\\')) return normalized
  const json = normalized.replace(/\\.|"/g, part => (part === "\\'" ? "'" : part === '"' ? '\\"' : part))
  return JSON.parse(`"${json}"`) as string
}

function removeAll(places: readonly Place[]): void {
  for (const { parent, key } of places) {
    if (key === '$')
      throw new Error('the target is the whole document, which cannot be removed: select a part of it')
    if (!Array.isArray(parent)) delete parent[key]
  }
  // from the end of a list, so that the others keep their index
  const items = places.filter(({ parent }) => Array.isArray(parent))
  items.sort((a, b) => Number(b.key) - Number(a.key))
  for (const { parent, key } of items) (parent as unknown as unknown[]).splice(Number(key), 1)
}

function update(node: unknown, change: unknown, budget: Budget): void {
  if (Array.isArray(node)) node.push(budget.copy(change))
  else if (!isObject(node))
    throw new Error('the target is neither an object nor a list: select the object that contains it')
  else if (!isObject(change))
    throw new Error('the target is an object, but update is not: write an object in update')
  else merge(node, change, budget)
}

/** Objects are merged, lists are joined, other values replaced. An empty value (`components:`) leaves objects and lists as they are. */
function merge(node: Record<string, unknown>, change: Record<string, unknown>, budget: Budget): void {
  for (const [key, value] of Object.entries(change)) {
    const before = own(node, key)
    if (isObject(before) && isObject(value)) merge(before, value, budget)
    else if (Array.isArray(before) && Array.isArray(value))
      for (const item of value) before.push(budget.copy(item))
    else if (value === null && typeof before === 'object') continue
    else if (before !== undefined && before !== null && kindOf(before) !== kindOf(value))
      throw new Error(
        `${key} is ${kindOf(before)} in the document and ${kindOf(value)} in update: write ${kindOf(before)}`,
      )
    else put(node, key, budget.copy(value))
  }
}

function kindOf(value: unknown): string {
  return Array.isArray(value) ? 'a list' : isObject(value) ? 'an object' : 'a single value'
}

/** Copies values so that no two places share a part, with a limit on their number. */
class Budget {
  #left = MAX_VALUES

  /** @throws Error */
  copy(value: unknown): unknown {
    if (--this.#left < 0)
      throw new Error(
        `the document with the applied overlays has more than ${MAX_VALUES} values: shorten the document or the overlays`,
      )
    if (Array.isArray(value)) return value.map(item => this.copy(item))
    if (!isObject(value)) return value
    const out: Record<string, unknown> = {}
    for (const [key, inner] of Object.entries(value)) put(out, key, this.copy(inner))
    return out
  }
}
