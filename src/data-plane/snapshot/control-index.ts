/** The control plane's share made ready for requests: proxied APIs, keys by prefix. Tenants that did not change are not looked at again. */

import type {
  ApiShare,
  ControlShare,
  DeprecationShare,
  KeyShare,
  SubscriptionShare,
  TenantShare,
} from '../../link/control-share.ts'
import { apisOfSubscription, EMPTY_SHARE } from '../../link/control-share.ts'
import type { Tool } from '../../model/tool.ts'
import { upstreamRulesOf } from '../../shared/egress/upstream-rules.ts'
import { SharedTable } from './shared-table.ts'
import type { CompiledApi, KeyEntry } from './snapshot.ts'

/** What one tenant brings. */
interface TenantParts {
  /** In the order of their prefixes. */
  readonly apis: readonly CompiledApi[]
  /** They have no address. */
  readonly mcpApis: readonly CompiledApi[]
  readonly keys: readonly (readonly [prefix: string, entry: KeyEntry])[]
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

const NOTHING: TenantParts = Object.freeze({ apis: [], mcpApis: [], keys: [] })

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
  #lastNumber = -1

  index(control: ControlShare): ControlIndex {
    if (control === this.#control) return this.#index
    const gone: TenantParts[] = []
    const come: TenantParts[] = []
    for (const [id, tenant] of control.tenants) {
      const before = this.#control.tenants.get(id)
      if (before === tenant) continue
      const old = before === undefined ? NOTHING : this.#partsOf(before)
      gone.push(old)
      come.push(this.#partsOf(tenant, old))
    }
    for (const [id, tenant] of this.#control.tenants)
      if (!control.tenants.has(id)) gone.push(this.#partsOf(tenant))
    this.#index = {
      apis: this.#sorted(control, gone, come),
      apisById: this.#index.apisById.changed(
        gone.flatMap(parts => everyApi(parts).map(api => api.id)),
        come.flatMap(parts => everyApi(parts).map(api => [api.id, api] as const)),
      ),
      keys: this.#index.keys.changed(
        gone.flatMap(({ keys }) => keys.map(([prefix]) => prefix)),
        come.flatMap(({ keys }) => keys),
      ),
      tenantIds: new Map([...control.tenants.values()].map(({ id, name }) => [name, id])),
      suspended: new Set(
        [...control.tenants.values()].filter(({ suspended }) => suspended).map(({ name }) => name),
      ),
    }
    this.#control = control
    return this.#index
  }

  #partsOf(tenant: TenantShare, before: TenantParts = NOTHING): TenantParts {
    const known = this.#parts.get(tenant)
    if (known !== undefined) return known
    const parts = {
      apis: this.#apisOf(tenant.apis, tenant.name, before.apis),
      mcpApis: this.#apisOf(tenant.mcpApis ?? [], tenant.name, before.mcpApis),
      keys: keysOf(tenant),
    }
    this.#parts.set(tenant, parts)
    return parts
  }

  /** Unchanged APIs stay the same objects, so that values cached by object remain valid. */
  #apisOf(
    shares: readonly ApiShare[],
    tenant: string,
    before: readonly CompiledApi[],
  ): readonly CompiledApi[] {
    const old = new Map(before.map(api => [placeOf(api), api]))
    const wantedApis = shares.flatMap(share => {
      const wanted = compiled(share, tenant)
      return share.alias === undefined
        ? [wanted]
        : [wanted, { ...wanted, prefix: prefixOf(share.alias, tenant) }]
    })
    const apis = wantedApis.map(wanted => {
      const had = old.get(placeOf(wanted))
      return had !== undefined && same(had, wanted)
        ? had
        : Object.freeze({ ...wanted, index: ++this.#lastNumber })
    })
    // an alias is shorter than its path: in this order, the id leads to the path
    return apis.sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
  }

  #sorted(
    control: ControlShare,
    gone: readonly TenantParts[],
    come: readonly TenantParts[],
  ): readonly CompiledApi[] {
    const all = (parts: readonly TenantParts[]) => parts.flatMap(({ apis }) => apis)
    const [old, now] = [all(gone), all(come)]
    if (old.length === now.length && now.every((api, at) => api === old[at])) return this.#index.apis
    const tenants = [...control.tenants.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
    return tenants.flatMap(tenant => this.#partsOf(tenant).apis)
  }
}

function everyApi({ apis, mcpApis }: TenantParts): readonly CompiledApi[] {
  return mcpApis.length === 0 ? apis : [...apis, ...mcpApis]
}

function compiled(api: ApiShare, tenant: string): Omit<CompiledApi, 'index'> {
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

function keysOf(tenant: TenantShare): TenantParts['keys'] {
  const subscriptions = new Map(tenant.subscriptions.map(subscription => [subscription.id, subscription]))
  const served = tenant.keys.flatMap(key => {
    const subscription = subscriptions.get(key.subscriptionId)
    return subscription === undefined ? [] : [[key.prefix, entryOf(tenant, subscription, key)] as const]
  })
  // their calls are refused as what they are, not as calls with an unknown key
  const refused = (tenant.inactive ?? []).flatMap(subscription =>
    subscription.keys.map(key => [key.prefix, entryOf(tenant, subscription, key)] as const),
  )
  return [...served, ...refused]
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
