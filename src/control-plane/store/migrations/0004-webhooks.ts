/** Migration 4: webhooks and their deliveries, and the clock for the timestamps of messages. */
import { guard, ID, OWNER } from './row-security.ts'

export const statements: readonly string[] = [
  // Secrets are sealed (encrypted); key_id names the key.
  `create table webhooks (
  id ${ID} primary key,
  tenant_id ${OWNER},
  url text not null,
  events jsonb not null,
  enabled boolean not null,
  custom_headers jsonb not null,
  secret text,
  previous_secret text,
  previous_secret_until timestamptz,
  key_id text,
  revision integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null)`,
  `create index webhooks_tenant on webhooks (tenant_id, id)`,

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
  ...guard('webhooks'),
  ...guard('deliveries'),

  `alter table change_clock add column microseconds bigint not null default 0`,
]
