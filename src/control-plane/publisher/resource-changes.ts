/** Lists the resources that differ between versions of the share, and joins the lists of consecutive versions. */
import type { TenantShare } from '../../link/share-schema.ts'

export const CHANGED_KINDS = ['tenant', 'plan', 'api', 'subscription', 'key', 'consumer', 'tool'] as const
export const CHANGE_WORDS = ['added', 'changed', 'removed'] as const

export interface ResourceChange {
  readonly tenantId: string
  readonly kind: (typeof CHANGED_KINDS)[number]
  readonly id: string
  /** What a person knows it by: a path, an application, a name. */
  readonly name: string
  readonly change: (typeof CHANGE_WORDS)[number]
}

/** For one tenant in one step; a first document with thousands of tools has more. */
const MAX_CHANGES = 500

interface Part {
  readonly kind: ResourceChange['kind']
  readonly id: string
  readonly name: string
  readonly content: unknown
}

/** @returns undefined when there are too many to be listed */
export function resourceChanges(
  tenantId: string,
  before: TenantShare | undefined,
  after: TenantShare | undefined,
): readonly ResourceChange[] | undefined {
  const old = partsOf(before)
  const changes: ResourceChange[] = []
  const add = ({ kind, id, name }: Part, change: ResourceChange['change']): void => {
    changes.push({ tenantId, kind, id, name, change })
  }
  for (const [key, part] of partsOf(after)) {
    const previous = old.get(key)
    old.delete(key)
    if (previous === undefined) add(part, 'added')
    else if (JSON.stringify(previous.content) !== JSON.stringify(part.content)) add(part, 'changed')
  }
  for (const part of old.values()) add(part, 'removed')
  return changes.length > MAX_CHANGES ? undefined : changes
}

/** The changes of consecutive steps as one: what was added and removed again is not listed. */
export function joinedChanges(steps: readonly (readonly ResourceChange[])[]): readonly ResourceChange[] {
  const joined = new Map<string, ResourceChange>()
  for (const next of steps.flat()) {
    const key = `${next.tenantId} ${next.kind} ${next.id}`
    const known = joined.get(key)
    if (known === undefined) joined.set(key, next)
    else if (known.change === 'added' && next.change === 'removed') joined.delete(key)
    else if (known.change === 'added') joined.set(key, { ...next, change: 'added' })
    else joined.set(key, { ...next, change: next.change === 'added' ? 'changed' : next.change })
  }
  return [...joined.values()]
}

function partsOf(share: TenantShare | undefined): Map<string, Part> {
  const parts = new Map<string, Part>()
  if (share === undefined) return parts
  const add = (kind: Part['kind'], id: string, name: string, content: unknown): void => {
    parts.set(`${kind} ${id}`, { kind, id, name, content })
  }
  const { id, name, suspended } = share
  add('tenant', id, name, [name, suspended])
  for (const plan of share.plans) add('plan', plan.slug, plan.slug, plan)
  for (const api of [...share.apis, ...(share.mcpApis ?? [])]) add('api', api.id, api.path, api)
  for (const each of share.subscriptions) add('subscription', each.id, each.application, each)
  for (const { keys, ...each } of share.inactive ?? []) {
    add('subscription', each.id, each.application, each)
    for (const key of keys) add('key', key.id, key.prefix, { ...key, state: each.state })
  }
  // the previous key of a rotation has the id of the current one
  for (const key of share.keys) {
    const rotated = parts.get(`key ${key.id}`)
    add('key', key.id, key.prefix, rotated === undefined ? key : [rotated.content, key])
  }
  for (const each of share.consumers) add('consumer', each.subject, each.subject, each)
  for (const tool of share.tools) add('tool', tool.name, tool.name, tool)
  return parts
}
