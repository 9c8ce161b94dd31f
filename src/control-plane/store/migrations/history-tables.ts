/** The tables of what happens over time, webhooks, metering, configuration as code, audit and notices, with their indexes; `tables.ts` has the others. */
import { ID, OWNER } from './row-security.ts'

export const HISTORY_TABLES: readonly string[] = [
  // Secrets are sealed (encrypted); key_id names the key.
  `create table webhooks (
  id ${ID} primary key,
  tenant_id ${OWNER},
  url text not null,
  events jsonb not null,
  enabled boolean not null,
  name text not null,
  -- the names; sealed_headers has the values, under the key that headers_key_id names
  custom_headers jsonb not null,
  sealed_headers text,
  headers_key_id text,
  -- field → name of the variable that holds its value outside of the database
  secret_names jsonb not null default '{}',
  -- an application, or "*" for every application: whose keys it receives
  keys_of text,
  -- since the last delivery that arrived
  failed_deliveries integer not null default 0,
  secret text,
  previous_secret text,
  previous_secret_until timestamptz,
  key_id text,
  revision integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null)`,
  `create index webhooks_tenant on webhooks (tenant_id, id)`,
  `create unique index webhooks_name_key on webhooks (tenant_id, name)`,

  // `body` is what is sent; when there is a sealed body, it is the same message with the confidential values masked.
  `create table deliveries (
  id ${ID} primary key,
  tenant_id ${OWNER},
  webhook_id ${ID} not null references webhooks (id) on delete cascade,
  event text not null,
  test boolean not null,
  body text not null,
  sealed_body text,
  key_id text,
  status text not null,
  attempt integer not null,
  status_code integer,
  response_body text,
  error text,
  duration_ms integer,
  next_attempt_at timestamptz,
  delivered_at timestamptz,
  lease text,
  leased_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null)`,
  `create index deliveries_webhook on deliveries (webhook_id, id)`,
  `create index deliveries_waiting on deliveries (webhook_id, next_attempt_at, id) where status = 'pending'`,
  `create index deliveries_due on deliveries (next_attempt_at) where status = 'pending'`,
  `create index deliveries_leased on deliveries (leased_until) where status = 'pending' and leased_until is not null`,
  `create index deliveries_age on deliveries (created_at)`,
  `create index deliveries_tenant on deliveries (tenant_id)`,
  // api_id '' = calls without an API; without a foreign key, so that the history of a deleted API stays with the tenant
  `create table metering_hours (
  tenant_id ${OWNER},
  api_id ${ID} not null,
  hour timestamptz not null,
  requests bigint not null,
  errors bigint not null,
  primary key (tenant_id, hour, api_id))`,

  // One row for each bucket in use; buckets as in model/latency-histogram.ts.
  `create table metering_latencies (
  tenant_id ${OWNER},
  api_id ${ID} not null,
  hour timestamptz not null,
  bucket smallint not null,
  requests bigint not null,
  primary key (tenant_id, hour, api_id, bucket))`,

  // Event ids of one writer ascend, and every source delivers them in order: ids up to the last one counted are repeats.
  `create table metering_marks (
  writer text not null,
  source text not null,
  last_event_id text not null,
  events bigint not null,
  updated_at timestamptz not null,
  primary key (writer, source))`,
  `create index metering_marks_age on metering_marks (updated_at)`,

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

  // Rows survive the tenants they are about, so they have no foreign key.
  `create table audit (
  seq bigint primary key,
  id ${ID} not null unique,
  at timestamptz not null,
  tenant_id ${ID},
  actor_kind text not null,
  actor_subject text not null,
  actor_consumer text not null,
  actor_tenant text,
  action text not null,
  request_id text not null,
  gateway text,
  resource_type text not null,
  resource_id text not null,
  before text,
  after text,
  hash text not null)`,
  `create index audit_tenant on audit (tenant_id, seq)`,
  `create index audit_resource on audit (resource_id, seq)`,
  `create index audit_age on audit (at)`,
  // The end of the chain, and the record before its first one that is kept.
  `create table audit_chain (
  id integer primary key check (id = 1),
  seq bigint not null,
  hash text not null,
  anchor_seq bigint not null,
  anchor_hash text not null)`,
  `insert into audit_chain (id, seq, hash, anchor_seq, anchor_hash) values (1, 0, '', 0, '')`,

  // One row for each share of a quota that was announced, so that each is announced once in its window.
  `create table quota_notices (
  tenant_id ${OWNER},
  subscription_id ${ID} not null references subscriptions (id) on delete cascade,
  quota_window text not null,
  starts text not null,
  threshold integer not null,
  created_at timestamptz not null,
  primary key (subscription_id, quota_window, starts, threshold))`,
  `create index quota_notices_age on quota_notices (created_at)`,
  `create index quota_notices_tenant on quota_notices (tenant_id)`,

  `create table mails (
  id ${ID} primary key,
  tenant_id ${OWNER},
  event text not null,
  recipient text not null,
  subject text not null,
  body text not null,
  status text not null,
  attempt integer not null,
  error text,
  next_attempt_at timestamptz,
  lease text,
  leased_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null)`,
  `create index mails_tenant on mails (tenant_id, created_at)`,
  `create index mails_due on mails (next_attempt_at) where status = 'pending'`,
  `create index mails_age on mails (created_at)`,
]
