/** Migration 8: which team manages a resource as code and what it applied last; names of webhooks and of their secrets; notes and revisions of consumers. */
import { guard, ID, MINE } from './row-security.ts'

export const statements: readonly string[] = [
  `alter table consumers add column revision integer not null default 1`,
  `alter table consumers add column notes text not null default ''`,

  `select set_config('toolgate.tenant', '*', true)`,
  `alter table webhooks add column name text`,
  `update webhooks set name = replace(id, '_', '-')`,
  `alter table webhooks alter column name set not null`,
  `create unique index webhooks_name_key on webhooks (tenant_id, name)`,
  // Field → name of the variable that holds its value outside of the database.
  `alter table webhooks add column secret_names jsonb not null default '{}'`,

  // tenant_id null = global plans. `fields` is the state of the resource after the last apply.
  `create table configuration (
  tenant_id ${ID} references tenants (id) on delete cascade,
  kind text not null,
  key text collate "C" not null,
  owner text not null,
  fields jsonb not null,
  applied_by text not null,
  applied_at timestamptz not null)`,
  `create unique index configuration_resource on configuration (coalesce(tenant_id, ''), kind, key)`,
  `create index configuration_owner on configuration (owner)`,
  ...guard('configuration', `(${MINE})`),
]
