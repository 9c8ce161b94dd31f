/** A share as large as a big platform's: tenants, APIs, subscriptions and keys, the same at each run. */
import { createHash } from 'node:crypto'
import type { ControlShare } from '../../src/link/control-share.ts'
import type { TenantShare } from '../../src/link/share-schema.ts'

export interface Size {
  readonly tenants: number
  readonly apisPerTenant: number
  /** Keys of all tenants together. */
  readonly keys: number
}

/** 20,000 APIs in all. */
export const LARGE: Size = { tenants: 1_000, apisPerTenant: 20, keys: 100_000 }

const PLAN = {
  slug: 'gold',
  name: 'Gold',
  perSecond: 100,
  perMinute: 5_000,
  perDay: 500_000,
  perMonth: 10_000_000,
  burst: 0,
}

export function largeShare({ tenants, apisPerTenant, keys }: Size): ControlShare {
  const each = keys / tenants
  return {
    version: 'large',
    plans: [PLAN],
    tenants: new Map(
      Array.from({ length: tenants }, (_, number) => {
        const tenant = tenantShare(number, apisPerTenant, each)
        return [tenant.id, tenant] as const
      }),
    ),
  }
}

/** One key for each subscription, as most have. @param mark makes a tenant that differs from the one before */
export function tenantShare(number: number, apis: number, keys: number, mark = ''): TenantShare {
  const id = (kind: string, at: number): string =>
    `${kind}_${(number * 1_000 + at).toString(32).padStart(26, '0')}`
  return {
    id: id('ten', 0),
    name: `tenant-${number}`,
    suspended: false,
    plans: [],
    apis: Array.from({ length: apis }, (_, at) => ({
      id: id('api', at),
      path: `/${['orders', 'billing', 'search', 'users'][at % 4]}/v${at}`,
      upstreamUrl: `http://10.0.${number % 256}.${at}:8080/base${mark}`,
      authRequired: true,
      requestsPerHour: null,
    })),
    subscriptions: Array.from({ length: keys }, (_, at) => ({
      id: id('sub', at),
      apiId: id('api', at % apis),
      application: `application-${at}`,
      plan: PLAN.slug,
      rateLimit: null,
      quota: null,
      expiresAtMs: null,
    })),
    keys: Array.from({ length: keys }, (_, at) => ({
      id: id('key', at),
      subscriptionId: id('sub', at),
      prefix: prefixOf(number, at),
      hash: createHash('sha256').update(prefixOf(number, at)).digest('hex'),
      expiresAtMs: null,
    })),
    consumers: [],
    tools: [],
  }
}

/** `tgk_` and 8 characters. */
export function prefixOf(tenant: number, key: number): string {
  return `tgk_${(tenant * 1_000 + key + 1_000_000).toString(36).padStart(8, '0')}`
}
