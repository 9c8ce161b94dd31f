/** Keeps the steps between the latest versions of the share, and derives the changes since a version. */
import type { TenantShare } from '../../link/share-schema.ts'
import { joinedChanges, type ResourceChange, resourceChanges } from './resource-changes.ts'

/** Versions that a gateway may be behind and still be sent only what changed. */
const KEPT_STEPS = 256
/** For one version, that are compared resource by resource. */
const MAX_COMPARED_TENANTS = 20

interface Step {
  readonly from: string
  readonly tenants: ReadonlySet<string>
  readonly plans: boolean
}

interface KeptStep extends Step {
  /** undefined: too many to be listed. */
  readonly resources: readonly ResourceChange[] | undefined
}

export interface SnapshotChanges {
  /** Published since. */
  readonly versions: number
  /** Ids of tenants that were changed, added or removed. */
  readonly tenants: ReadonlySet<string>
  /** The global plans were changed. */
  readonly plans: boolean
  /** undefined: too many to be listed. */
  readonly resources: readonly ResourceChange[] | undefined
}

export const NO_CHANGES: SnapshotChanges = Object.freeze({
  versions: 0,
  tenants: new Set<string>(),
  plans: false,
  resources: [],
})

type Tenants = ReadonlyMap<string, TenantShare>

export class VersionSteps {
  /** Oldest first. */
  #steps: KeptStep[] = []

  add(step: Step, before: Tenants, after: Tenants): void {
    this.#steps.push({ ...step, resources: changedIn(step.tenants, before, after) })
    if (this.#steps.length > KEPT_STEPS) this.#steps = this.#steps.slice(-KEPT_STEPS)
  }

  /** The steps from a version on; undefined when it is too old to be known. */
  since(version: string): readonly Step[] | undefined {
    return this.#since(version)
  }

  /** What they changed together; undefined when the version is too old to be known. */
  changesSince(version: string): SnapshotChanges | undefined {
    const steps = this.#since(version)
    if (steps === undefined) return undefined
    const listed = steps.flatMap(({ resources }) => (resources === undefined ? [] : [resources]))
    return {
      versions: steps.length,
      tenants: new Set(steps.flatMap(step => [...step.tenants])),
      plans: steps.some(step => step.plans),
      resources: listed.length < steps.length ? undefined : joinedChanges(listed),
    }
  }

  #since(version: string): readonly KeptStep[] | undefined {
    const first = this.#steps.findIndex(step => step.from === version)
    return first < 0 ? undefined : this.#steps.slice(first)
  }
}

function changedIn(touched: ReadonlySet<string>, before: Tenants, after: Tenants) {
  if (touched.size > MAX_COMPARED_TENANTS) return undefined
  const found: ResourceChange[] = []
  for (const id of touched) {
    const changes = resourceChanges(id, before.get(id), after.get(id))
    if (changes === undefined) return undefined
    found.push(...changes)
  }
  return found
}
