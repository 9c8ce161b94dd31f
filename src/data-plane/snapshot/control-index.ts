/** Indexes the share of the control plane for requests: its APIs, keys, tenants and lists of tools. */

import { visitSteps } from '../../base/async/slices.ts'
import { apisOfSubscription, type ControlShare, EMPTY_SHARE } from '../../link/control-share.ts'
import type {
  ApiShare,
  DeprecationShare,
  KeyShare,
  SubscriptionShare,
  TenantShare,
} from '../../link/share-schema.ts'
import type { Tool } from '../../model/tool.ts'
import { upstreamRulesOf } from '../../net/egress/upstream-rules.ts'
import { SharedTable } from './shared-table.ts'
import type { CompiledApi, KeyEntry } from './snapshot.ts'

/** What one tenant brings. */
interface TenantParts {
  /** In the order of their prefixes. */
  readonly apis: readonly CompiledApi[]
  /** APIs of MCP servers, which have no address. */
  readonly mcpApis: readonly CompiledApi[]
  /** By prefix. */
  readonly keys: ReadonlyMap<string, KeyEntry>
}

interface ControlIndex {
  /** Tenants by name, each with its APIs by prefix; the same array as before when they are the same. */
  readonly apis: readonly CompiledApi[]
  readonly apisById: SharedTable<CompiledApi>
  readonly keys: SharedTable<KeyEntry>
  readonly tenantIds: ReadonlyMap<string, string>
  /** Names of the tenants whose calls are refused. */
  readonly suspended: ReadonlySet<string>
}

const NOTHING: TenantParts = Object.freeze({ apis: [], mcpApis: [], keys: new Map() })

