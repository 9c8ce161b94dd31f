/**
 * Migration 2: row-level security, the second wall behind the repositories. A transaction says whose rows it may see with
 * `set_config('toolgate.tenant', …, true)`; without it nothing is visible.
 */

const MINE = `(tenant_id = current_setting('toolgate.tenant', true) or current_setting('toolgate.tenant', true) = '*')`

function guard(table: string, using: string, check: string = using): readonly string[] {
  return [
    `alter table ${table} enable row level security`,
    `alter table ${table} force row level security`,
    `create policy own_rows on ${table} using (${using}) with check (${check})`,
  ]
}

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
  ...OWNED.flatMap(table => guard(table, MINE)),
  ...guard('tenants', MINE.replace('tenant_id', 'id')),
  // Global plans are everybody's to read and the platform's to write.
  ...guard('plans', `(tenant_id is null or ${MINE})`, MINE),
  // A deletion is not covered by `with check`: it needs a policy of its own, which restricts the permissive one above.
  `create policy no_foreign_delete on plans as restrictive for delete using (${MINE})`,
  `create policy no_foreign_update on plans as restrictive for update using (${MINE})`,
  // Superusers and owners with BYPASSRLS are not held by policies: the store steps down to this role in every transaction.
  // Other users are held by FORCE ROW LEVEL SECURITY and need no role, nor the right to create one.
  `do $$ begin
  if (select rolsuper or rolbypassrls from pg_roles where rolname = current_user)
     and not exists (select from pg_roles where rolname = 'toolgate_app') then
    create role toolgate_app nologin;
  end if;
exception when duplicate_object or unique_violation then null;
end $$`,
]
