/** Migration 3: the seeded plans as global plans. Deleting one later is not undone. */
import { type Plan, SEEDED_PLANS } from '../../../model/plan.ts'

/** Identifiers are fixed, so that every installation has the same. */
function row(plan: Plan, index: number): string {
  const { slug, name, perSecond = 0, perMinute = 0, perDay = 0, perMonth = 0 } = plan
  return `('plan_0000000000${'0'.repeat(15)}${index + 1}', null, '${slug}', '${name}', ${perSecond}, ${perMinute}, ${perDay}, ${perMonth}, 0, true, 1,
    '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z')`
}

export const statements: readonly string[] = [
  `select set_config('toolgate.tenant', '*', true)`,
  `insert into plans (id, tenant_id, slug, name, per_second, per_minute, per_day, per_month, burst, requires_approval,
    revision, created_at, updated_at) values ${SEEDED_PLANS.map(row).join(', ')}`,
]