/** Keeps the last share, so that the cost of the next one depends on what differs. */
export class ControlIndexer {
  #control: ControlShare = EMPTY_SHARE
  #index: ControlIndex = {
    apis: [],
    apisById: SharedTable.empty(),
    keys: SharedTable.empty(),
    tenantIds: new Map(),
    suspended: new Set(),
  }
  readonly #parts = new WeakMap<TenantShare, TenantParts>()
  #lastNumber = -1;

  /** Yields often; the next share is begun after it has ended. */
  *indexSteps(control: ControlShare): Generator<void, ControlIndex> {
    if (control === this.#control) return this.#index
    const gone: TenantParts[] = []
    const come: TenantParts[] = []
    for (const [id, tenant] of control.tenants) {
      const before = this.#control.tenants.get(id)
      if (before === tenant) continue
      const old = this.#known(before)
      gone.push(old)
      come.push(yield* this.#partsOf(tenant, old))
    }
    for (const [id, tenant] of this.#control.tenants)
      if (!control.tenants.has(id)) gone.push(this.#known(tenant))
    const keys = yield* differing(gone, come)
    this.#index = {
      apis: this.#sortVersions(control, gone, come),
      apisById: yield* this.#index.apisById.changeSteps(
        gone.flatMap(parts => everyApi(parts).map(api => api.id)),
        come.flatMap(parts => everyApi(parts).map(api => [api.id, api] as const)),
      ),
      keys: yield* this.#index.keys.changeSteps(keys.gone, keys.come),
      tenantIds: new Map([...control.tenants.values()].map(({ id, name }) => [name, id])),
      suspended: new Set(
        [...control.tenants.values()].filter(({ suspended }) => suspended).map(({ name }) => name),
      ),
    }
    this.#control = control
    return this.#index
  }

  #known(tenant: TenantShare | undefined): TenantParts {
    return (tenant && this.#parts.get(tenant)) ?? NOTHING
  }

  *#partsOf(tenant: TenantShare, before: TenantParts): Generator<void, TenantParts> {
    const known = this.#parts.get(tenant)
    if (known !== undefined) return known
    const parts = {
      apis: yield* this.#apisOf(tenant.apis, tenant.name, before.apis),
      mcpApis: yield* this.#apisOf(tenant.mcpApis ?? [], tenant.name, before.mcpApis),
      keys: yield* keysOf(tenant, before.keys),
    }
    this.#parts.set(tenant, parts)
    return parts
  }

  /** Unchanged APIs stay the same objects, so that values cached by object remain valid. */
  *#apisOf(
    shares: readonly ApiShare[],
    tenant: string,
    before: readonly CompiledApi[],
  ): Generator<void, readonly CompiledApi[]> {
    const old = new Map(before.map(api => [placeOf(api), api]))
    const apis: CompiledApi[] = []
    const add = (wanted: Omit<CompiledApi, 'index'>) => {
      const had = old.get(placeOf(wanted))
      const isUnchanged = had !== undefined && same(had, wanted)
      apis.push(isUnchanged ? had : Object.freeze({ ...wanted, index: ++this.#lastNumber }))
    }
    yield* visitSteps(shares, share => {
      const wanted = compileApi(share, tenant)
      add(wanted)
      if (share.alias !== undefined) add({ ...wanted, prefix: prefixOf(share.alias, tenant) })
    })
    // an alias is shorter than its path: in this order, the id leads to the path
    return apis.sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
  }

  #sortVersions(
    control: ControlShare,
    gone: readonly TenantParts[],
    come: readonly TenantParts[],
  ): readonly CompiledApi[] {
    const all = (parts: readonly TenantParts[]) => parts.flatMap(({ apis }) => apis)
    const [old, now] = [all(gone), all(come)]
    if (old.length === now.length && now.every((api, at) => api === old[at])) return this.#index.apis
    const tenants = [...control.tenants.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
    return tenants.flatMap(tenant => this.#known(tenant).apis)
  }
}

function everyApi({ apis, mcpApis }: TenantParts): readonly CompiledApi[] {
  return mcpApis.length === 0 ? apis : [...apis, ...mcpApis]
}

function compileApi(api: ApiShare, tenant: string): Omit<CompiledApi, 'index'> {
  return {
    id: api.id,
    tenant,
    prefix: prefixOf(api.path, tenant),
    upstreamUrl: api.upstreamUrl.replace(/\/+$/, ''),
    authRequired: api.authRequired,
    requestsPerHour: api.requestsPerHour ?? undefined,
    passthrough: api.passthrough ?? undefined,
    traffic: api.traffic,
    upstream: upstreamRulesOf(api.id, api.upstreamUrl, api.traffic),
    version: api.version,
    notices: noticesOf(api),
    goneAtMs: api.deprecation?.isRefused === true ? (api.deprecation.sunsetAtMs ?? undefined) : undefined,
    deprecationLink: api.deprecation?.link ?? undefined,
  }
}

function prefixOf(path: string, tenant: string): string {
  return `/t/${tenant}${path === '/' ? '' : path.replace(/\/+$/, '')}`
}

/** An API has one entry for each of its paths. */
function placeOf({ id, prefix }: Pick<CompiledApi, 'id' | 'prefix'>): string {
  return `${id} ${prefix}`
}

function orderOf({ prefix, version }: CompiledApi): string {
  return `${prefix} ${version?.label ?? ''}`
}

function noticesOf({ version, deprecation }: ApiShare): readonly string[] | undefined {
  const headers = deprecation === undefined ? [] : deprecationHeaders(deprecation)
  if (version !== undefined) headers.push('vary', version.header)
  return headers.length === 0 ? undefined : Object.freeze(headers)
}

/** RFC 9745 §2: a date of structured fields; RFC 8594 §3: a date of HTTP. */
function deprecationHeaders({ deprecatedAtMs, sunsetAtMs, link }: DeprecationShare): string[] {
  const headers: string[] = []
  const relations: string[] = []
  if (deprecatedAtMs !== null) {
    headers.push('deprecation', `@${Math.floor(deprecatedAtMs / 1000)}`)
    relations.push('deprecation')
  }
  if (sunsetAtMs !== null) {
    headers.push('sunset', new Date(sunsetAtMs).toUTCString())
    relations.push('sunset')
  }
  if (link !== null && relations.length > 0)
    headers.push('link', `<${new URL(link).href}>; rel="${relations.join(' ')}"; type="text/html"`)
  return headers
}

function same(api: CompiledApi, wanted: Omit<CompiledApi, 'index'>): boolean {
  return (
    api.prefix === wanted.prefix &&
    api.upstreamUrl === wanted.upstreamUrl &&
    api.authRequired === wanted.authRequired &&
    api.requestsPerHour === wanted.requestsPerHour &&
    api.goneAtMs === wanted.goneAtMs &&
    api.deprecationLink === wanted.deprecationLink &&
    isSame(api.traffic, wanted.traffic) &&
    isSame(api.version, wanted.version) &&
    isSame(api.notices, wanted.notices) &&
    isSame(api.passthrough, wanted.passthrough)
  )
}

function isSame(a: object | undefined, b: object | undefined): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

/** Unchanged keys stay the same objects: what differs is then found without looking into them. */
function* keysOf(
  tenant: TenantShare,
  before: ReadonlyMap<string, KeyEntry>,
): Generator<void, ReadonlyMap<string, KeyEntry>> {
  const keys = new Map<string, KeyEntry>()
  const add = (prefix: string, entry: KeyEntry) => {
    const had = before.get(prefix)
    keys.set(prefix, had !== undefined && isSameKey(had, entry) ? had : entry)
  }
  const subscriptions = new Map<string, SubscriptionShare>()
  yield* visitSteps(tenant.subscriptions, subscription => subscriptions.set(subscription.id, subscription))
  yield* visitSteps(tenant.keys, key => {
    const subscription = subscriptions.get(key.subscriptionId)
    if (subscription !== undefined) add(key.prefix, entryOf(tenant, subscription, key))
  })
  // their calls are refused as what they are, not as calls with an unknown key
  yield* visitSteps(tenant.inactive ?? [], subscription => {
    for (const key of subscription.keys) add(key.prefix, entryOf(tenant, subscription, key))
  })
  return keys
}

/** What leaves and what enters the table of keys: of a tenant with tens of thousands of keys, those that changed. */
function* differing(goneParts: readonly TenantParts[], comeParts: readonly TenantParts[]) {
  const gone: string[] = []
  const come: (readonly [prefix: string, entry: KeyEntry])[] = []
  // both lists begin with the tenants that changed, in one order; tenants without a counterpart follow
  for (const [at, { keys }] of goneParts.entries()) {
    const after = comeParts[at]?.keys ?? NOTHING.keys
    yield* visitSteps(keys, ([prefix, entry]) => {
      if (after.get(prefix) !== entry) gone.push(prefix)
    })
  }
  for (const [at, { keys }] of comeParts.entries()) {
    const before = goneParts[at]!.keys
    yield* visitSteps(keys, ([prefix, entry]) => {
      if (before.get(prefix) !== entry) come.push([prefix, entry])
    })
  }
  return { gone, come }
}

function isSameKey(a: KeyEntry, b: KeyEntry): boolean {
  return (
    a.id === b.id &&
    a.hash === b.hash &&
    a.tenant === b.tenant &&
    a.subscriptionId === b.subscriptionId &&
    a.application === b.application &&
    a.subscriber === b.subscriber &&
    a.expiresAtMs === b.expiresAtMs &&
    a.apiIds.length === b.apiIds.length &&
    a.apiIds.every((id, at) => id === b.apiIds[at])
  )
}

/** Whether the subscription has expired is a question of the call: see `subscriptionFault`. */
function entryOf(
  { name: tenant }: TenantShare,
  subscription: Pick<SubscriptionShare, 'id' | 'apiId' | 'apiIds' | 'application' | 'subscriber'>,
  { id, hash, expiresAtMs }: Omit<KeyShare, 'subscriptionId'>,
): KeyEntry {
  const expires = expiresAtMs ?? Number.POSITIVE_INFINITY
  const { id: subscriptionId, application, subscriber } = subscription
  const apiIds = apisOfSubscription(subscription)
  return { id, hash, tenant, subscriptionId, apiIds, application, subscriber, expiresAtMs: expires }
}

/** Lists of tools of all tenants. */
export function controlToolLists(control: ControlShare): readonly (readonly Tool[])[] {
  return [...control.tenants.values()].filter(tenant => tenant.tools.length > 0).map(tenant => tenant.tools)
}
