/** The control plane's share made ready for requests: proxied APIs, keys by prefix, tools of tenants. Pure. */
import type { Tool } from '../model/tool.ts'
import type { CompiledApi, KeyEntry } from '../pipeline/exchange.ts'
import type { ControlShare, TenantShare } from './control-share.ts'

/** A suspended tenant's addresses answer nobody. */
function serving(control: ControlShare): TenantShare[] {
  return [...control.tenants.values()].filter(tenant => !tenant.suspended)
}

export function controlTools(control: ControlShare): readonly Tool[] {
  return serving(control).flatMap(tenant => tenant.tools)
}

/** In an order that depends on the content alone. */
export function compiledApis(control: ControlShare): readonly CompiledApi[] {
  const apis = serving(control).flatMap(tenant =>
    tenant.apis.map(api => ({
      id: api.id,
      tenant: tenant.name,
      prefix: `/t/${tenant.name}${api.path === '/' ? '' : api.path.replace(/\/+$/, '')}`,
      upstreamUrl: api.upstreamUrl.replace(/\/+$/, ''),
      authRequired: api.authRequired,
      requestsPerHour: api.requestsPerHour ?? undefined,
    })),
  )
  apis.sort((a, b) => (a.prefix < b.prefix ? -1 : 1))
  return apis.map((api, index) => Object.freeze({ ...api, index }))
}

export function keyEntries(control: ControlShare): ReadonlyMap<string, KeyEntry> {
  const entries = new Map<string, KeyEntry>()
  for (const tenant of serving(control)) {
    const subscriptions = new Map(tenant.subscriptions.map(subscription => [subscription.id, subscription]))
    for (const key of tenant.keys) {
      const subscription = subscriptions.get(key.subscriptionId)
      if (subscription === undefined) continue
      const never = Number.POSITIVE_INFINITY
      entries.set(key.prefix, {
        id: key.id,
        hash: key.hash,
        tenant: tenant.name,
        subscriptionId: subscription.id,
        apiId: subscription.apiId,
        application: subscription.application,
        expiresAtMs: Math.min(key.expiresAtMs ?? never, subscription.expiresAtMs ?? never),
      })
    }
  }
  return entries
}
