/** Writes an update of the control plane's share as a sequence of events, and reads it back. */
import type { ShareUpdate } from './control-share.ts'
import type { TenantShare } from './share-schema.ts'

/** Tenants in one event. */
const TENANTS_AT_ONCE = 100

/** `hello` and heartbeats are events too; see `transport.ts`. */
export interface StreamEvent {
  readonly name: string
  readonly data: unknown
}

/** An update, and the mark of the re-synchronization that asked for it. */
export interface MarkedUpdate {
  readonly update: ShareUpdate
  readonly resync: string | null
}

/** `begin {version, base, resync}`, `plans`, `tenants` (several), `removed`, `commit {version}`. Generated one at a time, because a share is large. */
export function* eventsOf({ update, resync }: MarkedUpdate): Generator<StreamEvent, void, void> {
  const { version, base, plans, tenants, removed } = update
  yield { name: 'begin', data: { version, base, resync } }
  if (plans !== undefined) yield { name: 'plans', data: plans }
  for (let at = 0; at < tenants.length; at += TENANTS_AT_ONCE) {
    yield { name: 'tenants', data: tenants.slice(at, at + TENANTS_AT_ONCE) }
  }
  if (removed.length > 0) yield { name: 'removed', data: removed }
  yield { name: 'commit', data: { version } }
}

interface Begun {
  readonly version: string
  readonly base: string | null
  readonly resync: string | null
  plans: ShareUpdate['plans']
  readonly tenants: TenantShare[]
  removed: readonly string[]
}

export class UpdateReader {
  #begun: Begun | undefined

  /**
   * Takes the next event; events that belong to no update are ignored.
   * @returns the update, when the event is its `commit`
   * @throws Error when an event comes before `begin`, `begin` has no version, data is not a list, or `commit` has another version
   */
  take({ name, data }: StreamEvent): MarkedUpdate | undefined {
    if (name === 'begin') {
      this.#begun = begun(data)
      return undefined
    }
    if (name !== 'plans' && name !== 'tenants' && name !== 'removed' && name !== 'commit') return undefined
    const now = this.#begun
    if (now === undefined) throw new Error(`the event "${name}" arrived before the event "begin"`)
    if (name === 'commit') return this.#commit(now, data)
    if (!Array.isArray(data)) throw new Error(`the data of the event "${name}" is not a list`)
    if (name === 'plans') now.plans = data
    else if (name === 'removed') now.removed = data
    else for (const tenant of data) now.tenants.push(tenant)
    return undefined
  }

  #commit(now: Begun, data: unknown): MarkedUpdate {
    this.#begun = undefined
    const { version, base, resync, plans, tenants, removed } = now
    if ((data as { version?: unknown } | null)?.version !== version)
      throw new Error('the event "commit" has a different version than the event "begin"')
    const update = { version, base, tenants, removed }
    return { update: plans === undefined ? update : { ...update, plans }, resync }
  }
}

function begun(data: unknown): Begun {
  const { version, base, resync } = (data ?? {}) as { [name: string]: unknown }
  if (typeof version !== 'string' || version === '' || (typeof base !== 'string' && base !== null))
    throw new Error('the event "begin" has no valid version or base')
  return {
    version,
    base,
    resync: typeof resync === 'string' ? resync : null,
    plans: undefined,
    tenants: [],
    removed: [],
  }
}
