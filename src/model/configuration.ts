/** Configuration as code: the comparison of wanted resources with live and applied ones, their paths, and equality of JSON. */
import type { Json } from '../base/json/json-schema.ts'

export const RESOURCE_KINDS = ['plan', 'tenant', 'api', 'product', 'consumer', 'webhook'] as const
export type ResourceKind = (typeof RESOURCE_KINDS)[number]

/** Under the names of the REST API; a document is represented by its digest. */
export type ResourceFields = { readonly [field: string]: Json }

/** One resource of a configuration. */
export interface Resource {
  readonly kind: ResourceKind
  /** Name of the tenant, of the resource `tenant` itself too; null = a global plan. */
  readonly tenant: string | null
  /** Slug of a plan or product, path of an API with `@` and the version if it has one, subject of a consumer, name of a tenant or webhook. */
  readonly key: string
  readonly fields: ResourceFields
}

/** The state of a resource when its owner applied it last. */
export interface Applied extends Resource {
  readonly owner: string
}

export interface FieldChange {
  readonly field: string
  /** null in a resource that is created. */
  readonly from: Json
  /** null in a resource that is deleted. */
  readonly to: Json
}

export interface Change {
  readonly action: 'create' | 'update' | 'delete'
  readonly path: string
  readonly resource: Resource
  readonly fields: readonly FieldChange[]
}

/** A live field that is not as it was applied: it was changed outside of `config apply`. */
export interface Drift {
  readonly path: string
  /** null: the whole resource was deleted. */
  readonly field: string | null
  readonly applied: Json
  readonly live: Json
}

export interface Comparison {
  /** What an apply does. */
  readonly changes: readonly Change[]
  /** Drift that the changes would overwrite. */
  readonly drift: readonly Drift[]
  /** Resources to change that another owner applied. */
  readonly foreign: readonly Applied[]
  /** Paths of live resources of this owner that are not wanted any more and stay, because deletion was not requested. */
  readonly unlisted: readonly string[]
  /** Wanted resources that belong to the owner after the apply. */
  readonly owned: readonly Resource[]
  /** Resources that do not belong to the owner any more. */
  readonly released: readonly Resource[]
}

export interface ComparisonInput {
  readonly owner: string
  readonly wanted: readonly Resource[]
  readonly live: readonly Resource[]
  /** For every owner. */
  readonly applied: readonly Applied[]
  /** Deletes resources of the owner that are not wanted any more. */
  readonly prune: boolean
  /** Changes resources of other owners, which become resources of this owner. */
  readonly takeOver: boolean
}

/** Identifies a resource in a configuration, and names it in messages: `tenants/acme/apis/orders`. */
export function pathOf({ kind, tenant, key }: Pick<Resource, 'kind' | 'tenant' | 'key'>): string {
  if (kind === 'tenant') return `tenants/${key}`
  const within = tenant === null ? '' : `tenants/${tenant}/`
  return `${within}${kind}s${kind === 'api' ? key : `/${key}`}`
}

export function compareConfigurations(input: ComparisonInput): Comparison {
  const live = byPath(input.live)
  const applied = byPath(input.applied)
  const wanted = byPath(input.wanted)
  const comparison = {
    changes: [] as Change[],
    drift: [] as Drift[],
    foreign: [] as Applied[],
    unlisted: [] as string[],
    owned: [] as Resource[],
    released: [] as Resource[],
  }
  for (const [path, resource] of wanted) {
    const before = applied.get(path)
    const current = live.get(path)
    const change = changeTo(path, resource, current)
    const isForeign = before !== undefined && before.owner !== input.owner
    if (isForeign && !input.takeOver) {
      if (change !== undefined) comparison.foreign.push(before)
      continue
    }
    comparison.owned.push(resource)
    if (change === undefined) continue
    comparison.changes.push(change)
    if (before !== undefined && !isForeign) comparison.drift.push(...driftOf(path, before, current, change))
  }
  for (const [path, before] of applied) {
    if (before.owner !== input.owner || wanted.has(path)) continue
    const current = live.get(path)
    if (current === undefined || isStillUsed(before, input.wanted)) comparison.released.push(before)
    else if (!input.prune) comparison.unlisted.push(path)
    else {
      const deletion = deletionOf(path, current)
      comparison.released.push(before)
      comparison.changes.push(deletion)
      comparison.drift.push(...driftOf(path, before, current, deletion))
    }
  }
  return comparison
}

/** A tenant that is not declared any more is not deleted while the configuration has resources in it. */
function isStillUsed({ kind, key }: Resource, wanted: readonly Resource[]): boolean {
  return kind === 'tenant' && wanted.some(resource => resource.tenant === key)
}

function byPath<T extends Resource>(resources: readonly T[]): ReadonlyMap<string, T> {
  return new Map(resources.map(resource => [pathOf(resource), resource]))
}

function changeTo(path: string, resource: Resource, current: Resource | undefined): Change | undefined {
  if (current === undefined) {
    const fields = Object.entries(resource.fields).map(([field, to]) => ({ field, from: null, to }))
    return { action: 'create', path, resource, fields }
  }
  const fields = Object.entries(resource.fields)
    .filter(([field, to]) => !isSameJson(current.fields[field], to))
    .map(([field, to]) => ({ field, from: current.fields[field] ?? null, to }))
  return fields.length === 0 ? undefined : { action: 'update', path, resource, fields }
}

function deletionOf(path: string, resource: Resource): Change {
  const fields = Object.entries(resource.fields).map(([field, from]) => ({ field, from, to: null }))
  return { action: 'delete', path, resource, fields }
}

/** Fields that a later version added are not in what an earlier one applied: they do not count. Nor do fields that stay as they are. */
function driftOf(path: string, applied: Resource, live: Resource | undefined, change: Change): Drift[] {
  if (live === undefined) return [{ path, field: null, applied: null, live: null }]
  const changed = new Set(change.fields.map(({ field }) => field))
  return Object.entries(applied.fields)
    .filter(([field]) => field in live.fields && changed.has(field))
    .filter(([field, value]) => !isSameJson(live.fields[field], value))
    .map(([field, value]) => ({ path, field, applied: value, live: live.fields[field] ?? null }))
}

/** The order of members does not count, that of elements does. */
export function isSameJson(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  const names = Object.keys(one)
  if (Array.isArray(one) !== Array.isArray(other) || names.length !== Object.keys(other).length) return false
  const [a, b] = [one, other] as readonly { readonly [name: string]: Json }[]
  return names.every(name => Object.hasOwn(b!, name) && isSameJson(a![name], b![name]))
}
