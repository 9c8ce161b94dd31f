/** Reads the rows that gateways need, for many tenants at once. */
import { sql } from 'kysely'
import type { ShareRepository } from '../repositories.ts'
import { inScope } from './listing.ts'
import type { SqlSession } from './session.ts'

/** How long the refusal of an expired subscription names the reason; in whole days, so that equal content has the same version all day: the publisher reads everything again on the next one. */
const EXPIRED_DAYS = 30
const DAY_MS = 86_400_000

export function shareRepository({ db, scope, now }: SqlSession): ShareRepository {
  const refusedUntil = new Date(now.getTime() - (now.getTime() % DAY_MS) - EXPIRED_DAYS * DAY_MS)
  const of = (column: string, ids: readonly string[] | undefined) =>
    ids === undefined ? sql<boolean>`true` : sql<boolean>`${sql.ref(column)} = any(${[...ids]}::text[])`
  return {
    async globalPlans() {
      return db.selectFrom('plans').where('tenantId', 'is', null).selectAll().orderBy('slug').execute()
    },
    async load(tenantIds) {
      const tenants = await db
        .selectFrom('tenants')
        .where(inScope(scope, 'id'))
        .where(of('id', tenantIds))
        .where('status', '!=', 'deleting')
        .select(['id', 'name', 'status'])
        .orderBy('id')
        .execute()
      const wanted = sql<boolean>`${inScope(scope)} and ${of('tenant_id', tenantIds)}`
      const plans = await db
        .selectFrom('plans')
        .where('tenantId', 'is not', null)
        .where(wanted)
        .selectAll()
        .orderBy('id')
        .execute()
      const apis = await db
        .selectFrom('apis')
        .where('deletedAt', 'is', null)
        .where('status', '!=', 'retired')
        .where(wanted)
        .select(['id', 'tenantId', 'path', 'upstreamUrl', 'authRequired', 'requestsPerHour'])
        .select(['version', 'versioning', 'deprecatedAt', 'deprecation'])
        .select(['name', 'type', 'mcp', 'acceptedSpecHash', 'passthrough', 'traffic', 'revision'])
        .select(sql<boolean>`spec is not null`.as('hasSpec'))
        .orderBy('id')
        .execute()
      const subscriptions = await db
        .selectFrom('subscriptions')
        .where('status', '=', 'approved')
        .where(wanted)
        .select([
          'id',
          'tenantId',
          'apiId',
          'productId',
          'application',
          'subscriberTenantId',
          'plan',
          'rateLimit',
          'quota',
          'expiresAt',
        ])
        .orderBy('id')
        .execute()
      const inactive = await db
        .selectFrom('subscriptions')
        .where('status', 'in', ['suspended', 'expired'])
        .where(eb => eb.or([eb('status', '=', 'suspended'), eb('expiresAt', '>', refusedUntil)]))
        .where(wanted)
        .select(['id', 'tenantId', 'apiId', 'productId', 'application', 'subscriberTenantId', 'status'])
        .orderBy('id')
        .execute()
      const keys = await db
        .selectFrom('apiKeys')
        .where('revokedAt', 'is', null)
        .where(wanted)
        .select(['id', 'tenantId', 'subscriptionId', 'prefix', 'hash', 'expiresAt'])
        .select(['previousPrefix', 'previousHash', 'previousExpiresAt'])
        .orderBy('id')
        .execute()
      const consumers = await db
        .selectFrom('consumers')
        .where(eb => eb.or([eb('plan', 'is not', null), eb('status', '=', 'blocked')]))
        .where(wanted)
        .select(['tenantId', 'subject', 'plan', 'status'])
        .orderBy('subject')
        .execute()
      const products = await db
        .selectFrom('products')
        .where('deletedAt', 'is', null)
        .where(wanted)
        .select(['id', 'tenantId', 'apiIds'])
        .orderBy('id')
        .execute()
      return { tenants, plans, apis, products, subscriptions, inactive, keys, consumers }
    },
  }
}
