/** Migration 1: the tables. Applied migrations never change; what must differ is a new migration. */

const STAMPS = `revision integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null`
/** Identifiers compare as bytes, so that they sort by creation under every locale. */
const ID = 'text collate "C"'
const OWNER = `${ID} not null references tenants (id) on delete cascade`

export const statements: readonly string[] = [
  `create table tenants (
  id ${ID} primary key,
  name text not null constraint tenants_name_key unique,
  tier text not null,
  admin_email text,
  region text not null,
  status text not null,
  settings jsonb not null,
  ${STAMPS})`,

  `create table plans (
  id ${ID} primary key,
  tenant_id ${ID} references tenants (id) on delete cascade,
  slug text not null,
  name text not null,
  per_second integer not null,
  per_minute integer not null,
  per_day integer not null,
  per_month integer not null,
  burst integer not null,
  requires_approval boolean not null,
  ${STAMPS})`,
  `create unique index plans_slug_key on plans (coalesce(tenant_id, ''), slug)`,

  `create table apis (
  id ${ID} primary key,
  tenant_id ${OWNER},
  name text not null,
  description text not null,
  upstream_url text not null,
  path text not null,
  version text not null,
  auth_required boolean not null,
  requests_per_hour integer,
  spec text,
  portal_visibility boolean not null,
  status text not null,
  deleted_at timestamptz,
  ${STAMPS})`,
  `create unique index apis_path_key on apis (tenant_id, path) where deleted_at is null`,
  `create index apis_tenant on apis (tenant_id, id) where deleted_at is null`,

  `create table subscriptions (
  id ${ID} primary key,
  tenant_id ${OWNER},
  api_id ${ID} not null references apis (id) on delete cascade,
  plan text not null,
  application text not null,
  callback_url text,
  status text not null,
  reason text,
  rate_limit integer,
  quota integer,
  ttl_seconds integer,
  expires_at timestamptz,
  approved_at timestamptz,
  revoked_at timestamptz,
  ${STAMPS})`,
  `create unique index subscriptions_application_key on subscriptions (api_id, application)
  where status in ('pending_approval', 'approved')`,
  `create index subscriptions_tenant on subscriptions (tenant_id, id)`,
  `create index subscriptions_due on subscriptions (expires_at) where status = 'approved' and expires_at is not null`,

  `create table api_keys (
  id ${ID} primary key,
  tenant_id ${OWNER},
  subscription_id ${ID} not null references subscriptions (id) on delete cascade,
  name text not null,
  prefix text not null,
  hash text not null,
  previous_prefix text,
  previous_hash text,
  previous_expires_at timestamptz,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  ${STAMPS})`,
  `create index api_keys_tenant on api_keys (tenant_id, id)`,
  `create index api_keys_subscription on api_keys (subscription_id)`,

  `create table consumers (
  id ${ID} primary key,
  tenant_id ${OWNER},
  subject text not null,
  name text not null,
  status text not null,
  plan text,
  last_seen_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint consumers_subject_key unique (tenant_id, subject))`,

  `create table gateways (
  id ${ID} primary key,
  name text not null unique,
  reported_status text not null,
  version text not null,
  url text not null,
  snapshot_version text,
  workers integer not null,
  auth_config jsonb not null,
  last_error text,
  last_ack_at timestamptz,
  resync_requested_at timestamptz,
  report_sequence bigint not null,
  last_seen_at timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null)`,

  `create table deployments (
  id ${ID} primary key,
  tenant_id ${OWNER},
  api_id ${ID} not null references apis (id) on delete cascade,
  gateway_id ${ID} not null references gateways (id) on delete cascade,
  created_at timestamptz not null,
  unique (gateway_id, api_id))`,
  `create index deployments_api on deployments (api_id)`,

  `create table events (
  seq bigint primary key,
  id ${ID} not null unique,
  kind text not null,
  tenant_id ${ID},
  resource_id text not null,
  data jsonb not null,
  occurred_at timestamptz not null)`,
  `create index events_age on events (occurred_at)`,
  `create table change_clock (id integer primary key check (id = 1), seq bigint not null)`,
  `insert into change_clock (id, seq) values (1, 0)`,

  `create table idempotency (
  key text primary key,
  tenant_id text not null,
  request_hash text not null,
  status integer,
  body text,
  created_at timestamptz not null)`,
  `create index idempotency_age on idempotency (created_at)`,

  `create table usage_daily (
  tenant_id ${OWNER},
  subscription_id ${ID} not null references subscriptions (id) on delete cascade,
  day text not null,
  requests bigint not null,
  errors bigint not null,
  last_request_at timestamptz not null,
  primary key (subscription_id, day))`,

  `create table tier_usage (
  tenant_id ${OWNER},
  hour timestamptz not null,
  taken integer not null,
  primary key (tenant_id, hour))`,
]
