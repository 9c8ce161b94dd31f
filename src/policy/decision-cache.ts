/** Caches decisions by facts that they may depend on, and makes keys for lists of permitted resources. */
import { writeJson } from '../base/json/exact-number.ts'
import type { Decision, PolicyInput } from './engine.ts'
import type { Reads } from './reads.ts'

/** A decision and the facts it was made on that the two keys do not stand for. */
interface CacheEntry {
  readonly decision: Decision
  readonly action: string
  readonly type: string
  readonly id: string
  readonly tenant: string | null
  readonly own: boolean | undefined
  readonly subjectTenant: string | null
  readonly toolSet: string | undefined
  readonly source: PolicyInput['resource']['properties']['source']
  readonly tags: readonly string[] | undefined
  readonly annotations: Annotations | undefined
}

type Annotations = NonNullable<PolicyInput['resource']['properties']['annotations']>

/** The hints a tool has (model/tool.ts). */
const HINTS = ['title', 'readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const

/**
 * Two steps: the subject's key (it stands for tenant, roles, scopes and how both combine), then the resource's number. The code that calls passes
 * both, which costs no hashing of long texts. The number only finds the place: the facts about the resource are
 * compared on every hit, so that a number that means another tool in the next snapshot is a miss, never a wrong decision.
 */
export class DecisionCache {
  readonly #reads: Reads
  readonly #maxDecisions: number
  readonly #subjects = new Map<string, Map<number, CacheEntry>>()
  readonly #beside: readonly ((input: PolicyInput) => string | null)[]
  readonly #readsAnnotations: boolean
  readonly #readsOrigin: boolean
  readonly #readsTime: boolean
  #size = 0
  #lastKey = ''
  #lastRow: Map<number, CacheEntry> | undefined

  constructor(reads: Reads, maxDecisions: number) {
    this.#reads = reads
    this.#maxDecisions = maxDecisions
    this.#beside = factsBeside(reads)
    this.#readsAnnotations = reads.touches('resource.properties.annotations')
    this.#readsOrigin =
      reads.touches('resource.properties.tags') ||
      reads.touches('resource.properties.toolSet') ||
      reads.touches('resource.properties.source')
    this.#readsTime = reads.touches('context.time')
  }

  get size(): number {
    return this.#size
  }

  find(input: PolicyInput, subjectKey: string, resourceKey: number): Decision | undefined {
    const row = this.#row(this.#keyOf(input, subjectKey))
    if (row === undefined) return undefined
    const kept = row.get(resourceKey)
    if (kept === undefined) return undefined
    const { resource } = input
    const { properties } = resource
    return kept.id === resource.id &&
      kept.action === input.action.name &&
      kept.type === resource.type &&
      kept.tenant === properties.tenant &&
      kept.own === properties.own &&
      kept.subjectTenant === input.subject.properties.tenant &&
      (!this.#readsAnnotations || sameHints(kept.annotations, properties.annotations)) &&
      (!this.#readsOrigin ||
        (kept.toolSet === properties.toolSet &&
          kept.source === properties.source &&
          sameTags(kept.tags, properties.tags)))
      ? kept.decision
      : undefined
  }

  cache(input: PolicyInput, subjectKey: string, resourceKey: number, decision: Decision): void {
    if (!this.#reads.cacheable || decision.unavailable === true) return
    if (this.#readsAnnotations && !onlyKnownHints(input.resource.properties.annotations)) return
    const key = this.#keyOf(input, subjectKey)
    let row = this.#row(key)
    if (row === undefined) {
      row = new Map()
      this.#subjects.set(key, row)
    }
    if (!row.has(resourceKey)) {
      if (this.#size >= this.#maxDecisions) this.#dropOldest()
      this.#size++
    }
    // set again: the row may have been the one just dropped
    this.#subjects.set(key, row)
    const { resource } = input
    row.set(resourceKey, {
      decision,
      action: input.action.name,
      type: resource.type,
      id: resource.id,
      tenant: resource.properties.tenant,
      own: resource.properties.own,
      subjectTenant: input.subject.properties.tenant,
      toolSet: resource.properties.toolSet,
      source: resource.properties.source,
      tags: resource.properties.tags,
      annotations: resource.properties.annotations,
    })
  }

  /** See `PreparedPolicy`. Arguments and responses of the client are unknown while something is listed, so reading them does not matter. */
  listKey(subjectKey: string, input: () => PolicyInput): string | undefined {
    if (this.#readsTime) return undefined
    return this.#beside.length === 0 ? subjectKey : this.#keyOf(input(), subjectKey)
  }

  /** Returns how many there were. */
  clearCache(): number {
    const had = this.#size
    this.#subjects.clear()
    this.#size = 0
    this.#lastRow = undefined
    return had
  }

  #row(key: string): Map<number, CacheEntry> | undefined {
    if (key === this.#lastKey && this.#lastRow !== undefined) return this.#lastRow
    const row = this.#subjects.get(key)
    this.#lastKey = key
    this.#lastRow = row
    return row
  }

  #dropOldest(): void {
    for (const [key, row] of this.#subjects) {
      this.#subjects.delete(key)
      this.#size -= row.size
      row.clear()
      break
    }
    this.#lastRow = undefined
  }

  #keyOf(input: PolicyInput, subjectKey: string): string {
    if (this.#beside.length === 0) return subjectKey
    return `${subjectKey}\n${writeJson(this.#beside.map(fact => fact(input)))}`
  }
}

/** Facts about caller and circumstances that the subject's key does not stand for. */
function factsBeside(reads: Reads): ((input: PolicyInput) => string | null)[] {
  const facts: ((input: PolicyInput) => string | null)[] = []
  if (reads.touches('subject.type')) facts.push(input => input.subject.type)
  if (reads.touches('subject.id')) facts.push(input => input.subject.id)
  if (reads.touches('subject.properties.consumer')) facts.push(input => input.subject.properties.consumer)
  if (reads.touches('context.access')) facts.push(input => input.context.access)
  if (reads.touches('context.plan')) facts.push(input => input.context.plan)
  return facts
}

function sameHints(a: Annotations | undefined, b: Annotations | undefined): boolean {
  if (a === b) return true
  if (a === undefined || b === undefined) return false
  return (
    a.readOnlyHint === b.readOnlyHint &&
    a.destructiveHint === b.destructiveHint &&
    a.idempotentHint === b.idempotentHint &&
    a.openWorldHint === b.openWorldHint &&
    a.title === b.title
  )
}

function sameTags(a: readonly string[] | undefined, b: readonly string[] | undefined): boolean {
  if (a === b) return true
  return a !== undefined && b !== undefined && a.length === b.length && a.every((tag, at) => tag === b[at])
}

/** A hint beyond those compared would not be noticed when it changes. */
function onlyKnownHints(annotations: Annotations | undefined): boolean {
  return (
    annotations === undefined || Object.keys(annotations).every(hint => HINTS.some(known => known === hint))
  )
}
