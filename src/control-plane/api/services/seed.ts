/** Creates the missing tenants and consumers of a seed. The caller names them. */
import { systemOrigin } from '../../../model/audit.ts'
import type { Tier } from '../../../model/schema/tenant.ts'
import { recordActions } from '../../store/audited.ts'
import { EVERY_TENANT, type Store } from '../../store/store.ts'
import { ensureConsumer, patchConsumer } from './consumers.ts'
import { createTenant } from './tenants.ts'

export interface SeededTenant {
  readonly name: string
  readonly tier: Tier
  /** Consumer → slug of its plan. */
  readonly consumers: { readonly [subject: string]: string }
}

const SEED = systemOrigin('system.tenants.seed')

/** Idempotent; a consumer whose plan was changed keeps the changed plan. */
export async function seedTenants(store: Store, tenants: readonly SeededTenant[]): Promise<void> {
  for (const { name, tier, consumers } of tenants) {
    const tenant = await store.write(
      EVERY_TENANT,
      async tx =>
        (await tx.tenants.resolve(name)) ??
        createTenant(recordActions(tx, SEED), { name, tier, adminEmail: null, region: 'default' }),
    )
    await store.write(tenant.id, async plain => {
      const tx = recordActions(plain, SEED)
      for (const [subject, plan] of Object.entries(consumers)) {
        if ((await tx.consumers.bySubject(subject)) !== undefined) continue
        await patchConsumer(tx, (await ensureConsumer(tx, tenant.id, subject)).id, { plan }, '')
      }
    })
  }
}
