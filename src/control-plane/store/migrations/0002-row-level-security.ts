/** Migration 2: row-level security by the tenant of the transaction, and the role for users that bypass it. */
import { guard, MINE } from './row-security.ts'

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
]

export const statements: readonly string[] = [
  ...OWNED.flatMap(table => guard(table, `(${MINE})`)),
  ...guard('tenants', `(${MINE.replace('tenant_id', 'id')})`),
  // Every tenant reads global plans; only the platform writes them.
  ...guard('plans', `((tenant_id is null or ${MINE}))`, `(${MINE})`),
  // `with check` does not cover deletions: a restrictive policy is needed beside the permissive one above.
  `create policy no_foreign_delete on plans as restrictive for delete using (${MINE})`,
  `create policy no_foreign_update on plans as restrictive for update using (${MINE})`,
  // Policies do not apply to superusers and to roles with BYPASSRLS: for them the store switches to this role in every transaction.
  // FORCE ROW LEVEL SECURITY covers all other users, who need neither this role nor the right to create one.
  `do $$ begin
  if (select rolsuper or rolbypassrls from pg_roles where rolname = current_user)
     and not exists (select from pg_roles where rolname = 'toolgate_app') then
    create role toolgate_app nologin;
  end if;
exception when duplicate_object or unique_violation then null;
end $$`,
]
