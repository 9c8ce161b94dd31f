/** The first migration: all tables, row-level security by the tenant of the transaction, and the seeded plans. */
import { type Plan, SEEDED_PLANS } from '../../../model/plan.ts'
import { HISTORY_TABLES } from './history-tables.ts'
import { guard, MINE, SCOPE } from './row-security.ts'
import { TABLES } from './tables.ts'

const OWNED = [
  'apis',
  'subscriptions',
  'api_keys',
  'consumers',
  'deployments',
  'events',
  'usage_daily',
  'tier_usage',
  'idempotency',
  'products',
  'webhooks',
  'deliveries',
  'metering_hours',
  'metering_latencies',
  'configuration',
  'audit',
  'quota_notices',
  'mails',
]

/** Policies do not apply to superusers and to roles with BYPASSRLS: for them the store switches to this role in every transaction. */
const ROLE = `do $$ begin
  if (select rolsuper or rolbypassrls from pg_roles where rolname = current_user)
     and not exists (select from pg_roles where rolname = 'toolgate_app') then
    create role toolgate_app nologin;
  end if;
exception when duplicate_object or unique_violation then null;
end $$`

/** Identifiers are fixed, so that every installation has the same. Deleting a plan later is not undone. */
function planRow(plan: Plan, index: number): string {
  const { slug, name, perSecond = 0, perMinute = 0, perDay = 0, perMonth = 0 } = plan
  return `('plan_0000000000${'0'.repeat(15)}${index + 1}', null, '${slug}', '${name}', ${perSecond}, ${perMinute}, ${perDay}, ${perMonth}, 0, true, 1,
    '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z')`
}

export const statements: readonly string[] = [
  ...TABLES,
  ...HISTORY_TABLES,
  ...OWNED.flatMap(table => guard(table)),
  ...guard('tenants', MINE.replace('tenant_id', 'id')),
  // Every tenant reads global plans; only the platform writes them.
  ...guard('plans', `(tenant_id is null or ${MINE})`, MINE),
  // `with check` does not cover deletions: a restrictive policy is needed beside the permissive one above.
  `create policy no_foreign_delete on plans as restrictive for delete using (${MINE})`,
  `create policy no_foreign_update on plans as restrictive for update using (${MINE})`,
  // Audit records are added, and removed at the end of their retention by a transaction that sees every tenant; none is changed.
  `create policy no_change on audit as restrictive for update using (false)`,
  `create policy platform_deletes on audit as restrictive for delete using (${SCOPE} = '*')`,
  `create policy shared_rows on apis for select using (sharing -> 'with' ?| array['*', ${SCOPE}])`,
  `create policy held_rows on subscriptions for select using (subscriber_tenant_id = ${SCOPE})`,
  ROLE,
  `select set_config('toolgate.tenant', '*', true)`,
  `insert into plans (id, tenant_id, slug, name, per_second, per_minute, per_day, per_month, burst, requires_approval,
    revision, created_at, updated_at) values ${SEEDED_PLANS.map(planRow).join(', ')}`,
]
